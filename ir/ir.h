/*
 * ir.h: the loop IR, the one form between the checked text and machine code.
 *
 * A kernel is one specialisation of one function of the file: every expression
 * has a dtype, every tensor a rank; shapes stay symbolic. It is a list of
 * buffers (inputs, outputs, temporaries), of symbols (dims, attributes, loop
 * variables, scalars), of preconditions, and one tree of statements.
 *
 * Nodes live in the arena of their kernel and are shared by nobody else. A symbol is
 * compared by address; no two symbols or buffers of a kernel have the same name (ir_symbol_new,
 * ir_buffer_new). Text form: ir_print.c writes, ir_read.c reads; ir_verify.c says what holds of every kernel
 * between two passes.
 */
#ifndef IR_IR_H
#define IR_IR_H

#include "../base/diagnostic.h"
#include "../base/dtype.h"
#include "../base/memory.h"

/* ---- operations --------------------------------------------------------- */

enum operation {
#define X(id, text, arity, rule, shape, c32, c64) OP_##id,
#include "operations.def"
#undef X
    OPERATION_COUNT
};

/* What an operation takes, and gives. */
enum operation_rule {
    RULE_NUMERIC,  /* numbers of one dtype -> that dtype */
    RULE_FLOATING, /* floats of one dtype -> that dtype */
    RULE_INTEGRAL, /* integers of one dtype -> that dtype */
    RULE_BITWISE,  /* integers or bools of one dtype -> that dtype */
    RULE_COMPARE,  /* numbers or bools of one dtype -> bool (bools: == and != only) */
    RULE_LOGICAL,  /* bools -> bool */
    RULE_CLASSIFY, /* one float -> bool */
    RULE_CHOICE,   /* bool, then two of one dtype -> that dtype */
    RULE_CONVERT   /* anything -> the node's dtype */
};

struct operation_row {
    const char *text;
    int arity;
    enum operation_rule rule;
    const char *c32, *c64;
};
extern const struct operation_row operation_table[OPERATION_COUNT];

/* ---- symbols and buffers ------------------------------------------------ */

struct ir_expr;
struct ir_stmt;

enum ir_symbol_kind {
    IR_SYMBOL_DIM,       /* int64: extent of an input's axis; bound by a call */
    IR_SYMBOL_ATTRIBUTE, /* int64, float64 or bool: scalar argument; bound by a call */
    IR_SYMBOL_LOOP,      /* int64: loop variable */
    IR_SYMBOL_LET,       /* scalar assigned once, at its IR_LET */
    IR_SYMBOL_VARIABLE   /* scalar that is assigned again (IR_VARIABLE, IR_ASSIGN) */
};

enum { IR_SMALL_BITS = 16, IR_NEAR_BITS = 31 };

/* Calls are told apart by how large the integers are that they hand in, and by their signs: a kernel for
 * small ones can move sums of these about, which do not wrap. */
struct ir_known {
    unsigned char bits; /* the magnitude is below this power of two, one of the above; 0: it is any */
    unsigned char sign;
};

enum ir_sign { IR_ANY_SIGN, IR_NATURAL /* 0 */, IR_POSITIVE };

static inline struct ir_known ir_known_of(int64_t value)
{
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    return (struct ir_known){.bits = magnitude >> IR_SMALL_BITS == 0  ? IR_SMALL_BITS
                                     : magnitude >> IR_NEAR_BITS == 0 ? IR_NEAR_BITS
                                                                      : 0,
                             .sign = value < 0 ? IR_ANY_SIGN
                                     : value   ? IR_POSITIVE
                                               : IR_NATURAL};
}

/* Whether a call with that number is one of them. */
static inline bool ir_known_holds(struct ir_known known, int64_t value)
{
    int64_t end = known.bits ? (int64_t)1 << known.bits : INT64_MAX;
    return value < end && (known.sign ? value >= (known.sign == IR_POSITIVE) : value > -end);
}

static inline bool ir_known_is_same(struct ir_known a, struct ir_known b)
{
    return a.bits == b.bits && a.sign == b.sign;
}

struct ir_symbol {
    const char *name;
    const char *label; /* what the program calls it, for messages; NULL: the name */
    enum ir_symbol_kind kind;
    akg_dtype dtype;
    int index;             /* DIM: number among the dims; ATTRIBUTE: number among the scalars */
    int number;            /* DIM: likewise among those that a call binds: the index, but in a copy in which
                              others became numbers (ir_kernel_at) */
    struct ir_known known; /* ATTRIBUTE of int64: what holds in all calls that the kernel is for */
    struct ir_buffer *buffer; /* DIM: the input it is read from */
    int axis;                 /* DIM: and the axis of it */
    int few; /* DIM: that axis has so many elements in all calls that the kernel is for; 0: any */
    struct ir_expr *value; /* LET: its value, for analyses */
    struct span span;
    int slot;   /* its place among the kernel's scalars at run time (sites_number) */
    int weight; /* LET: nodes that it stands for, names written out (passes_names.c) */
    void *note; /* scratch of the pass that runs; NULL between passes */
};

enum ir_role {
    IR_INPUT,    /* read only */
    IR_INOUT,    /* an input written in place */
    IR_OUTPUT,   /* made by the call */
    IR_TEMPORARY /* made and dropped by the call */
};

/* Of an axis in an order: its stride is 0, or it has one element. */
enum { IR_AXIS_REPEATED = 128 };

struct ir_buffer {
    const char *name;
    enum ir_role role;
    akg_dtype dtype;
    int rank;
    int index; /* number among the kernel's buffers */
    struct ir_expr *
        *shape; /* `rank` int64 expressions over dims, attributes and constants. For an input, axis k either
                   is the DIM symbol bound there, or what the call must match (an annotation) */
    bool contiguous;            /* C-contiguous, known when compiling; else strides come with the call */
    const unsigned char *order; /* INPUT, INOUT that is not contiguous: its axes as they lie in memory, the
                                   outermost first, without gaps; + IR_AXIS_REPEATED: one that repeats what
                                   is there once. NULL: nothing is known */
    struct ir_expr **extents;   /* of the call's tensor, where a pass made others of them; else NULL */
    bool clear;                 /* OUTPUT: zero it before the body. TEMPORARY: zero it at its IR_ALLOCATE */
    int open; /* so many axes had a distance that only calls told, from one index to the next, which became a
                 number behind the passes (ir_kernel_at) */
    bool unused; /* TEMPORARY: the body has no use of it any more: it needs no memory, but a call must
                    still be able to count its elements */
    struct span span;
    void *note;
};

/* ---- expressions -------------------------------------------------------- */

enum ir_expr_kind { IR_INTEGER, IR_REAL, IR_SYMBOL, IR_LOAD, IR_OPERATION };

/* What is known of one index of an access. */
enum ir_check {
    IR_CHECK_ELEMENT = 0,  /* tested when it is executed */
    IR_CHECK_PROVED,       /* always inside */
    IR_CHECK_PRECONDITION, /* inside, since the kernel's preconditions hold */
};

/* buffer[indices...]: shared by loads and stores. */
struct ir_access {
    struct ir_buffer *buffer;
    struct ir_expr **indices; /* buffer->rank of int64 */
    enum ir_check *checks;    /* one per index */
    int site; /* number of the place that may trap (jit/sites.h); 0 before they are numbered */
};

struct ir_expr {
    enum ir_expr_kind kind;
    akg_dtype dtype;
    struct span span;
    enum operation operation; /* OPERATION */
    bool checked; /* OPERATION: integer division, modulo, power whose divisor must be tested for 0 */
    int site;     /* OPERATION that is checked: as in ir_access */
    int count;    /* OPERATION: number of operands */
    union {
        int64_t integer;           /* INTEGER: dtypes bool and integers; uint64 as its bits */
        double real;               /* REAL: already rounded to dtype */
        struct ir_symbol *symbol;  /* SYMBOL */
        struct ir_access access;   /* LOAD */
        struct ir_expr **operands; /* OPERATION */
    };
};

/* ---- statements --------------------------------------------------------- */

enum ir_stmt_kind {
    IR_FOR,      /* for symbol = low to high step step: body   (high exclusive; step a constant, not 0) */
    IR_WHILE,    /* while value: body */
    IR_IF,       /* if value: body else: otherwise */
    IR_STORE,    /* access = value */
    IR_LET,      /* symbol = value, once */
    IR_VARIABLE, /* declares symbol with value */
    IR_ASSIGN,   /* symbol = value again */
    IR_ALLOCATE, /* the life of temporary `access.buffer` starts here, anew each time */
    IR_BREAK,    /* out of the innermost loop */
    IR_CONTINUE,
    IR_ASSERT /* if not value: the call fails with `message` (per execution; those on shapes and attributes
                 only are preconditions instead) */
};

/* What a loop accumulates, found by a pass and noted with the FOR, for back ends. The order of the
 * accumulation is part of the meaning unless somebody allows another one.
 *
 * SUM to ANY: in the loop the variable is used only to accumulate into it (x = x + e, max(x, e), and so on),
 * once or more often, perhaps under conditions. DOT is a sum whose terms are all products. ARGMAX and ARGMIN:
 * only `if e > x: x = e; place = ...` (or >=, <, <=), the place perhaps not there. */
#define IR_REDUCTION_TABLE(X)                                                                                \
    X(SUM, "sum", OP_ADD)                                                                                    \
    X(DOT, "dot", OP_ADD)                                                                                    \
    X(PRODUCT, "product", OP_MUL)                                                                            \
    X(MAX, "max", OP_MAX)                                                                                    \
    X(MIN, "min", OP_MIN)                                                                                    \
    X(ALL, "all", OP_AND)                                                                                    \
    X(ANY, "any", OP_OR)                                                                                     \
    X(ARGMAX, "argmax", OP_MAX)                                                                              \
    X(ARGMIN, "argmin", OP_MIN)

enum ir_reduction_kind {
#define X(id, text, operation) IR_REDUCTION_##id,
    IR_REDUCTION_TABLE(X)
#undef X
        IR_REDUCTION_COUNT
};

struct ir_reduction_row {
    const char *text;
    enum operation operation; /* that combines two partial results */
};
extern const struct ir_reduction_row ir_reduction_table[IR_REDUCTION_COUNT];

struct ir_reduction {
    enum ir_reduction_kind kind;
    struct ir_symbol *symbol; /* VARIABLE, declared outside the loop */
    struct ir_symbol *place; /* ARGMAX, ARGMIN: the variable that is assigned along; else NULL. It is used for
                                nothing else in the loop */
};

/* Hints from the source, bits of ir_stmt.hint. */
enum ir_hint {
    IR_HINT_SERIAL = 1,
    IR_HINT_VECTORIZE = 2,
    IR_HINT_PARALLEL = 4,
    IR_HINT_REDUCE = 8,
    IR_HINT_UNROLL = 16
};

struct ir_stmt {
    enum ir_stmt_kind kind;
    struct span span;
    struct ir_stmt *next; /* in its block */
    struct ir_symbol *symbol;
    struct ir_expr *low, *high; /* FOR */
    int64_t step;               /* FOR: neither 0 nor INT64_MIN, so that it has an opposite */
    unsigned hint;              /* FOR */
    bool independent; /* FOR: a pass knows, and notes for back ends, that no iteration depends on another one:
                         they may run in any order, or at once */
    bool in_turn; /* FOR: likewise that they may not, as far as anybody can tell: back ends need not ask */
    bool open; /* FOR: its bounds became numbers behind the passes (ir_kernel_at): however few iterations it
                  has, none of these has written them out */
    bool deferred; /* IF: a pass made the body for calls that may never come; back ends may leave its code for
                      when it is first reached, and fall back on `otherwise` at any time: both do the same */
    LIST(struct ir_reduction) reductions; /* FOR: see above; empty until they have been looked for */
    struct ir_expr *value;
    struct ir_access access;   /* STORE, ALLOCATE (buffer only) */
    struct ir_stmt *body;      /* FOR, WHILE, IF */
    struct ir_stmt *otherwise; /* IF */
    const char *message;       /* ASSERT */
    int site;                  /* ASSERT: as in ir_access */
    void *note;                /* scratch of the pass that runs; NULL between passes */
};

/* ---- kernel ------------------------------------------------------------- */

enum ir_precondition_kind {
    IR_PRECONDITION_SHAPE,  /* two dims that must be equal (annotation) */
    IR_PRECONDITION_BOUNDS, /* an access would leave its tensor */
    IR_PRECONDITION_ASSERT  /* the program's own assert */
};

/* Tested once per call, in order, before anything is written. */
struct ir_precondition {
    enum ir_precondition_kind kind;
    struct ir_expr *guard;     /* bool over dims and attributes: only then is it demanded; NULL: always */
    struct ir_expr *condition; /* bool over dims and attributes */
    const char *message;       /* ASSERT: the program's; else NULL */
    struct ir_expr *index, *extent; /* BOUNDS: the index that would be reached, and the extent it exceeds */
    struct ir_buffer *buffer;       /* BOUNDS: of which tensor */
    int axis;
    bool is_fixed;    /* BOUNDS: the index hangs on no loop and no element */
    struct span span; /* the access, the assert, the annotation */
};

/* A parameter of the function, in call order. */
struct ir_parameter {
    const char *name;
    struct ir_buffer *buffer;    /* tensor, or NULL */
    struct ir_symbol *attribute; /* run-time scalar, or NULL; both NULL: absent or compiled in */
};

struct ir_result {
    const char *name;
    struct ir_buffer *buffer; /* OUTPUT or INOUT */
    int item;                 /* number in what the function returns, where some may be missing; ascending */
};

struct ir_kernel {
    const char *name;
    struct arena *arena;
    LIST(struct ir_buffer *) buffers;
    LIST(struct ir_symbol *) dims;       /* symbol->index is the place here */
    LIST(struct ir_symbol *) attributes; /* likewise */
    LIST(struct ir_parameter) parameters;
    LIST(struct ir_result) results;
    LIST(struct ir_precondition) preconditions;
    struct ir_stmt *body;
    struct ir_names *names; /* every name taken, for fresh ones */
    int symbol_count;       /* symbols ever made */
    int slot_count;         /* symbols with a slot: dims, attributes, then those that the body declares */
};

/* ---- building (ir_build.c) ---------------------------------------------- */

/* The kernel for those who make nodes of their own beside it, which go into another arena, and names, which
 * need not differ from the kernel's. No dims or attributes. */
struct ir_kernel ir_kernel_beside(const struct ir_kernel *kernel, struct arena *arena);

struct ir_kernel *ir_kernel_new(struct arena *arena, const char *name);
/* Appended to kernel->buffers; the shape entries are to be filled. Contiguous unless an input. The name is
 * made unique as a symbol's is. */
struct ir_buffer *ir_buffer_new(struct ir_kernel *kernel, const char *name, enum ir_role role,
                                akg_dtype dtype, int rank);
/* The extents that the tensor of a call must have: those of the indices, but where a pass made others of
 * these.
 */
static inline struct ir_expr **ir_buffer_extents(const struct ir_buffer *buffer)
{
    return buffer->extents ? buffer->extents : buffer->shape;
}
/* Whether a call hands it in: what is in it was there before. */
static inline bool ir_buffer_is_input(const struct ir_buffer *buffer)
{
    return buffer->role == IR_INPUT || buffer->role == IR_INOUT;
}
/* The name is made unique with a suffix _1, _2, ...; DIM and ATTRIBUTE symbols enter the kernel's lists. */
struct ir_symbol *ir_symbol_new(struct ir_kernel *kernel, enum ir_symbol_kind kind, const char *name,
                                akg_dtype dtype);

struct ir_expr *ir_integer(struct ir_kernel *kernel, akg_dtype dtype, int64_t value);
struct ir_expr *ir_real(struct ir_kernel *kernel, akg_dtype dtype, double value);
struct ir_expr *ir_symbol_use(struct ir_kernel *kernel, struct ir_symbol *symbol);
struct ir_expr *ir_load(struct ir_kernel *kernel, struct ir_buffer *buffer, struct ir_expr **indices);
/* The dtype follows the rule of the row. Operands past the arity are NULL. Folds constants of int64 and bool
 * only, so that shapes stay simple (x + 0, x * 1, 2 + 3): the result need not be a new node. `checked` is set
 * where a divisor may be zero. */
struct ir_expr *ir_operation(struct ir_kernel *kernel, enum operation operation, struct ir_expr *a,
                             struct ir_expr *b, struct ir_expr *c);
struct ir_expr *ir_cast(struct ir_kernel *kernel, akg_dtype dtype, struct ir_expr *value);

/* The comparison that holds of (b, a) where this one holds of (a, b). */
enum operation ir_comparison_mirrored(enum operation comparison);
/* The one that holds where this one does not; of floats only where neither is nan. */
enum operation ir_comparison_negated(enum operation comparison);
/* Whether the operation on this dtype may be `checked`. */
bool ir_can_divide_by_zero(enum operation operation, akg_dtype dtype);
/* Whether the expression is above 0 wherever it stands: a constant, an attribute of which that is known, or
 * the greater of something and a constant. */
bool ir_is_positive(const struct ir_expr *expr);

struct ir_stmt *ir_stmt_new(struct ir_kernel *kernel, enum ir_stmt_kind kind, struct span span);

/* Deep copy into `kernel` with every use of a symbol that has a non-NULL `note` (an ir_expr *) replaced by a
 * copy of it. */
struct ir_expr *ir_expr_substitute(struct ir_kernel *kernel, const struct ir_expr *expr);
/* Deep copy of the statements into `kernel`, with symbols of its own for what they declare. Loads and stores
 * are of the same buffers. */
struct ir_stmt *ir_block_copy(struct ir_kernel *kernel, const struct ir_stmt *block);
/* A copy in the same arena for calls in which dims, those that are `known`, are these numbers; both are by
 * index. The other dims are left in it. Attributes, buffers, parameters and results keep their order. Sites
 * and slots are to be numbered. */
struct ir_kernel *ir_kernel_at(struct ir_kernel *kernel, const int64_t *extents, const bool *known);
/* The same value by the same computation: spans, checks and sites are not compared. */
bool ir_expr_equal(const struct ir_expr *a, const struct ir_expr *b);
/* The same element of the same buffer, likewise. */
bool ir_access_equal(const struct ir_access *a, const struct ir_access *b);

/* An equal, simpler expression for an operation on these operands, or NULL when there is none: constants of
 * int64 and bool, sums of int64, neutral elements. Never drops an operand that could stop the kernel. */
struct ir_expr *ir_fold(struct ir_kernel *kernel, enum operation operation, struct ir_expr *const *operands);

/* What an operation of two numbers of int64 is; false where it overflows, stops, or is of another kind. */
bool ir_compute_integer(enum operation operation, int64_t a, int64_t b, int64_t *result);

/* Calls visit for the expression and all below it, parents first; stops early when it returns false, and says
 * so. */
bool ir_expr_walk(struct ir_expr *expr, bool (*visit)(struct ir_expr *expr, void *context), void *context);
/* Whether the expression is the symbol's value and no more; whether it is that of a dim. */
static inline bool ir_is_use_of(const struct ir_expr *expr, const struct ir_symbol *symbol)
{
    return expr->kind == IR_SYMBOL && expr->symbol == symbol;
}
static inline bool ir_is_dim(const struct ir_expr *expr)
{
    return expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_DIM;
}
/* ir_expr_walk over every expression that a statement itself holds (indices, bounds, value, in the order of
 * the text), not over those of statements inside it. */
bool ir_stmt_expressions(struct ir_stmt *stmt, bool (*visit)(struct ir_expr *expr, void *context),
                         void *context);
/* Calls visit for every statement of the block and of the blocks inside, in the order of the text; stops
 * early when it returns false, and says so. Chains of else-ifs take no stack. */
bool ir_block_walk(struct ir_stmt *block, bool (*visit)(struct ir_stmt *stmt, void *context), void *context);
/* Loops inside one another, counted as far as the limit. */
int ir_block_depth(const struct ir_stmt *block, int limit);
/* Gives what the block, and the blocks inside, declare the note. */
void ir_block_note_declared(struct ir_stmt *block, void *note);
/* ir_expr_walk over every expression of the block and of the blocks inside. */
bool ir_block_expressions(struct ir_stmt *block, bool (*visit)(struct ir_expr *expr, void *context),
                          void *context);
/* Whether a statement of the block, or of the blocks inside, stores to the buffer. */
bool ir_block_stores_to(const struct ir_stmt *block, const struct ir_buffer *buffer);
/* Of an expression alone, not of what the LETs in it stand for: whether it loads anything; whether all it
 * loads is of inputs, to which nothing stores; whether it uses a variable. */
bool ir_expr_loads(const struct ir_expr *expr);
bool ir_expr_loads_only_inputs(const struct ir_expr *expr);
bool ir_expr_has_variable(const struct ir_expr *expr);
/* Whether it has the same value wherever its symbols are in scope: all it loads is of inputs, and it uses no
 * variable. */
bool ir_expr_is_stable(const struct ir_expr *expr);
/* How many loads there are in the block, and in the blocks inside. */
int ir_block_count_loads(const struct ir_stmt *block);
/* Whether it is an operation that need not evaluate all its operands; whether there is one in the expression.
 */
static inline bool ir_is_choosing(const struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION &&
           (expr->operation == OP_SELECT || expr->operation == OP_AND || expr->operation == OP_OR);
}
bool ir_expr_chooses(const struct ir_expr *expr);
/* Whether the expression, or one of theirs, loads from it. */
bool ir_expr_loads_from(const struct ir_expr *expr, const struct ir_buffer *buffer);
bool ir_block_loads_from(const struct ir_stmt *block, const struct ir_buffer *buffer);
/* Whether the statement, or one inside it, loads from the buffer or stores to it. */
bool ir_stmt_accesses(const struct ir_stmt *stmt, const struct ir_buffer *buffer);
/* Whether a statement of the block, or of the blocks inside, assigns the variable (IR_ASSIGN: its declaration
 * is another thing). */
bool ir_block_assigns(const struct ir_stmt *block, const struct ir_symbol *symbol);
/* Likewise the statement itself, or one inside it. */
bool ir_stmt_assigns(const struct ir_stmt *stmt, const struct ir_symbol *symbol);
/* Whether the block, or a block inside, holds a store; an allocation; one of a temporary that a use is left
 * of, so that it takes memory; a loop of any kind, IR_FOR or IR_WHILE. */
bool ir_block_stores(const struct ir_stmt *block);
bool ir_block_allocates(const struct ir_stmt *block);
bool ir_block_takes_memory(const struct ir_stmt *block);
bool ir_block_has_loop(const struct ir_stmt *block);
/* Whether the block, or a block inside, declares the symbol, be it as the variable of a loop. */
bool ir_block_declares(const struct ir_stmt *block, const struct ir_symbol *symbol);
/* Whether the block may change what the expression gives: assigns a variable that it reads, or stores to a
 * tensor. */
bool ir_block_changes(struct ir_stmt *block, struct ir_expr *expr);

/* ---- text, checks ------------------------------------------------------- */

void ir_print(struct text *out, const struct ir_kernel *kernel);
void ir_print_expr(struct text *out, const struct ir_expr *expr);

/* Reads what ir_print wrote. NULL with an error in `diagnostics` when it is not that. */
struct ir_kernel *ir_read(struct arena *arena, const char *text, size_t length, akg_diagnostics *diagnostics);

/* True when every rule of the IR holds; else false and what is broken, for a bug report, in `complaint`
 * (which has failed when memory ran out). */
bool ir_verify(const struct ir_kernel *kernel, struct text *complaint);

#endif
