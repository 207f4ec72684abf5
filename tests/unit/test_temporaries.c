/*
 * test_temporaries.c: temporaries that are not there at once share memory: places never overlap, calls that
 * use fewer bytes than their temporaries have give the same bits as the interpreter, and as the functions
 * called one by one.
 */
#include "../../jit/lives.h"
#include "../../runtime/call.h"
#include "../../runtime/call_run.h"
#include "../../runtime/placement.h"
#include "api_support.h"
#include "check.h"

#include <malloc.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PROGRAMS = 10 };
#else
enum { PROGRAMS = 30 };
#endif

static uint64_t state = 7;

static int random_below(int limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((state >> 33) % (uint64_t)limit);
}

/* ---- places ------------------------------------------------------------------------------------- */

static bool overlap(const struct placed *a, const struct placed *b)
{
    bool at_once = a->first <= b->last && b->first <= a->last;

    return at_once && a->bytes && b->bytes && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

static void test_places(void)
{
    enum { MOST = 30 };

    for (int round = 0; round < 200; round++) {
        struct placed items[MOST], *alive[MOST];
        struct placement placement = {.alive = alive};
        int count = 1 + random_below(MOST), step = 0;
        size_t sum = 0;
        bool good = true;
        for (int i = 0; i < count; i++) {
            step += random_below(3);
            items[i] = (struct placed){step, step + random_below(4), (size_t)random_below(1000), 0};
            placement_add(&placement, &items[i]);
            sum += items[i].bytes;
        }
        for (int i = 0; i < count; i++) {
            good &= items[i].offset % 64 == 0 && items[i].offset + items[i].bytes <= placement.total;
            for (int k = 0; k < i; k++)
                good &= !overlap(&items[i], &items[k]);
        }
        CHECK(good && placement.total <= sum);
    }
    /* one behind the other in the same place; then more than there can be */
    struct placed a = {0, 1, 100, 0}, b = {1, 2, 100, 0}, c = {2, 3, 100, 0}, huge = {2, 3, PTRDIFF_MAX, 0};
    struct placed *alive[5];
    struct placement placement = {.alive = alive};
    placement_add(&placement, &a);
    placement_add(&placement, &b);
    placement_add(&placement, &c);
    CHECK(a.offset == 0 && b.offset == 128 && c.offset == 0 && placement.total == 256);
    placement_add(&placement, &huge);
    placement_add(&placement, &huge);
    CHECK(placement.total == PLACEMENT_MOST);
}

/* ---- calls ---------------------------------------------------------------------------------------- */

/* The bytes of all temporaries of the call, and of the block that they share: 0 where they share none. */
static void count_bytes(akg_kernel *kernel, const akg_argument *arguments, size_t count, size_t *separate,
                        size_t *block)
{
    struct call call;
    struct call_run run = {.kernel = kernel, .repeats = 1};
    akg_tensor *outputs[1] = {NULL};

    *separate = *block = 0;
    if (!CHECK(call_start(&call, kernel, arguments, count, NULL, true) == AKG_OK))
        return;
    run.instance = call.instance;
    run.messages = &call.messages;
    CHECK(call_run_prepare(&run));
    call_run_take_arguments(&run, &call.binding);
    CHECK(call_run_check_results(&run) && call_run_check_shapes(&run) && call_run_check_preconditions(&run));
    CHECK_INT(call_run_make_buffers(&run, false, outputs), AKG_OK);
    for (int i = 0; i < call.instance->kernel->buffers.count; i++) {
        const struct ir_buffer *buffer = call.instance->kernel->buffers.items[i];
        if (buffer->role == IR_TEMPORARY && run.tensors[i])
            *separate += (size_t)run.tensors[i]->element_count * (size_t)dtype_table[buffer->dtype].size;
    }
    if (run.temporaries)
        *block = run.temporaries_size;
    call_run_release(&run);
    call_end(&call.binding);
    call_finish(&call.messages, AKG_OK, NULL);
}

static void test_sizes(void)
{
    static const char text[] =
        "def deep(x):\n"
        "    a = softmax(x)\n    b = softmax(transpose(a))\n    c = softmax(transpose(b))\n"
        "    d = softmax(transpose(c))\n    e = softmax(transpose(d))\n    return e\n"
        "def wide(x):\n"
        "    a = softmax(x)\n    b = softmax(a)\n    return a + transpose(b)\n";
    akg_module *module = api_compile(text);
    akg_tensor *x = api_range(AKG_FLOAT32, 2, (const int64_t[]){40, 40}, 0, 0.01);
    akg_argument argument = api_tensor(NULL, x);
    size_t separate, block, matrix = 40 * 40 * sizeof(float);

    count_bytes(akg_module_kernel(module, "deep"), &argument, 1, &separate, &block);
    CHECK(separate >= 4 * matrix && block > 0 && 2 * block <= separate + 512); /* at most half */
    count_bytes(akg_module_kernel(module, "wide"), &argument, 1, &separate, &block);
    CHECK(block == 0 || block <= separate + 256);
    akg_tensor_release(x);
    akg_module_release(module);
}

/* ---- random graph functions --------------------------------------------------------------------------- */

/* `f` makes each of its tensors of one or two of those before, all of them square. */
static void write_program(char *text, size_t size, int statements)
{
    static const char *const unary[] = {"softmax(%s)",    "transpose(%s)",
                                        "layer_norm(%s)", "tanh(%s)",
                                        "exp(%s) * 0.1",  "%s - mean(%s, axes=(0,), keepdims=True)"};
    static const char *const binary[] = {"matmul(%s, %s) * 0.2", "%s + %s", "%s * transpose(%s)"};
    size_t length = (size_t)snprintf(text, size, "def f(v0, v1):\n");

    for (int i = 2; i < statements + 2; i++) {
        /* mostly what is near, so that lives end */
        int near = i - 1 - random_below(i < 3 ? i : 3), other = random_below(4) ? near : random_below(i);
        char a[8], b[8];
        snprintf(a, sizeof a, "v%d", near);
        snprintf(b, sizeof b, "v%d", other);
        length += (size_t)snprintf(text + length, size - length, "    v%d = ", i);
        if (random_below(3))
            length +=
                (size_t)snprintf(text + length, size - length, unary[random_below(API_COUNT(unary))], a, a);
        else
            length +=
                (size_t)snprintf(text + length, size - length, binary[random_below(API_COUNT(binary))], a, b);
        length += (size_t)snprintf(text + length, size - length, "\n");
    }
    snprintf(text + length, size - length, "    return v%d\n", statements + 1);
}

/* Call by call, as on a tape. */
static akg_tensor *call_by_call(akg_module *module, const akg_argument *arguments)
{
    akg_registry *registry = NULL;
    akg_operator *found = NULL;
    akg_tape *tape = NULL;
    akg_tensor *y = NULL;

    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    CHECK_INT(akg_registry_add_module(registry, module, NULL), AKG_OK);
    CHECK_INT(akg_tape_create(registry, &tape), AKG_OK);
    CHECK_INT(akg_registry_find(registry, "f", &found, NULL), AKG_OK);
    CHECK_INT(akg_tensor_set_requires_grad(arguments[0].as.tensor, true, NULL), AKG_OK);
    CHECK_INT(akg_call(tape, found, arguments, 2, &y, NULL), AKG_OK);
    akg_tape_release(tape);
    akg_registry_release(registry);
    return y;
}

static bool near(const akg_tensor *a, const akg_tensor *b)
{
    for (int64_t i = 0; i < akg_tensor_element_count(a); i++) {
        double one = api_element(a, i), other = api_element(b, i);
        double difference = one > other ? one - other : other - one;
        if (!(difference <= 1e-9 * (1 + (one < 0 ? -one : one))) && !(one != one && other != other) &&
            one != other)
            return false;
    }
    return true;
}

static void test_random(void)
{
    const akg_call_options interpreted = {.backend = JIT_BACKEND_INTERPRETER};
    const jit_options strict = {.strict = true};
    const int64_t shape[] = {5, 5};
    char text[4000];
    int shared = 0;

    for (int round = 0; round < PROGRAMS; round++) {
        write_program(text, sizeof text, 3 + random_below(12));
        jit_source source = {.name = "random.akg", .text = text, .length = strlen(text)};
        akg_module *module = NULL;
        akg_tensor *x[2], *y[3] = {NULL};
        size_t separate, block;
        if (!CHECK(jit_compile(&source, &strict, &module, NULL) == AKG_OK)) {
            fputs(text, stderr);
            return;
        }
        for (int i = 0; i < 2; i++)
            x[i] = api_range(AKG_FLOAT64, 2, shape, i ? -0.5 : 0.25, i ? 0.07 : -0.03);
        akg_argument arguments[] = {api_tensor(NULL, x[0]), api_tensor(NULL, x[1])};
        akg_kernel *f = akg_module_kernel(module, "f");
        CHECK_INT(akg_kernel_call(f, arguments, 2, NULL, &y[0], NULL), AKG_OK);
        CHECK_INT(akg_kernel_call(f, arguments, 2, &interpreted, &y[1], NULL), AKG_OK);
        count_bytes(f, arguments, 2, &separate, &block);
        shared += block > 0;
        y[2] = call_by_call(module, arguments);
        if (!CHECK(y[0] && y[1] && y[2] && api_same(y[0], y[1]) && near(y[0], y[2])))
            fputs(text, stderr);
        for (int i = 0; i < 3; i++)
            akg_tensor_release(y[i]);
        akg_tensor_release(x[0]);
        akg_tensor_release(x[1]);
        akg_module_release(module);
    }
    CHECK(shared >= PROGRAMS / 3);
}

/* ---- clear memory --------------------------------------------------------------------------------- */

/* What loops read of a temporary that they allocate is 0, whatever fresh memory holds. */
static void test_cleared(void)
{
    static const char text[] = "def k(p: float64[N]):\n"
                               "    y = output_tensor((), float64)\n"
                               "    for g in range(N):\n"
                               "        for i in serial(N):\n"
                               "            t = allocate((N, 1), float64)\n"
                               "            y[()] = max(y[()], t[g, 0])\n"
                               "    return y\n";
    const jit_options options = {.cache = "off", .any_shape = true};
    akg_tensor *p = api_vector(AKG_FLOAT64, 20, 3, 2), *y = NULL;

#ifdef M_PERTURB
    mallopt(M_PERTURB, 0xa5); /* which fills it with bytes of 0x5a */
#endif
    CHECK(api_run(text, &options, &p, 1, NULL, &y));
    CHECK(y && *(const double *)akg_tensor_data(y) == 0);
#ifdef M_PERTURB
    mallopt(M_PERTURB, 0);
#endif
    akg_tensor_release(y);
    akg_tensor_release(p);
}

int main(void)
{
    test_cleared();
    test_places();
    test_sizes();
    test_random();
    return check_done();
}
