/*
 * pass.h: what the files of the passes share, and whoever plans code by the same questions.
 *
 * A pass changes the kernel in place. New nodes come from the kernel's arena, what it needs to remember from
 * `arena`, which ends with it. Rules: nodes are not shared; the value of a LET's symbol is the very node of
 * its statement (pass_set_value); notes are NULL again at the end.
 */
#ifndef JIT_PASS_H
#define JIT_PASS_H

#include "dependence.h"
#include "passes.h"

struct pass {
    struct ir_kernel *kernel;
    struct arena *arena;
    int analyses;                   /* dependence analyses that may still be made for this kernel */
    const struct pass_tiles *tiles; /* sizes of blocks; NULL: none are to be made */
    enum x86_target target;
    bool reorders; /* as in the options */
};

/* Each returns whether it changed anything. */
#define X(name, suits, about) bool pass_##name(struct pass *pass);
#include "passes.def"
#undef X

/* ---- passes_names.c ---------------------------------------------------------------------------- */

/* Between two passes: what stands for too much, names written out, is no LET afterwards. */
void passes_limit_names(struct ir_kernel *kernel);

/* ---- pass_support.c: what may stop -------------------------------------------------------------- */

/* Whether evaluating or executing may stop the kernel: an index or a divisor that is tested, an assert; of a
 * statement also whether it may never end. */
bool pass_expr_may_stop(struct ir_expr *expr);
bool pass_stmt_may_stop(struct ir_stmt *stmt);
bool pass_block_may_stop(struct ir_stmt *block);
/* Whether one of the indices of the access is tested or has something in it that may stop. */
bool pass_access_may_stop(struct ir_access *access);

/* Whether there is a FOR in the block, or in what it holds; a WHILE is none (ir_block_has_loop asks for
 * either). */
bool pass_has_for(const struct ir_stmt *block);
/* Whatever is tested of indices in the block is known to be inside; of one expression. */
void pass_trust(struct ir_stmt *block);
void pass_trust_expression(struct ir_expr *expr);

/* A break or continue of the loop whose body the block is. */
bool pass_jumps(const struct ir_stmt *block);
/* Likewise, but only a jump of that kind, IR_BREAK or IR_CONTINUE. */
bool pass_jumps_by(const struct ir_stmt *block, enum ir_stmt_kind kind);
/* Of any loop: also of those inside, which jump elsewhere when they are written out. */
bool pass_jumps_anywhere(struct ir_stmt *block);

/* Whether it can be computed anywhere its symbols have values: it loads nothing, and divides integers by
 * constants at most. */
bool pass_is_pure(struct ir_expr *expr);
/* Likewise wherever what it loads is there. */
bool pass_is_pure_of_loads(struct ir_expr *expr);
/* Likewise, and it is the same all through a call: made of dims, attributes and constants. */
bool pass_is_of_call(struct ir_expr *expr);
/* Likewise all through a loop: its iterations find the same, which may be asked where there are none. What is
 * loaded has a name in front of the loop where that is so (pass_hoist.c). */
bool pass_is_same_in_all(const struct ir_stmt *loop, struct ir_expr *expr);
/* Whether it has a use of the symbol; of a block, one of its expressions or of those of the blocks inside
 * (what it declares or assigns is no use). */
bool pass_mentions(struct ir_expr *expr, const struct ir_symbol *symbol);
bool pass_block_mentions(struct ir_stmt *block, const struct ir_symbol *symbol);
bool pass_access_mentions(const struct ir_access *access, const struct ir_symbol *symbol);

/* ---- pass_affine.c: indices -------------------------------------------------------------------- */

enum { PASS_TERMS = 6 };

/* A sum of symbols, as the machine computes it (modulo 2^64). */
struct pass_affine {
    int64_t constant;
    int count;
    struct {
        const struct ir_symbol *symbol;
        int64_t coefficient; /* not 0 */
    } terms[PASS_TERMS];
};

/* False when the expression is not such a sum. Looks into LETs. */
bool pass_affine_of(const struct ir_expr *expr, struct pass_affine *out);
/* a + factor * b */
bool pass_affine_add(struct pass_affine *a, int64_t factor, const struct pass_affine *b);
int64_t pass_affine_coefficient(const struct pass_affine *affine, const struct ir_symbol *symbol);
/* The sum as an expression: what is added first, then what is taken off. */
struct ir_expr *pass_sum(struct pass *pass, const struct pass_affine *sum);

/* By how much the expression grows with each iteration of a loop, whatever the other factors of its terms
 * are; false: nobody knows. Looks into LETs. */
bool pass_step_of(const struct ir_expr *expr, const struct ir_symbol *variable, int64_t *step);

enum pass_relation { PASS_UNKNOWN, PASS_SAME, PASS_DISTINCT };

/* Of two accesses to one buffer, with all symbols at their present values. An index that loads what the
 * kernel may write is not the same as any other, not even as itself. */
enum pass_relation pass_compare(const struct ir_access *a, const struct ir_access *b);

/* Whether the variable moves the last index by one, and no other. */
bool pass_is_unit(const struct ir_access *access, const struct ir_symbol *variable);

/* ---- pass_support.c: what depends --------------------------------------------------------------- */

/* The dependences among what one loop holds, as dependence_judge tells them, as if it were the whole kernel:
 * scalars from outside are taken for constants, those of loops around it between their bounds. They live as
 * long as the pass. NULL: this has been asked often enough for one kernel. */
const struct dependences *pass_dependences(struct pass *pass, struct ir_stmt *loop);

/* Likewise with all directions and distances, as of dependence_analyse. */
const struct dependences *pass_directions(struct pass *pass, struct ir_stmt *loop);
/* Whether the loop assigns no variable from outside, of which that which is used behind it is the last
 * value: what the dependences of one loop alone do not tell. */
bool pass_assigns_own(struct ir_stmt *loop);
/* Whether these say that its iterations may run in any order. */
bool pass_is_parallel(struct pass *pass, struct ir_stmt *loop);

/* Loops around what is looked at, from the inside out. */
struct pass_around {
    const struct pass_around *outer;
    struct ir_stmt *loop;
    struct ir_stmt **before; /* what is to come before it; NULL: the pass puts nothing there */
};

/* Notes which of them may run in any order and which may not, while what they hold is what the program has:
 * of what a pass makes of it the analysis would have a hundred times as much to decide. `is_last`: nobody is
 * to ask again, and those of which it is not known keep their order, too. */
void pass_note_order(struct pass *pass, const struct pass_around *around, bool is_last);

/* Whether the bounds of loops inside one another, outermost first, are the same wherever the loops stand. */
bool pass_bounds_are_fixed(struct ir_stmt *const *loops, int count);

/* ---- pass_range.c: how large what is computed may be -------------------------------------------- */

enum { PASS_RANGES = 24 };

/* Loops around what is looked at. */
struct pass_ranges {
    struct {
        const struct ir_symbol *symbol;
        int bits;
    } loops[PASS_RANGES];
    int count;
};

/* Puts the loop there, behind those around it; false: there is no room, and its variable may be anything. */
bool pass_ranges_know(struct pass_ranges *ranges, const struct ir_stmt *loop);
/* How many bits the magnitude has at most, of the int64 and of all that is computed for it; more than 62: it
 * may be anything. */
int pass_bits_of(const struct pass_ranges *ranges, const struct ir_expr *expr);

/* ---- pass_support.c: building ------------------------------------------------------------------- */

/* Of LET, VARIABLE, ASSIGN, STORE, IF, WHILE, ASSERT. */
void pass_set_value(struct ir_stmt *stmt, struct ir_expr *value);
struct ir_expr *pass_copy(struct pass *pass, const struct ir_expr *expr);
/* An int64. */
static inline struct ir_expr *pass_number(const struct pass *pass, int64_t value)
{
    return ir_integer(pass->kernel, AKG_INT64, value);
}
static inline struct ir_expr *pass_use(const struct pass *pass, const struct ir_symbol *symbol)
{
    return ir_symbol_use(pass->kernel, (struct ir_symbol *)symbol); /* which stays what it is */
}
/* An operation on both, folded where that can be. A divisor is tested where it may be 0. */
static inline struct ir_expr *pass_combine(const struct pass *pass, enum operation operation,
                                           struct ir_expr *a, struct ir_expr *b)
{
    return ir_operation(pass->kernel, operation, a, b, NULL);
}
/* Likewise, but a divisor is known not to be 0, and is not tested. */
struct ir_expr *pass_apply(struct pass *pass, enum operation operation, struct ir_expr *a, struct ir_expr *b);
/* A load of what the access is to, with copies of its indices, which are known to be inside. */
struct ir_expr *pass_load(struct pass *pass, const struct ir_access *access, struct span span);
/* A LET or VARIABLE of a new scalar. */
struct ir_stmt *pass_declare(struct pass *pass, enum ir_symbol_kind kind, const char *name,
                             struct ir_expr *value, struct span span);
/* Replaces one symbol by another in the block. */
void pass_rename(struct ir_stmt *block, struct ir_symbol *from, struct ir_symbol *to);
/* Visits every expression that the statement itself holds and puts what `rewrite` gives in its place: the
 * function gets whole expressions, not those inside. */
typedef struct ir_expr *pass_rewriter(struct pass *pass, struct ir_expr *expr, void *context);
void pass_rewrite(struct pass *pass, struct ir_stmt *stmt, pass_rewriter *rewrite, void *context);
/* Likewise, but the function gets each operation, those inside first, in indices too; what it gives has the
 * operation's place in the text. */
void pass_rewrite_operations(struct pass *pass, struct ir_stmt *stmt, pass_rewriter *rewrite, void *context);
/* What the notes of symbols stand for takes the place of their uses, in the block and the blocks inside. */
void pass_substitute(struct pass *pass, struct ir_stmt *block);
/* The scalars that loads of a buffer become: `symbol_of` says which; NULL: it stays a load. */
struct pass_replacement {
    const struct ir_buffer *buffer;
    struct ir_symbol *(*symbol_of)(const struct ir_access *access, void *context);
    void *context;
};
void pass_replace_loads(struct pass *pass, struct ir_stmt *stmt, struct pass_replacement *replacement);

/* ---- pass_indices.c: names ------------------------------------------------------------------------ */

enum { PASS_NAMES = 16 };

/* LETs of what is the same all through the call, for the beginning of the kernel. */
struct pass_names {
    struct pass *pass;
    struct ir_stmt *lets[PASS_NAMES];
    int count;
    bool changed;
};

/* The parts of an int64 that are no sums, are the same all through the call, and have no constant value, get
 * names. */
struct ir_expr *pass_give_names(struct pass_names *names, struct ir_expr *expr);
/* There they stand. */
void pass_put_names(struct pass_names *names);

/* ---- changes -------------------------------------------------------------------------------------- */

/* Two loops of a nest with nothing between them change places. */
void pass_exchange_loops(struct ir_stmt *a, struct ir_stmt *b);
/* The body in a loop with the header of another one, and a variable of its own. */
struct ir_stmt *pass_new_loop(struct pass *pass, const struct ir_stmt *like, struct ir_stmt *body);
/* A loop from 0 to `high` that is called like another one, with nothing in it yet. */
struct ir_stmt *pass_count_to(struct pass *pass, const struct ir_stmt *like, struct ir_expr *high);
/* A deep copy of statements that neither jump, assert nor loop without an end, with symbols of its own for
 * what they declare. Temporaries are those of the original: only one of the two may stay. */
static inline struct ir_stmt *pass_copy_block(struct pass *pass, const struct ir_stmt *block)
{
    return ir_block_copy(pass->kernel, block);
}
/* Of a walk: whether it can copy the statement, and no more than `left`, an int, have come up. */
bool pass_can_be_copied(struct ir_stmt *stmt, void *left);
/* A loop around nothing but a choice, whose condition hangs on no loop, is made twice, inside of it: threads
 * share the loop on the one side, and the loops inside on the other, perhaps. */
void pass_hoist_choice(struct pass *pass, struct ir_stmt *loop);
/* pass_promote for one nest: what its loops work on lives in scalars. `around`: loops around it, outermost
 * first. */
bool pass_promote_nest(struct pass *pass, const struct ir_stmt *const *around, int count,
                       struct ir_stmt *nest);

/* pass_repeat for one loop: makes a while of the one inside where lanes of vectors come of that, if the
 * iterations of the loop are independent. */
bool pass_repeat_inside(struct pass *pass, struct ir_stmt *columns);

/* pass_choose for one declaration of a variable. */
bool pass_choose_value(struct pass *pass, struct ir_stmt *declaration);

/* Elements of a buffer of few, 64 at most; 0: there are none, or more, or nobody knows yet. */
int pass_few_elements(const struct ir_buffer *buffer);
/* pass_scalars for the block of a loop. */
bool pass_scalars_of_block(struct pass *pass, struct ir_stmt **block);
/* A quotient or remainder of int64 by a small constant with the multiples of that taken out, where there are
 * some. */
struct ir_expr *pass_quotient(struct pass *pass, struct ir_expr *expr);
/* What pass simplify does, in one block. */
void pass_simplify_block(struct pass *pass, struct ir_stmt **block);
/* Whether it allocates a temporary, which would be allocated while it lives if the loop were written out. */
bool pass_allocates(struct ir_stmt *loop);
/* Writes out all loops of the block, if they are of no more iterations than `longest` each and allocate
 * nothing, and no more statements come of it than `most`; whether there was one. */
bool pass_write_out(struct pass *pass, struct ir_stmt **block, int longest, int most);
/* Writes the loop out that stands there, if its iterations are few and known. */
bool pass_write_out_loop(struct pass *pass, struct ir_stmt **place);
/* Counts windows that end at no borders, of the block alone, from 0 on. */
bool pass_count_windows(struct pass *pass, struct ir_stmt *block);
/* In the block alone, where conditions on the variables of loops that are gone are left. */
bool pass_unroll_block(struct pass *pass, struct ir_stmt *block);
/* Whether the block accesses nothing but integers of 8 and 16 bits, or bools. */
bool pass_is_of_pixels(struct ir_stmt *block);
/* Writes out a window in the loop, if it is parallel and becomes one of lanes of 8 or 16 bits by that. */
bool pass_unroll_window(struct pass *pass, struct ir_stmt *loop);

/* Marks a statement; the sweep takes marked ones out, and loops and ifs that are left empty. */
void pass_remove(struct ir_stmt *stmt);
bool pass_is_removed(const struct ir_stmt *stmt);
void pass_sweep(struct ir_stmt **block);

#endif
