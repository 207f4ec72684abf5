/*
 * vector_recurrence.c: what a serial loop hands on is used as late as it can be.
 *
 *     s = (s + a + b) / 9   becomes   s = fma(s, 1 / 9, (a + b) / 9)
 *
 * Iterations of a serial loop overlap but for the chain of operations from what one hands on to what the next
 * one does: how long that takes is how long the loop takes. Where such a chain is made of sums and of
 * products and quotients by numbers, what is handed on has a place of its own in it, all the rest is computed
 * without it, and one operation puts both together. Of the least of several, or the greatest, what hangs on
 * it comes last, too: min(min(s, a), b) is min(s, min(a, b)). Which operand that is is noted, for code that
 * looks at the other one alone before it is needed.
 *
 * Consumes the values of one iteration of a serial loop, VECTOR_SETs included; changes them. The sums are
 * those of the program in another order, so strict code has its own, and it keeps out of where the order is
 * the purpose: of what mentions the scalar twice (compensated sums: `(t - s) - y` with `t = s + y`) or has
 * two numbers among its terms (rounding by adding a large one and taking it off again). Numbers that scale
 * are taken into sums only where they make nothing more than a few times larger, as the sum of a few terms
 * may be, and values that scale are not multiplied by each other, so no product overflows or vanishes that
 * did not; a sum of terms may, as in any other order.
 */
#include "vector_build.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STEPS = 24, NONE = -1 };

/* The operations from what is handed on to what is handed on next, in their order. */
struct chain {
    int total, steps[STEPS], count;
    int side[STEPS]; /* the operand that the step before is */
};

/* What has been handed on is worth factor * scale * it + rest; with a scale the factor is 1 or -1. */
struct affine {
    double factor;
    int scale, rest; /* values; NONE: 1, 0 */
};

static bool is_linear(const struct vector_value *value, akg_dtype dtype)
{
    return value->kind == VECTOR_OPERATION && value->dtype == dtype && value->from == dtype &&
           (value->operation == OP_ADD || value->operation == OP_SUB || value->operation == OP_MUL ||
            value->operation == OP_TRUEDIV || value->operation == OP_NEG);
}

/* ---- the chain ------------------------------------------------------------------------------------- */

/* Which values hang on value number `from`. */
static bool *find_hanging(const struct vector_builder *builder, int from)
{
    const struct vector_loop *loop = builder->loop;
    bool *hangs = arena_array(builder->arena, bool, loop->values.count);
    hangs[from] = true;
    for (int k = from + 1; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        hangs[k] = value->mask >= 0 && hangs[value->mask];
        for (int operand = 0; operand < 3; operand++)
            hangs[k] |= value->operands[operand] >= 0 && hangs[value->operands[operand]];
    }
    return hangs;
}

static int count_uses(const struct vector_loop *loop, int number)
{
    int uses = 0;
    for (int k = number + 1; k < loop->values.count; k++) {
        uses += loop->values.items[k].mask == number;
        for (int operand = 0; operand < 3; operand++)
            uses += loop->values.items[k].operands[operand] == number;
    }
    return uses;
}

static void turn_round(struct chain *chain)
{
    for (int k = 0, last = chain->count - 1; k < last; k++, last--) {
        int step = chain->steps[k], side = chain->side[k];
        chain->steps[k] = chain->steps[last];
        chain->side[k] = chain->side[last];
        chain->steps[last] = step;
        chain->side[last] = side;
    }
}

/* From value number `end` back to the total: each operation hangs on it by one operand, and nothing but the
 * next one uses what comes out. */
static bool find_chain(const struct vector_builder *builder, struct chain *chain, int end)
{
    const struct vector_loop *loop = builder->loop;
    const bool *hangs = find_hanging(builder, chain->total);
    akg_dtype dtype = loop->values.items[chain->total].dtype;
    for (int at = end; at != chain->total; chain->count++) {
        const struct vector_value *value = &loop->values.items[at];
        if (chain->count == STEPS || !hangs[at] || !is_linear(value, dtype) ||
            (at != end && count_uses(loop, at) != 1))
            return false;
        bool both = value->operands[1] >= 0 && hangs[value->operands[0]] && hangs[value->operands[1]];
        int side = hangs[value->operands[0]] ? 0 : 1;
        if (both || (side == 1 && value->operation == OP_TRUEDIV))
            return false;
        chain->steps[chain->count] = at;
        chain->side[chain->count] = side;
        at = value->operands[side];
    }
    turn_round(chain);
    return true;
}

static const struct vector_value *other_of(const struct vector_loop *loop, const struct chain *chain,
                                           int step)
{
    const struct vector_value *value = &loop->values.items[chain->steps[step]];
    return value->operation == OP_NEG ? NULL : &loop->values.items[value->operands[1 - chain->side[step]]];
}

static double number_of(const struct vector_value *value)
{
    union dtype_value number = {.i = (int64_t)value->bits};
    return dtype_to_double(value->dtype, number);
}

/* What a step scales by; 0: no number. */
static double scale_of(const struct vector_value *value, const struct vector_value *other)
{
    double number = other->kind == VECTOR_CONSTANT ? number_of(other) : 0;
    return number != 0 && value->operation == OP_TRUEDIV ? 1 / number : number;
}

/* Whether the chain is longer than the one operation that it would become, and may become it. */
static bool may_shorten(const struct vector_loop *loop, const struct chain *chain)
{
    enum { LARGER = 4 };
    bool sums = false;
    int numbers = 0, scales = 0;
    double factor = 1, most = 0; /* of what is added, by how much it is scaled behind that */
    for (int k = 0; k < chain->count; k++) {
        const struct vector_value *value = &loop->values.items[chain->steps[k]];
        const struct vector_value *other = other_of(loop, chain, k);
        if (value->operation == OP_ADD || value->operation == OP_SUB) {
            numbers += other->kind == VECTOR_CONSTANT || other->kind == VECTOR_SCALAR;
            sums = true;
            most = most > 1 ? most : 1;
        } else if (value->operation != OP_NEG) {
            double scale = scale_of(value, other);
            most *= fabs(scale);
            if ((sums && (scale == 0 || most > LARGER)) ||
                (value->operation == OP_TRUEDIV && !(scale != 0 && fabs(scale) <= 1)))
                return false;
            scales += scale == 0;
            factor *= scale != 0 ? scale : 1;
        }
    }
    bool is_one = chain->count == 1 ||
                  (chain->count == 2 && sums && loop->values.items[chain->steps[0]].operation == OP_MUL);
    /* two that are not known might be too large, or too small, together, where what they scale is neither */
    bool is_safe = scales == 0 || (scales == 1 && fabs(factor) == 1);
    return !is_one && is_safe && numbers < 2 && fabs(factor) >= FLT_MIN && fabs(factor) <= FLT_MAX;
}

/* ---- the change -------------------------------------------------------------------------------------- */

static int apply(struct vector_builder *builder, const struct vector_value *like, enum operation operation,
                 int a, int b)
{
    return vector_operation(builder, operation, like->dtype, like->dtype, a, b, -1);
}

static int number(struct vector_builder *builder, const struct vector_value *like, double value)
{
    return vector_constant(builder, like->dtype, dtype_from_double(like->dtype, value));
}

static void add_term(struct vector_builder *builder, const struct vector_value *value, int side, int other,
                     struct affine *affine)
{
    bool negates = value->operation == OP_SUB && side == 1, takes = value->operation == OP_SUB && side == 0;
    if (negates)
        affine->factor = -affine->factor;
    if (affine->rest == NONE)
        affine->rest = takes ? apply(builder, value, OP_NEG, other, -1) : other;
    else if (side == 0)
        affine->rest = apply(builder, value, value->operation, affine->rest, other);
    else
        affine->rest = apply(builder, value, value->operation, other, affine->rest);
}

/* One step of the chain; `other`: its operand that does not hang on what is handed on. */
static void take_step(struct vector_builder *builder, const struct vector_value *value, int side, int other,
                      struct affine *affine)
{
    if (value->operation == OP_ADD || value->operation == OP_SUB) {
        add_term(builder, value, side, other, affine);
        return;
    }
    double scale = value->operation == OP_NEG ? -1 : scale_of(value, &builder->loop->values.items[other]);
    if (scale != 0)
        affine->factor *= scale;
    else
        affine->scale = other;
    if (affine->rest != NONE)
        affine->rest =
            apply(builder, value, value->operation, affine->rest, value->operation == OP_NEG ? -1 : other);
}

/* factor * scale * total + rest */
static int put_together(struct vector_builder *builder, const struct vector_value *like,
                        const struct affine *affine, int total)
{
    int factor = affine->scale;
    if (factor == NONE && affine->rest != NONE && fabs(affine->factor) == 1)
        return apply(builder, like, affine->factor == 1 ? OP_ADD : OP_SUB, affine->rest, total);
    if (factor == NONE)
        factor = number(builder, like, affine->factor);
    else if (affine->factor != 1)
        factor = apply(builder, like, OP_MUL, factor, number(builder, like, affine->factor));
    if (affine->rest == NONE)
        return apply(builder, like, OP_MUL, total, factor);
    return vector_fused(builder, OP_ADD, like->dtype, total, factor, affine->rest);
}

static int shorten(struct vector_builder *builder, const struct vector_value *old, const struct chain *chain,
                   const int *moved)
{
    struct affine affine = {1, NONE, NONE};
    for (int k = 0; k < chain->count; k++) {
        const struct vector_value *value = &old[chain->steps[k]];
        int other = value->operation == OP_NEG ? NONE : moved[value->operands[1 - chain->side[k]]];
        take_step(builder, value, chain->side[k], other, &affine);
    }
    return put_together(builder, &old[chain->steps[chain->count - 1]], &affine, moved[chain->total]);
}

/* ---- the least and the greatest --------------------------------------------------------------------- */

/* Values that the least, or the greatest, is one of, but for the one that hangs on what is handed on. */
struct choice {
    int head, last, others[STEPS], count;
};

static bool is_choice(const struct vector_value *value, const struct vector_value *like)
{
    return value->kind == VECTOR_OPERATION && (value->operation == OP_MIN || value->operation == OP_MAX) &&
           value->operation == like->operation && value->dtype == like->dtype;
}

/* From value number `head` on, as long as the operand that hangs is a choice of its own, for this one alone.
 */
static bool find_choice(const struct vector_loop *loop, const bool *hangs, int head, struct choice *choice)
{
    const struct vector_value *value = &loop->values.items[head];
    *choice = (struct choice){.head = head, .last = head};
    while (is_choice(&loop->values.items[choice->last], value) && choice->count < STEPS &&
           (choice->last == head || count_uses(loop, choice->last) == 1)) {
        const int *operands = loop->values.items[choice->last].operands;
        if (hangs[operands[0]] == hangs[operands[1]])
            break;
        choice->others[choice->count++] = operands[hangs[operands[0]]];
        choice->last = operands[!hangs[operands[0]]];
    }
    return choice->count > 1;
}

static int choose(struct vector_builder *builder, const struct vector_value *like,
                  const struct choice *choice, const int *moved)
{
    int rest = moved[choice->others[choice->count - 1]];
    for (int k = choice->count - 2; k >= 0; k--)
        rest = apply(builder, like, like->operation, rest, moved[choice->others[k]]);
    return apply(builder, like, like->operation, rest, moved[choice->last]);
}

/* All values once more, with others for number `changed`: the end of the chain, or the head of the choice. */
static void rebuild(struct vector_builder *builder, int changed, const struct chain *chain,
                    const struct choice *choice)
{
    struct vector_loop *loop = builder->loop;
    int count = loop->values.count, *moved = arena_array(builder->arena, int, count);
    const struct vector_value *old = loop->values.items;
    memset(&loop->values, 0, sizeof loop->values);
    for (int k = 0; k < count && !builder->refused; k++) {
        builder->line = old[k].line;
        if (k != changed)
            moved[k] = vector_add_again(builder, old[k], moved);
        else
            moved[k] = chain ? shorten(builder, old, chain, moved) : choose(builder, &old[k], choice, moved);
    }
}

/* The outermost choice that can be turned; its parts stay behind, unused. */
static bool turn_one(struct vector_builder *builder, int total)
{
    struct vector_loop *loop = builder->loop;
    const bool *hangs = find_hanging(builder, total);
    struct choice choice;
    for (int k = loop->values.count - 1; k > total; k--)
        if (hangs[k] && is_choice(&loop->values.items[k], &loop->values.items[k]) &&
            count_uses(loop, k) > 0 && find_choice(loop, hangs, k, &choice)) {
            rebuild(builder, k, NULL, &choice);
            return true;
        }
    return false;
}

/* Of all that hang on the total by one operand alone, which one it is. */
static void note_sides(struct vector_builder *builder, int total)
{
    struct vector_loop *loop = builder->loop;
    const bool *hangs = find_hanging(builder, total);
    for (int k = total + 1; k < loop->values.count; k++) {
        struct vector_value *value = &loop->values.items[k];
        bool is_float = value->dtype == AKG_FLOAT32 || value->dtype == AKG_FLOAT64;
        if (is_float && is_choice(value, value) && hangs[value->operands[0]] != hangs[value->operands[1]])
            value->bits = hangs[value->operands[0]] ? 1 : 2;
    }
}

/* ---- all ------------------------------------------------------------------------------------------------
 */

static int find(const struct vector_loop *loop, enum vector_kind kind, int slot)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == kind && loop->values.items[k].slot == slot)
            return k;
    return NONE;
}

static void shorten_sums(struct vector_builder *builder, int slot)
{
    struct vector_loop *loop = builder->loop;
    akg_dtype dtype = loop->accumulators.items[slot].dtype;
    struct chain chain = {.total = find(loop, VECTOR_TOTAL, slot)};
    int set = find(loop, VECTOR_SET, slot);
    if ((dtype != AKG_FLOAT32 && dtype != AKG_FLOAT64) || chain.total == NONE || set == NONE)
        return;
    if (find_chain(builder, &chain, loop->values.items[set].operands[0]) && chain.count &&
        may_shorten(loop, &chain))
        rebuild(builder, chain.steps[chain.count - 1], &chain, NULL);
}

void vector_shorten(struct vector_builder *builder)
{
    enum { TURNS = 8 };
    struct vector_loop *loop = builder->loop;
    for (int slot = 0; slot < loop->accumulators.count && !builder->refused; slot++) {
        for (int turn = 0; turn < TURNS && !builder->refused; turn++) {
            int total = find(loop, VECTOR_TOTAL, slot);
            if (total == NONE || !turn_one(builder, total))
                break;
        }
        if (!builder->options->strict && !builder->refused)
            shorten_sums(builder, slot);
    }
    for (int slot = 0; slot < loop->accumulators.count && !builder->options->strict; slot++) {
        int total = find(loop, VECTOR_TOTAL, slot);
        if (total != NONE && !builder->refused)
            note_sides(builder, total);
    }
}
