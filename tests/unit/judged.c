/* judged.c: see judged.h. */
#include "judged.h"

#include "check.h"

#include <stdio.h>

static bool is_alike(const struct dependence *a, const struct dependence *b)
{
    return a->source == b->source && a->sink == b->sink && a->kind == b->kind && a->depth == b->depth &&
           a->level == b->level && a->reduction == b->reduction;
}

/* Whether each dependence of the first has one like it in the second. */
static bool is_covered(const struct dependences *these, const struct dependences *those)
{
    for (int k = 0; k < these->items.count; k++) {
        bool found = false;
        for (int j = 0; j < those->items.count && !found; j++)
            found = is_alike(&these->items.items[k], &those->items.items[j]);
        if (!found)
            return false;
    }
    return true;
}

bool is_judged_alike(struct ir_kernel *kernel, const struct dependences *analysed)
{
    const struct dependences *judged = dependence_judge(kernel, NULL);

    if (!CHECK(judged->loops.count == analysed->loops.count) || !CHECK(is_covered(analysed, judged)) ||
        !CHECK(is_covered(judged, analysed)))
        return false;
    for (int k = 0; k < judged->loops.count; k++) {
        const struct dependence_loop *a = &judged->loops.items[k], *b = &analysed->loops.items[k];
        if (!CHECK(a->stmt == b->stmt && a->verdict == b->verdict && a->accumulates == b->accumulates &&
                   a->leaves == b->leaves && a->incomplete == b->incomplete)) {
            fprintf(stderr, "loop %d: judged %d, analysed %d\n", k, a->verdict, b->verdict);
            return false;
        }
    }
    return true;
}
