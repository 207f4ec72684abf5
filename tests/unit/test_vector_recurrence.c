/*
 * test_vector_recurrence.c: random recurrences by code that is not strict, against the same in float64.
 *
 * Each kernel hands a scalar on through a chain of sums, differences, negations, least and greatest values,
 * and products and quotients by numbers and by elements: the order of what is added may change there
 * (vector_recurrence.c). The test computes the chain itself, and beside it how far rounding may take a
 * result: with each operation a unit of the magnitudes of all terms so far. Strict code is the interpreter's,
 * to the bit.
 *
 * Arguments: first seed and number of kernels (default 1 and 300).
 */
#include "check.h"
#include "jit_pair.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { STEPS = 8, ELEMENTS = 60 };

struct step {
    char operation; /* + - * / and ~: negation, m M: the least, the greatest */
    bool turned;    /* what is handed on is the second operand */
    int element;    /* which of the inputs; -1: the number */
    double number;
};

struct chain {
    struct step steps[STEPS];
    int count, inputs;
    bool wide; /* float64, else float32 */
};

static uint64_t state;

static unsigned draw(unsigned count)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % count;
}

static struct chain draw_chain(void)
{
    static const double numbers[] = {0.5, 0.25, 0.9, -0.7, 3, -2, 1.5, 1, 9};
    struct chain chain = {.count = 1 + (int)draw(STEPS), .inputs = 0, .wide = draw(2)};
    for (int k = 0; k < chain.count; k++) {
        struct step *step = &chain.steps[k];
        step->operation = "+++--**/~mMM"[draw(12)];
        step->turned = step->operation != '/' && draw(3) == 0;
        step->element = draw(4) || step->operation == '/' ? -1 : chain.inputs++;
        if (strchr("+-mM", step->operation))
            step->element = draw(6) ? chain.inputs++ : -1;
        step->number = numbers[draw(sizeof numbers / sizeof *numbers)];
    }
    chain.inputs += chain.inputs == 0;
    return chain;
}

static void print_step(struct text *text, const struct step *step, const char *dtype)
{
    char term[40] = "";
    const char *before = step->turned ? term : "s", *behind = step->turned ? "s" : term;
    if (step->element >= 0)
        snprintf(term, sizeof term, "x%d[i]", step->element);
    else
        snprintf(term, sizeof term, "%.17g%s:%s", step->number,
                 step->number == floor(step->number) ? ".0" : "", dtype);
    if (step->operation == '~')
        text_format(text, "      s = neg(s)\n");
    else if (step->operation == 'm' || step->operation == 'M')
        text_format(text, "      s = %s(%s, %s)\n", step->operation == 'm' ? "min" : "max", before, behind);
    else
        text_format(text, "      s = (%s %c %s)\n", before, step->operation, behind);
}

static void print_kernel(struct text *text, const struct chain *chain)
{
    const char *dtype = chain->wide ? "float64" : "float32";
    text_format(text, "kernel chained {\n");
    for (int k = 0; k < chain->inputs; k++)
        text_format(text, "  input x%d: %s[N]\n", k, dtype);
    text_format(text, "  output y: %s[N]\n  results y\n  body {\n    var s: %s = 1.0:%s\n", dtype, dtype,
                dtype);
    text_format(text, "    for i = 0 to N step 1 {\n");
    for (int k = 0; k < chain->count; k++)
        print_step(text, &chain->steps[k], dtype);
    text_format(text, "      y[i] = s\n    }\n  }\n}\n");
}

/* ---- what comes out ------------------------------------------------------------------------------ */

/* A value, the magnitudes of all that it is the sum of, and how far it may be off. */
struct value {
    double exact, magnitude, error;
};

static void take_step(struct value *value, const struct step *step, double other, double unit)
{
    double size = fabs(other);
    switch (step->operation) {
    case '+':
    case '-':
        value->exact = step->turned && step->operation == '-' ? other - value->exact
                       : step->operation == '-'               ? value->exact - other
                                                              : value->exact + other;
        value->magnitude += size;
        break;
    case '*':
    case '/':
        size = step->operation == '*' ? size : 1 / size;
        value->exact = step->operation == '*' ? value->exact * other : value->exact / other;
        value->magnitude *= size;
        value->error *= size;
        break;
    case 'm':
    case 'M':
        value->exact = step->operation == 'm' ? fmin(value->exact, other) : fmax(value->exact, other);
        value->magnitude = fmax(value->magnitude, size);
        break;
    default:
        value->exact = -value->exact;
    }
    value->error += unit * value->magnitude;
}

static double number_at(const struct jit_pair *pair, int side, int buffer, int place, bool wide)
{
    const char *data = pair_data(pair, side, buffer);
    return wide ? ((const double *)data)[place] : (double)((const float *)data)[place];
}

static void check_results(const struct jit_pair *pair, const struct chain *chain, unsigned seed)
{
    double unit = chain->wide ? DBL_EPSILON : FLT_EPSILON;
    struct value value = {1, 1, 0};
    for (int i = 0; i < ELEMENTS; i++) {
        for (int k = 0; k < chain->count; k++) {
            const struct step *step = &chain->steps[k];
            double number = chain->wide ? step->number : (double)(float)step->number;
            take_step(&value, step,
                      step->element >= 0 ? number_at(pair, 0, step->element, i, chain->wide) : number, unit);
        }
        double result = number_at(pair, 0, chain->inputs, i, chain->wide);
        double error = fabs(result - value.exact),
               reference = chain->wide ? DBL_EPSILON * value.magnitude : 0;
        if (value.magnitude > 1e30 || value.magnitude < 1e-25)
            return; /* beyond, or below, what the dtype keeps exactly */
        if (!(error <= value.error + reference)) {
            CHECK(!"a result is farther off than rounding takes it");
            fprintf(stderr, "seed %u, element %d: %.17g, not %.17g\n%s", seed, i, result, value.exact,
                    pair->text.data);
            return;
        }
    }
    CHECK(true);
}

/* ---- all -------------------------------------------------------------------------------------------- */

static void fill(struct jit_pair *pair, const struct chain *chain)
{
    for (int k = 0; k < chain->inputs; k++)
        for (int i = 0; i < ELEMENTS; i++) {
            double number = ((int)draw(4001) - 2000) / 1000.0;
            pair_set(pair, k, i, dtype_from_double(chain->wide ? AKG_FLOAT64 : AKG_FLOAT32, number));
        }
}

/* Whether the two sides differ: then the order was another one. */
static bool differs(const struct jit_pair *pair, const struct chain *chain)
{
    for (int i = 0; i < ELEMENTS; i++)
        if (number_at(pair, 0, chain->inputs, i, chain->wide) !=
            number_at(pair, 1, chain->inputs, i, chain->wide))
            return true;
    return false;
}

static bool run(const struct chain *chain, unsigned seed, bool strict)
{
    struct jit_pair pair;
    struct text text;
    bool other = false;
    int status;
    pair_init(&pair);
    text_init(&text);
    print_kernel(&text, chain);
    pair.vectors.strict = strict;
    if (CHECK(pair_read(&pair, text.data))) {
        pair.dims[0] = ELEMENTS;
        if (CHECK(pair_compile(&pair, false)) && CHECK(pair_allocate(&pair))) {
            fill(&pair, chain);
            if (strict) {
                CHECK(pair_run(&pair, &status));
            } else {
                CHECK_INT(pair_run_side(&pair, 0), 0);
                CHECK_INT(pair_run_side(&pair, 1), 0);
                check_results(&pair, chain, seed);
                other = differs(&pair, chain);
            }
        }
    }
    pair_free(&pair);
    text_free(&text);
    return other;
}

int main(int argc, char **argv)
{
    unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 1, count = argc > 2 ? (unsigned)atoi(argv[2]) : 300;
    unsigned others = 0;
    for (unsigned seed = first; seed < first + count; seed++) {
        state = seed * 977;
        struct chain chain = draw_chain();
        run(&chain, seed, true);
        others += run(&chain, seed, false);
    }
    CHECK(count < 100 || x86_cpu_target() == X86_TARGET_NONE || others > count / 6);
    return check_done();
}
