/*
 * emit_c_private.h: what the files of the C emitter share and nobody else includes.
 */
#ifndef JIT_EMIT_C_PRIVATE_H
#define JIT_EMIT_C_PRIVATE_H

#include "emit_c.h"
#include "frame.h"

/* How tightly a piece of C text binds, loosest first. `!x` stands low, so that it gets parentheses
 * everywhere but in logic (gcc warns of `!a == b`). */
enum emit_precedence {
    EMIT_CHOICE,
    EMIT_OR,
    EMIT_AND,
    EMIT_NOT,
    EMIT_BITS, /* & ^ |, always in parentheses when nested */
    EMIT_EQUAL,
    EMIT_LESS,
    EMIT_SHIFT,
    EMIT_ADD,
    EMIT_MULTIPLY,
    EMIT_UNARY,
    EMIT_PRIMARY
};

/* Limits on the text, far below where libtcc fails (its value stack holds 256 operands). */
enum { EMIT_DEEPEST_OPERAND = 32, EMIT_DEEPEST_EXPRESSION = 3000, EMIT_DEEPEST_BLOCK = 1300 };

/*
 * The C text of an expression, and what is known of its value. The text has no side effects and may be
 * evaluated later, or not at all, as long as no statement of the kernel comes between.
 *
 * Its C type is that of the dtype where it matters: uint32 and the 64-bit integers have their own type; the
 * other integers and bool one that C promotes to int; halves are floats. Constants of int64 may be plain int.
 */
struct emit_value {
    const char *text;
    enum emit_precedence precedence;
    /* The same without the last conversion, or NULL: unsigned arithmetic not yet cast back to its signed
     * type, or the bits of a half not yet widened to float. */
    const char *raw;
    enum emit_precedence raw_precedence;
    int depth;        /* of the text's nesting */
    int bits;         /* signed integers: -2^bits <= value < 2^bits */
    bool nonnegative; /* signed integers */
    bool simple;      /* a name or a constant: may be repeated */
    bool constant;    /* is `number` */
    union dtype_value number;
};

/* Per symbol, by its slot. */
struct emit_symbol {
    const char *name; /* in C */
    int assignments;  /* VARIABLE: in the text */
    int bits;
    bool nonnegative;
};

/* The identifiers of text that was emitted: what stands above it declares just those. */
struct emit_words {
    struct emit_word {
        const char *text; /* a piece of the text, not ended by NUL; NULL: the place is free */
        int length, count;
        unsigned hash;
    } * items; /* open hashing */
    int count, capacity;
};

/* A function that stands above the kernel, and the identifiers in it. */
struct emit_part {
    const char *text;
    struct emit_words words;
};

/* Starts a line that holds the slot of a scalar just declared: it becomes "(void)name;" when nothing
 * reads the scalar, and goes away when something does (gcc warns of scalars that nobody reads). */
#define EMIT_PENDING '\1'

/* Statements that an expression needs before it, kept aside. */
struct emit_capture {
    struct text text;
    struct text *outer;
    struct emit_capture *below, *above;
};

struct emitter;

/* What differs between C and its relatives. */
struct emit_dialect {
    const char *function;            /* stands before helper functions and their constants */
    const char *trap, *trap_members; /* the address of the struct that a trap fills; its members' prefix */
    const char *trap_begin;          /* a line before it is filled, or NULL */
    const char *trap_call, *trap_call_end; /* around the call that fills it: they leave the function */
    const char *trap_down;  /* of the member that says which loops count down; NULL: none does */
    const char *trap_nests; /* of the one that says which loops they are; NULL: none does */
    /* Emits the statement itself where it has another form, in this place, than in C; NULL: never. */
    bool (*statement)(struct emitter *emitter, const struct ir_stmt *stmt);
    /* The value of an expression that stands for something else; NULL: never. */
    bool (*expression)(struct emitter *emitter, const struct ir_expr *expr, struct emit_value *value);
    void (*buffer)(struct emitter *emitter, int buffer); /* declares the local that points to its data */
    const char *(*stride)(struct emitter *emitter, int buffer, int axis);
    /* The function that does an operation of floats where its row of operations.def has none, or another; or
     * NULL. */
    const char *(*function_of)(const struct emitter *emitter, const struct ir_expr *expr);
    /* The functions that round a float to a bfloat16, as a float still, and that give the bits of such a
     * float; NULL: those that convert serve. */
    const char *bfloat_rounded, *bfloat_bits;
};

struct emitter {
    const struct emit_dialect *dialect;
    const struct ir_kernel *kernel;
    const struct emit_c_options *options;
    struct arena arena;
    jmp_buf escape;
    struct text *out;              /* where statements go */
    struct emit_capture *captures; /* the innermost; those above are kept for reuse */
    struct emit_symbol *symbols;
    const char **buffers; /* names in C, by index */
    struct emit_words words;
    int indent, line, temporaries, odd_names, depth;
    const struct ir_stmt *around;    /* the innermost loop in C; NULL: none */
    bool in_index;                   /* inside indices and loop bounds */
    bool is_reordered;               /* inside a loop that accumulates in any order: emit_hosted_reductions */
    const struct ir_expr *unrounded; /* a sum of halves, of which the last rounds; NULL */
    bool in_shape; /* inside a shape, which the call has evaluated already: nothing is checked */
    const struct ir_symbol *loops[JIT_TRAP_LOOPS];
    unsigned loops_down; /* bits of those that count down */
    int loop_count;
    const char *leave; /* a label: what would stop goes there, for C behind it to stop; NULL: it stops here */
    bool left;         /* something does */
    int labels;
    LIST(struct emit_part) parts;
    bool in_part;                /* inside one of them */
    const struct ir_stmt *tiled; /* a loop over tiles of a product, of which the part has some, and for these
                                    some of the rows; NULL: the part is another one */
};

enum { EMIT_ESCAPE_MEMORY = 1, EMIT_ESCAPE_NESTING };

/* ---- emit_c.c ------------------------------------------------------------ */

/* Runs `step` with an emitter made ready: arena, escape, the names of all symbols. False, with an explanation
 * in `complaint`, for a kernel nested too deeply; when memory runs out, `out` is marked failed. */
bool emit_run(struct emitter *emitter, struct text *out,
              void (*step)(struct emitter *emitter, struct text *out), struct text *complaint);
/* Text written between the two is kept aside, one level deeper; what was written, or NULL. */
void emit_capture_begin(struct emitter *emitter);
const char *emit_capture_end(struct emitter *emitter);
/* Statements, in the order of the list. */
void emit_block(struct emitter *emitter, const struct ir_stmt *first);
void emit_inner_block(struct emitter *emitter, const struct ir_stmt *first);
void emit_statement(struct emitter *emitter, const struct ir_stmt *stmt);
/* The bounds of a FOR as texts that keep their values while it runs; its variable has its entry then. */
void emit_bounds(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value *low,
                 struct emit_value *high);
/* Only where it begins; the entry is that of its first iteration. */
struct emit_value emit_first(struct emitter *emitter, const struct ir_stmt *stmt);
/* "for (...) {" */
void emit_for_line(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value low,
                   struct emit_value high);
/* The FOR from `low` to `high`, as a call of a vector loop or in C. */
void emit_loop(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value low,
               struct emit_value high);
/* A FOR whose body is emitted next: a trap in it tells its variable. */
void emit_enter_loop(struct emitter *emitter, const struct ir_stmt *stmt);
void emit_leave_loop(struct emitter *emitter);
/* A line that stands for a statement of the source: says which, where that changes. */
void emit_statement_line(struct emitter *emitter, const struct ir_stmt *stmt, const char *line);
/* "n * m": the number of elements; "1" for rank 0. */
const char *emit_element_count(struct emitter *emitter, const struct ir_buffer *buffer);
/* Makes a function's inside of the text of its statements: locals above them, and scalars that nobody reads
 * settled. The words of the text are noted. */
struct emit_function {
    const char *locals, *body;          /* NULL: none */
    const char *parameters, *arguments; /* buffers, where C is told that they lie apart; else "" */
};
struct emit_function emit_function(struct emitter *emitter, const char *body);
/* The definition of the function "static NAME" or NAME, which returns 0 at the end, with the parameters (a C
 * list, and the same as arguments); `first` stands before its statements. */
const char *emit_definition(struct emitter *emitter, bool is_static, const char *name, const char *parameters,
                            const char *arguments, const struct emit_function *inside, const char *first);

/* One line of the current block. */
void emit_line(struct emitter *emitter, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* `return` lines of a trap, inside the block of its `if`. */
void emit_trap(struct emitter *emitter, const char *call);
/* emit_shallow with its statements aside, one level deeper; NULL in *before when there are none. */
struct emit_value emit_aside(struct emitter *emitter, const struct ir_expr *expr, const char **before);
_Noreturn void emit_too_deep(struct emitter *emitter);

/* ---- emit_c_expression.c -------------------------------------------------- */

/* The value of an expression; statements that it needs go to emitter->out. */
struct emit_value emit_expression(struct emitter *emitter, const struct ir_expr *expr);
/* The same, kept in a temporary when it is nested too deeply to be an operand. */
struct emit_value emit_shallow(struct emitter *emitter, const struct ir_expr *expr);
/* The same for indices and loop bounds, whose arithmetic is plain (see emit_c_integer.c). */
struct emit_value emit_index(struct emitter *emitter, const struct ir_expr *expr);
/* "a[i * K + k]", tested where that is asked for. */
struct emit_value emit_access(struct emitter *emitter, const struct ir_access *access);
/* The value of an element of that dtype as it is stored. */
struct emit_value emit_loaded(struct emitter *emitter, akg_dtype dtype, struct emit_value stored);
/* The extent of an axis: a number, the name of a dim, or a local variable for what is more. */
struct emit_value emit_extent(struct emitter *emitter, const struct ir_buffer *buffer, int axis);
struct emit_value emit_cast(struct emitter *emitter, akg_dtype to, akg_dtype from, struct emit_value value);
/* The text to assign to an element of that dtype. */
const char *emit_stored(struct emitter *emitter, akg_dtype dtype, struct emit_value value);
/* One operation on two values of the dtype that it gives. */
struct emit_value emit_combined(struct emitter *emitter, enum operation operation, akg_dtype dtype,
                                struct emit_value *operands);
/* Text to be stood where only what binds as tightly may stand. */
const char *emit_operand(struct emitter *emitter, struct emit_value value, enum emit_precedence precedence);
struct emit_value emit_hoist(struct emitter *emitter, akg_dtype dtype, struct emit_value value);
struct emit_value emit_constant(struct emitter *emitter, akg_dtype dtype, union dtype_value number);
struct emit_value emit_name(const char *name);
/* A call of a function of the library with `count` arguments. */
struct emit_value emit_call(struct emitter *emitter, const char *function, int count,
                            const struct emit_value *arguments);
/* Text of one operation on values; `depth` and the rest follow from the operands. */
struct emit_value emit_made(int depth, const char *text, enum emit_precedence precedence);
int emit_depth(const struct emit_value *values, int count);

/* ---- emit_c_integer.c ------------------------------------------------------- */

struct emit_value emit_integer_operation(struct emitter *emitter, const struct ir_expr *expr,
                                         struct emit_value *operands);
/* (type)(value), where it changes anything. */
struct emit_value emit_integer_cast(struct emitter *emitter, akg_dtype to, akg_dtype from,
                                    struct emit_value value);
int emit_dtype_bits(akg_dtype dtype);

/* ---- emit_c_vector.c -------------------------------------------------------- */

enum emit_vector {
    EMIT_VECTOR_NONE,      /* the loop is none of the plan's */
    EMIT_VECTOR_ALWAYS,    /* it was called */
    EMIT_VECTOR_SOMETIMES, /* unless *done, a C variable, is 0: then the loop in C must follow */
    EMIT_VECTOR_PARTLY,    /* *done is where the loop in C must go on */
};
/* Of a FOR whose variable has its entry, and whose bounds were emitted, short rows that are copied. True:
 * nothing else is needed of it; else, where *copied is not NULL, it must follow unless that, a C variable, is
 * not 0. */
bool emit_copy(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value low,
               struct emit_value high, const char **copied);
/* Of such a FOR, vectors. */
enum emit_vector emit_vector_loop(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value low,
                                  struct emit_value high, const char **done);

/* ---- emit_c_flow.c ---------------------------------------------------------- */

/* The call of a loop with branches (flow.h), a FOR with its bounds, a WHILE with none; false: it is none. */
bool emit_flow_loop(struct emitter *emitter, const struct ir_stmt *stmt, const char *low, const char *high);

/* The name of a variable that says whether the code with branches is to run, of a loop that is vector code as
 * well; NULL: there is not both. */
const char *emit_flow_test(struct emitter *emitter, const struct ir_stmt *stmt);

/* ---- emit_c_hosted.c --------------------------------------------------------- */

/* The functions of the library, and the vector loops of the plan, for a shared object. */
void emit_hosted_library(struct text *out, const struct vector_plan *plan);
/* A line above a FOR that only accumulates: it may do so in any order. False: it does more. */
bool emit_hosted_reductions(struct emitter *emitter, const struct ir_stmt *stmt);
/* An ASSIGN in it; false: it is to be emitted as others are. */
bool emit_hosted_accumulation(struct emitter *emitter, const struct ir_stmt *stmt);
/* The function that divides by what the loops around leave alone, between loops; NULL: it is done in line. */
const char *emit_hosted_quotient(const struct emitter *emitter, const struct ir_expr *expr);
/* Adds a buffer to the parameters of a function. */
void emit_hosted_buffer(struct emitter *emitter, struct emit_function *function, int buffer);

/* ---- emit_c_split.c --------------------------------------------------------- */

/* Whether the FOR is over the rows of a tile of which the part has some: from `rows_from_` to `rows_to_`. */
bool emit_has_some_rows(const struct emitter *emitter, const struct ir_stmt *stmt);
/* Emits the FOR as a function of its own and a call of it, where threads may share it; false: it may not. */
bool emit_split(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value low,
                struct emit_value high);

/* ---- emit_c_prelude.c ------------------------------------------------------- */

/* Small functions and constants that emitted text defines for itself when it needs them. */
enum emit_snippet {
    EMIT_MIN_INT64,
    EMIT_MIN_UINT64,
    EMIT_MAX_INT64,
    EMIT_MAX_UINT64,
    EMIT_ABS_INT64,
    EMIT_SIGN_INT64,
    EMIT_MIN_INT,
    EMIT_MAX_INT,
    EMIT_MIN_UINT,
    EMIT_MAX_UINT,
    EMIT_ABS_INT,
    EMIT_INFINITY,
    EMIT_NAN,
    EMIT_TRAP,
    EMIT_TRAP_INDEX,
    EMIT_MEMSET,
    EMIT_SNIPPET_COUNT
};

/* The name of its function or constant. */
const char *emit_snippet(enum emit_snippet snippet);
/* Notes all identifiers of a text but those behind `.`, `->`, `struct` and EMIT_PENDING. The text must
 * live on. */
void emit_note_words(struct emitter *emitter, const char *text);
/* Notes what was noted elsewhere, as often. */
void emit_add_words(struct emitter *emitter, const struct emit_words *words);
/* How often a word was noted. */
int emit_count_word(const struct emitter *emitter, const char *word);
/* Structs, prototypes and snippets. */
void emit_prelude(struct emitter *emitter, struct text *out);
/* The snippets whose names were noted; whether there is any. */
bool emit_snippets(struct emitter *emitter, struct text *out);
/* A C identifier for a name of the kernel: the name itself, or followed by `_`. No two names give the same,
 * and every other name that the emitter makes up ends in `_` after something that is itself free. */
const char *emit_identifier(struct emitter *emitter, const char *name);
/* The type of a local variable. */
const char *emit_type(akg_dtype dtype);

#endif
