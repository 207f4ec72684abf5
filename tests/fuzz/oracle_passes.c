/*
 * oracle_passes.c: see oracle_passes.h. Copies are made by printing the kernel and reading it back, so names
 * that the program gave are gone; what the passes make is compared with a copy that no pass has seen.
 */
#include "oracle_passes.h"

#include "../../jit/passes.h"
#include "random.h"

enum { ORDERS = 2, LONGEST = 12 };

/* A kernel of one's own, in the shape that oracle_run takes. */
struct copy {
    struct jit_instance instance;
    struct oracle_run run;
    jmp_buf escape;
    bool made, prepared;
};

static bool copy_make(struct copy *copy, const struct ir_kernel *kernel, const enum pass_id *order, int count,
                      struct text *detail)
{
    struct passes_options options = {.verify = true, .order = order, .order_count = count};
    struct text text;
    volatile bool good = false;

    text_init(&text);
    ir_print(&text, kernel);
    arena_init(&copy->instance.arena, &copy->escape);
    copy->made = true;
    if (!setjmp(copy->escape)) {
        copy->instance.kernel = ir_read(&copy->instance.arena, text.data, text.length, NULL);
        good = copy->instance.kernel && passes_run(copy->instance.kernel, &options, detail);
        if (good)
            sites_number(copy->instance.kernel, &copy->instance.sites);
    }
    copy->instance.arena.escape = NULL;
    text_free(&text);
    return good;
}

static bool copy_execute(struct copy *copy, const struct akg_kernel *kernel, const struct inputs *arguments)
{
    copy->prepared = oracle_run_prepare(&copy->run, &copy->instance, kernel, arguments, 0xa5);
    if (copy->prepared)
        oracle_run_execute(&copy->run);
    return copy->prepared;
}

static void copy_free(struct copy *copy)
{
    if (copy->prepared)
        oracle_run_free(&copy->run);
    if (copy->made)
        arena_free(&copy->instance.arena);
}

static bool orders_agree(const struct copy *plain, const struct ir_kernel *ir,
                         const struct akg_kernel *kernel, const struct inputs *arguments,
                         const enum pass_id *order, int count, struct text *detail)
{
    struct copy copy = {.made = false};
    bool good = copy_make(&copy, ir, order, count, detail) && copy_execute(&copy, kernel, arguments) &&
                oracle_run_same_trap(&copy.run, &plain->run) &&
                (plain->run.stopped || oracle_run_same_memory(&copy.run, &plain->run, false));

    copy_free(&copy);
    if (!good) {
        text_string(detail, " in this order:");
        for (int k = 0; k < count; k++)
            text_format(detail, " %s", passes_name(order[k]));
        text_char(detail, '\n');
    }
    return good;
}

bool oracle_passes_agree(const struct jit_instance *instance, const struct akg_kernel *kernel,
                         const struct inputs *arguments, uint64_t seed, struct text *detail)
{
    struct random random = random_seeded(seed, 9);
    struct copy plain = {.made = false};
    enum pass_id order[LONGEST] = {0};
    bool good = copy_make(&plain, instance->kernel, order, 0, detail);

    if (good && copy_execute(&plain, kernel, arguments))
        for (int round = 0; round < ORDERS && good; round++) {
            int count = 1 + random_below(&random, LONGEST);
            for (int k = 0; k < count; k++)
                order[k] = (enum pass_id)random_below(&random, PASS_COUNT);
            good = orders_agree(&plain, instance->kernel, kernel, arguments, order, count, detail);
        }
    copy_free(&plain);
    return good;
}
