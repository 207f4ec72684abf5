/*
 * elaborate_private.h: what the elaborate_*.c files share.
 *
 * elaborate.c             parameters, results, the entry
 * elaborate_statement.c   statements, loops, scopes
 * elaborate_assign.c      assignments, slices, declarations
 * elaborate_expression.c  names, comparisons, conditions
 * elaborate_operation.c   operators, and the type that operands take
 * elaborate_exact.c       integers against untyped ones that their dtype may not hold
 * elaborate_index.c       subscripts, shapes, members
 * elaborate_call.c        builtins by name
 * elaborate_inline.c      functions of the file
 * elaborate_graph.c       graph functions, call by call
 * elaborate_standard.c    operations on tensors, functions of the standard library
 * elaborate_broadcast.c   tensors brought to one shape
 * elaborate_value.c       values and how untyped numbers become typed
 * elaborate_finish.c      type variables -> dtypes
 */
#ifndef DSL_ELABORATE_PRIVATE_H
#define DSL_ELABORATE_PRIVATE_H

#include "builtins.h"
#include "elaborate.h"
#include "names.h"
#include "types.h"

enum value_kind {
    VALUE_ERROR, /* reported already: whatever is done with it is silent */
    VALUE_NONE,
    VALUE_SCALAR, /* typed: expr->dtype is a dtype or a type variable */
    VALUE_INT,    /* untyped integer: expr computes it in int64 */
    VALUE_FLOAT,  /* untyped number with a fraction: expr computes it in float64 */
    VALUE_STRING,
    VALUE_TUPLE,
    VALUE_DTYPE,
    VALUE_TENSOR,
    VALUE_UNSET /* a name without a value yet */
};

struct value {
    enum value_kind kind;
    struct ir_expr *expr;
    const char *string;
    struct value *items; /* TUPLE */
    int count;
    akg_dtype type;           /* DTYPE */
    struct ir_buffer *buffer; /* TENSOR; TUPLE: of which it is the shape, or a place in it, else NULL */
    bool is_large;            /* INT constant past int64 (bits of an uint64) */
    bool is_given; /* INT: an attribute or extent that is compiled in is part of it, so it behaves as one that
                      is not: what does not fit a dtype wraps, a division by zero stops the kernel when it is
                      reached
                    */
};

/* What a name of a function stands for, in one inlined copy of it. */
struct slot {
    struct value value;
    struct ir_symbol *variable; /* not NULL: a scalar that can be assigned again */
    bool predeclared;           /* by an if whose both sides assign it */
};

/* The arguments of a call, evaluated. */
struct argument {
    const char *name; /* NULL: given by place */
    struct value value;
    struct span span;
};
struct arguments {
    struct argument *items;
    int count, capacity;
    struct span span; /* of the call */
};

/* An `if` around the statement whose sides are both elaborated. */
struct branch {
    struct ir_expr *condition;
    const struct branch *outer;
};

/* One copy of a function that is being elaborated. */
struct frame {
    const struct ast_function *function;
    struct frame *caller;
    bool graph; /* operations on tensors are functions of the standard library here */
    struct slot *slots;
    struct span call;       /* the call that this is a copy for; none of the outermost */
    struct ir_stmt **entry; /* where a result variable can be declared */
    int conditions;         /* run-time conditions around the statement, within this copy */
    const struct branch *branch;
    int loops;
    bool done; /* a return was met unconditionally */
    struct value result;
    struct ir_symbol **result_variables; /* not NULL: what is returned is known in the run only */
    int result_count;                    /* of these; 0: one, and it is no tuple */
    struct span result_span;
    int depth;
};

/* One sliced axis of the assignment that is being elaborated. */
struct slice_loop {
    struct ir_symbol *symbol;
    struct ir_expr *length;
};

struct elaborator {
    struct arena *arena;
    akg_diagnostics *diagnostics;
    const struct ast_module *module;
    const struct ast_function *function;
    struct ir_kernel *kernel;
    struct types types;
    struct frame *frame;
    struct ir_stmt **tail; /* where the next statement goes */
    bool general;
    bool few_known;                    /* of all tensors: which axes have one element */
    struct ir_buffer *broadcast_first; /* of a @broadcast function: the tensor whose shape all have */
    bool in_standard;                  /* inside a copy of a function of the library */
    int errors;
    struct elaborate_result *result;
    elaborate_evaluate *evaluate;
    const struct elaborate_calls *calls; /* not NULL: a graph function, call by call */
    bool decides;                        /* by extents and floats too: expr_decide is at it */
    bool stopped;                        /* the owner of the calls wants no more */
    bool misranked;                      /* a tensor of the call has other axes than the text uses: told */
    int *attribute_parameter;            /* attribute symbol index -> parameter index */
    LIST(int) input_parameter;           /* buffer index of an input -> parameter index */
    int loops;                           /* around the statement, in all copies */
    int conditions;
    struct slice_loop *slices; /* NULL outside an assignment to a slice */
    int slice_count;
    const struct ir_buffer *sliced; /* what it assigns */
    struct ir_stmt *before_slices;  /* what is to be checked, or loaded, before these loops */
    int nesting;                    /* of blocks and expressions in each other, inlined ones too */
    int blocks;                     /* of these */
    bool is_too_deep;               /* and it was too much */
    int unrolled;                   /* statements copied so far */
    LIST(struct written_input {
        struct ir_buffer *buffer;
        struct span span;                  /* in the function that is elaborated */
        const struct ast_function *callee; /* what it calls there that writes, or NULL */
        int line;                          /* of that */
    })
    written_inputs;
    struct type_name {
        const char *name;
        akg_dtype type;
    } type_names[16];
    int type_name_count;
};

#define ELABORATE_MAX_UNROLLED 100000
#define ELABORATE_MAX_CALLS 64
/* Levels of expressions and blocks, with all calls copied: each is about a kilobyte of stack, here
 * and in what follows. */
#define ELABORATE_MAX_NESTING 1800
#define ELABORATE_MAX_BLOCKS 1200 /* of these */
#define ELABORATE_MAX_TUPLE 10000

/* ---- values (elaborate_value.c) ------------------------------------------------ */

static inline struct value value_error(void)
{
    return (struct value){.kind = VALUE_ERROR};
}
static inline struct value value_of(enum value_kind kind, struct ir_expr *expr)
{
    return (struct value){.kind = kind, .expr = expr};
}
static inline bool value_is_number(const struct value *value)
{
    return value->kind == VALUE_SCALAR || value->kind == VALUE_INT || value->kind == VALUE_FLOAT;
}

struct value value_int(struct elaborator *e, int64_t integer);
/* Of an extent, which may be compiled in. */
struct value value_extent(struct ir_expr *extent);
struct value value_bool(struct elaborator *e, bool boolean);
/* True, with the number, for an untyped integer or bool known when compiling. */
bool value_constant(const struct value *value, int64_t *integer);
/* A copy whose nodes nobody else holds. */
struct value value_copy(struct elaborator *e, struct value value);
/* "a tuple", "a string", "float32" ...: for messages. */
const char *value_text(struct elaborator *e, const struct value *value);
/* The value as an expression of that type: untyped numbers take it, a typed one must have it. NULL after a
 * message; `what` names the use in it ("the operands of +"). */
struct ir_expr *value_coerce(struct elaborator *e, struct value value, akg_dtype type, struct span span);
/* Explicit conversion. */
struct value value_cast(struct elaborator *e, struct value value, akg_dtype type, struct span span);

/* An untyped integer as an untyped number with a fraction. */
struct value value_with_fraction(struct elaborator *e, struct value value, struct span span);
/* An expression with a type of its own: untyped integers become int32 or int64, floats float32, unless they
 * meet another type later (a fresh variable). */
struct ir_expr *value_settle(struct elaborator *e, struct value value, struct span span);
/* As a bool: numbers compare with 0. */
struct ir_expr *value_condition(struct elaborator *e, struct value value, struct span span);
/* As an int64 index, extent or bound. NULL after a message. */
struct ir_expr *value_index(struct elaborator *e, struct value value, struct span span);
/* True when the expression is the same throughout a call: dims, attributes, constants only. */
bool expr_is_invariant(struct ir_expr *expr);
/* True when it gives the same value wherever it stands in its block: it reads no element and no variable. */
bool expr_is_stable(struct ir_expr *expr);
struct ir_expr *expr_copy(struct elaborator *e, const struct ir_expr *expr);
int expr_size(struct ir_expr *expr, int limit);
/* A node with its dtype given: operands may have type variables. */
struct ir_expr *expr_node(struct elaborator *e, enum operation operation, akg_dtype dtype, struct ir_expr *a,
                          struct ir_expr *b, struct ir_expr *c, struct span span);
/* Demands that attributes in it be compiled in, in a graph function extents too; true when there are such
 * (then `retry` is set). */
bool expr_demand_constants(struct elaborator *e, struct ir_expr *expr);
/* What a graph function decides by: a constant, where the expression is the same throughout a call. NULL: it
 * is demanded (`retry`). In the general form extents stay open, and `usual` is what they then come to. */
struct ir_expr *expr_decide(struct elaborator *e, struct ir_expr *expr, int64_t usual);

/* ---- messages ------------------------------------------------------------------- */

#define elaborate_error(e, message, span, ...)                                                               \
    ((e)->errors++, diagnostic_add((e)->diagnostics, (message), (span), ##__VA_ARGS__))
const char *elaborate_number(struct elaborator *e, int64_t number);
/* "1 axis", "3 axes": `number` of them. */
const char *elaborate_counted(struct elaborator *e, int64_t number, const char *one, const char *many);
/* The source text of a tree, for fix-its. */
const char *elaborate_source(struct elaborator *e, const struct ast_expr *expr);

/* ---- expressions ------------------------------------------------------------------- */

struct value elaborate_expr(struct elaborator *e, const struct ast_expr *expr);
struct value elaborate_binary(struct elaborator *e, enum operation operation, struct value a, struct value b,
                              const struct ast_expr *left, const struct ast_expr *right, struct span span);
/* An operation with the operands coerced to one type: the type rules of operations.def. */
struct value elaborate_operation(struct elaborator *e, enum operation operation, struct value *operands,
                                 int count, const struct ast_expr *const *places, struct span span);
/* `-x`, `+x`, `~x` and `not x`. */
struct value elaborate_unary(struct elaborator *e, const struct ast_expr *expr);
struct value elaborate_join_tuples(struct elaborator *e, struct value a, struct value b, struct span span);
/* The load of a 0-d tensor that stands as a value. */
struct value elaborate_scalar_tensor(struct elaborator *e, struct value value, struct span span);
/* Whether an operation can take the value; false after a message. `place` may be NULL. */
bool elaborate_operand_fits(struct elaborator *e, const struct value *value, enum operation operation,
                            const struct ast_expr *place);
/* That of the operands which says what the others become: typed, untyped with a fraction, or untyped. */
enum value_kind elaborate_common_kind(const struct value *operands, int count);
/* Whether an untyped integer, known in the run or handed in, may be outside that dtype of integers. */
bool elaborate_may_not_fit(const struct value *value, akg_dtype type);
/* A typed and an untyped integer, compared as the numbers they are. */
struct value elaborate_compare_exact(struct elaborator *e, enum operation operation, const struct value *v,
                                     akg_dtype type, struct span span);
/* The number of the dtype that is nearest to the untyped integer. */
void elaborate_take_nearest(struct elaborator *e, struct value *value, akg_dtype type);
struct value elaborate_subscript(struct elaborator *e, const struct ast_expr *expr);
/* x[i][j] on a tensor: refuses it; true after the message. */
bool elaborate_refuse_chain(struct elaborator *e, const struct ast_expr *expr);
struct value elaborate_member(struct elaborator *e, const struct ast_expr *expr);
/* Whether another level fits into the stack; false after a message. */
bool elaborate_may_nest(struct elaborator *e, bool is_block, struct span span);
/* A place or length in an assignment to slices, which are what they are before it: what of it is loaded from
 * the tensor that is assigned is loaded before the loops. */
struct ir_expr *elaborate_slice_fixed(struct elaborator *e, struct ir_expr *expr);
struct value elaborate_shape_of(struct elaborator *e, struct ir_buffer *buffer);
/* Where the text uses `count` axes (or more, where that is the `least`) of a tensor whose shape it is, and
 * that of the call has others: says so, once for all, and gives up the rest. False: none of the call is at
 * fault. */
bool elaborate_refuse_rank(struct elaborator *e, const struct value *shape, int64_t count, bool least,
                           struct span span);
struct value elaborate_call(struct elaborator *e, const struct ast_expr *expr);
/* The message that copies of bodies are too many. */
void elaborate_refuse_copies(struct elaborator *e, struct span span);
/* A copy of the callee's body in place of the call. */
/* What the copy gives: the value of its return, or the variables that its returns assign. */
struct value elaborate_result(struct elaborator *e, const struct frame *frame);
struct value elaborate_inline(struct elaborator *e, const struct ast_function *callee,
                              const struct arguments *arguments);
/* Evaluates the arguments of a call, unpacking tuples; false after a message. */
bool elaborate_arguments(struct elaborator *e, const struct ast_expr *call, struct arguments *arguments);

/* Puts arguments to parameters; false after a message. `slots`: those of the callee, unset. */
bool elaborate_bind_arguments(struct elaborator *e, const struct ast_function *callee,
                              const struct arguments *arguments, struct slot *slots);

/* The elaborator with the parameters declared (elaborate.c). */
struct elaborator *elaborate_start(struct arena *arena, const struct ast_module *module,
                                   const struct ast_function *function, const struct dsl_argument *arguments,
                                   const struct elaborate_calls *calls, struct elaborate_result *result,
                                   akg_diagnostics *diagnostics);

/* ---- call by call (elaborate_graph.c) ------------------------------------------ */

/* True for a function whose calls are handed to the owner. */
bool elaborate_is_call(const struct elaborator *e, const struct ast_function *callee);
struct value elaborate_hand_over(struct elaborator *e, const struct ast_function *callee,
                                 const struct slot *slots, struct span span);
/* The extents of an argument whose shape is known; dims of its annotation (NULL: none) that nothing binds yet
 * stand for them. */
void elaborate_known_shape(struct elaborator *e, struct ir_buffer *buffer, const struct ast_expr *annotation,
                           const int64_t *shape);
/* Holds the extents of such an argument, or of those of a tuple, to its annotation, once all dims are bound.
 */
void elaborate_check_known(struct elaborator *e, int parameter, const struct value *value);
/* A number or an operation on constants, evaluated; what depends on more is refused. */
struct ir_expr *elaborate_known_value(struct elaborator *e, struct ir_expr *expr, struct span span);
/* Says that an element cannot choose between tensors. */
void elaborate_refuse_choice(struct elaborator *e, struct span span);

/* ---- the standard library ------------------------------------------------------ */

/* True when an operation on these values is a function of the library: in a graph function, on a tensor. */
bool elaborate_is_standard(const struct elaborator *e, const struct value *values, int count);
struct value elaborate_standard(struct elaborator *e, enum operation operation, const struct value *values,
                                int count, struct span span);
/* The function of the library that has the name of a builtin, where the program has read it; or NULL. */
const struct ast_function *elaborate_standard_named(const struct elaborator *e, const char *name);
/* The text of the library is nobody's business: what is said of it, and the IR that comes of it, is placed
 * at the call in the user's program. */
struct elaborate_place {
    bool entered;
    struct ir_stmt **first;
    struct span span;
    int buffers, preconditions;
};
void elaborate_enter_standard(struct elaborator *e, const struct ast_function *callee, struct span span,
                              struct elaborate_place *place);
void elaborate_leave_standard(struct elaborator *e, const struct elaborate_place *place);
/* Brings the tensors (and numbers) that a @broadcast function was handed to one shape; false after a message.
 */
bool elaborate_broadcast(struct elaborator *e, const struct ast_function *callee, struct slot *slots,
                         struct span span);
/* A tensor seen in another shape, to be read only: made by elaborate_broadcast, it is in no kernel. */
static inline bool buffer_is_view(const struct ir_buffer *buffer)
{
    return buffer->index < 0;
}
struct value elaborate_load_view(struct elaborator *e, struct ir_buffer *view, struct ir_expr **indices,
                                 struct span span);
/* Flattened indices of a subscript on a tensor, checked against the rank; NULL after a message. `slices`
 * receives which are slices when not NULL; else a slice takes the loops of the assignment it stands in. */
struct ir_expr **elaborate_indices(struct elaborator *e, struct ir_buffer *buffer,
                                   const struct ast_expr *subscript);
struct value elaborate_load(struct elaborator *e, struct ir_buffer *buffer, struct ir_expr **indices,
                            struct span span);
bool elaborate_dtype(struct elaborator *e, const struct ast_expr *expr, akg_dtype *type);
bool elaborate_shape(struct elaborator *e, const struct ast_expr *expr, struct ir_expr ***shape, int *rank);
/* A slice's low, length, step for an axis of that extent; false after a message. */
bool elaborate_slice(struct elaborator *e, const struct ast_expr *slice, struct ir_expr *extent,
                     struct ir_expr **low, struct ir_expr **length, int64_t *step);

/* ---- statements ----------------------------------------------------------------------- */

void elaborate_block(struct elaborator *e, const struct ast_stmt *first);
/* Has the conditions around the statement decided when compiling, for which tensors there are hangs on them:
 * true where attributes decide, and elaboration starts anew with those known. */
bool elaborate_decide_branches(struct elaborator *e);
void elaborate_assign(struct elaborator *e, const struct ast_stmt *stmt);
void elaborate_augmented(struct elaborator *e, const struct ast_stmt *stmt);
struct ir_stmt *elaborate_emit(struct elaborator *e, enum ir_stmt_kind kind, struct span span);
/* Statements go to *first until the returned tail is put back into e->tail. */
struct ir_stmt **elaborate_redirect(struct elaborator *e, struct ir_stmt **first);
struct slot *elaborate_slot(struct elaborator *e, struct ast_binding *binding);
/* Adds a precondition, unless it is there already. */
void elaborate_require(struct elaborator *e, const struct ir_precondition *precondition);
/* Declares a variable of that type with 0. */
struct ir_symbol *elaborate_variable(struct elaborator *e, const char *name, akg_dtype type,
                                     struct span span);
void elaborate_bind(struct elaborator *e, struct ast_binding *binding, struct value value, struct span span);
void elaborate_store(struct elaborator *e, struct ir_buffer *buffer, struct ir_expr **indices,
                     struct value value, const struct ast_expr *place, struct span span);
void elaborate_return(struct elaborator *e, const struct ast_stmt *stmt);
struct ir_buffer *elaborate_allocate(struct elaborator *e, const struct ast_expr *call, const char *name);

/* Replaces type variables by dtypes in the whole kernel. */
void elaborate_finish(struct elaborator *e);

#endif
