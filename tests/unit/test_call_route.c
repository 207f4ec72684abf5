/*
 * test_call_route.c: calls of a form that was met before (runtime/call_route.c) against the same calls made
 * the long way, which options ask for: the same outputs, the same messages, whatever changed from one call to
 * the next. Then what a route must not take, how many are kept, and threads.
 */
#include "api_support.h"
#include "check.h"

#include "../../jit/module.h"

#include <pthread.h>
#include <stdlib.h>

static const char text[] = "def affine(x, scale=2.0, shift=1, negate=False):\n"
                           "    y = output_tensor(x.shape, x.dtype)\n"
                           "    for i in range(x.shape[0]):\n"
                           "        v = x[i] * scale + shift\n"
                           "        if negate:\n"
                           "            v = -v\n"
                           "        y[i] = v\n"
                           "    return y\n"
                           "\n"
                           "def pick(x, mode=\"sum\", window=(1, 2)):\n"
                           "    y = output_tensor((1,), x.dtype)\n"
                           "    for i in range(x.shape[0]):\n"
                           "        if mode == \"sum\":\n"
                           "            y[0] += x[i] * window[0]\n"
                           "        else:\n"
                           "            y[0] = max(y[0], x[i] * window[1])\n"
                           "    return y\n"
                           "\n"
                           "def first(x, n=2):\n"
                           "    y = output_tensor((n,), x.dtype)\n"
                           "    for i in range(n):\n"
                           "        y[i] = x[i] + n\n"
                           "    return y\n"
                           "\n"
                           "def back(x, bias=None):\n"
                           "    y = output_tensor(x.shape, x.dtype)\n"
                           "    for i in range(x.shape[0]):\n"
                           "        y[i] = x[i]\n"
                           "        if bias is not None:\n"
                           "            bias[i] = 3\n"
                           "    return bias, y\n"
                           "\n"
                           "def total(*xs):\n"
                           "    y = output_tensor(xs[0].shape, xs[0].dtype)\n"
                           "    for i in range(xs[0].shape[0]):\n"
                           "        for x in xs:\n"
                           "            y[i] += x[i]\n"
                           "    return y\n"
                           "\n"
                           "def bump(x: T[N], y: T[N]):\n"
                           "    z = output_tensor(x.shape, x.dtype)\n"
                           "    for i in range(x.shape[0]):\n"
                           "        z[i] = x[i] + y[i]\n"
                           "        x[i] += 1\n"
                           "    return x, z\n"
                           "\n"
                           "def gather(x, index: int32[N]):\n"
                           "    y = output_tensor(index.shape, x.dtype)\n"
                           "    for i in range(index.shape[0]):\n"
                           "        y[i] = x[index[i]]\n"
                           "    return y\n"
                           "\n"
                           "@broadcast\n"
                           "def multiply(a, b):\n"
                           "    y = output_tensor(a.shape, a.dtype)\n"
                           "    for p in grid(a.shape):\n"
                           "        y[p] = a[p] * b[p]\n"
                           "    return y\n"
                           "\n"
                           "def product(a, b):\n"
                           "    c = output_tensor((a.shape[0], b.shape[1]), a.dtype)\n"
                           "    for m in range(a.shape[0]):\n"
                           "        for n in range(b.shape[1]):\n"
                           "            for k in range(a.shape[1]):\n"
                           "                c[m, n] += a[m, k] * b[k, n]\n"
                           "    return c\n"
                           "\n"
                           "def square_of(a, b):\n"
                           "    c = multiply(a, b)\n"
                           "    return multiply(c, c)\n";

/* ---- calls, made of a seed --------------------------------------------------------------------------- */

enum { MOST_ARGUMENTS = 5, MOST_TENSORS = 8, OUTPUTS = 2 };

struct call {
    const char *kernel;
    akg_argument arguments[MOST_ARGUMENTS];
    size_t count;
    akg_tensor *tensors[MOST_TENSORS]; /* references */
    size_t tensor_count;
    akg_tensor *outputs[OUTPUTS];
    int64_t ints[2];
    uint64_t state;
};

static unsigned draw(struct call *call, unsigned most)
{
    call->state = call->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(call->state >> 33) % most;
}

/* A vector, or with `shape` anything, of a few dtypes; sometimes every other element of a longer one. */
static akg_tensor *draw_tensor(struct call *call, akg_dtype dtype, int rank, const int64_t *shape)
{
    int64_t longer[4] = {shape[0] * 2, rank > 1 ? shape[1] : 1, rank > 2 ? shape[2] : 1};
    int64_t strides[4] = {2, 1, 1}, stride = 1;
    akg_tensor *made = api_range(dtype, rank, rank ? longer : NULL, draw(call, 5), 1), *view = NULL;

    for (int axis = rank - 1; axis >= 0; axis--) {
        strides[axis] = stride * (axis == 0 ? 2 : 1);
        stride *= longer[axis];
    }
    if (rank == 0 || draw(call, 3)) {
        akg_tensor_release(made);
        made = api_range(dtype, rank, shape, draw(call, 5), 1);
    } else {
        CHECK_INT(akg_tensor_view(made, rank, shape, strides, 0, &view), AKG_OK);
        akg_tensor_release(made);
        made = view;
    }
    return call->tensors[call->tensor_count++] = made;
}

static akg_tensor *draw_vector(struct call *call, akg_dtype dtype, int64_t length)
{
    return draw_tensor(call, dtype, 1, &length);
}

static akg_dtype draw_dtype(struct call *call)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32};
    return dtypes[draw(call, 3)];
}

static void add(struct call *call, akg_argument argument)
{
    call->arguments[call->count++] = argument;
}

static void draw_affine(struct call *call)
{
    akg_dtype dtype = draw(call, 2) ? AKG_FLOAT32 : AKG_FLOAT64;
    bool by_name = draw(call, 2);

    call->kernel = "affine";
    add(call, api_tensor(by_name && draw(call, 2) ? "x" : NULL, draw_vector(call, dtype, draw(call, 4) + 1)));
    by_name |= call->arguments[0].name != NULL;
    if (draw(call, 2)) /* out of order, and `scale` may be left out */
        add(call, api_int("shift", draw(call, 9)));
    by_name |= call->count > 1;
    if (draw(call, 2))
        add(call, draw(call, 3) ? api_real(by_name ? "scale" : NULL, draw(call, 7) + 0.5)
                                : api_int("scale", draw(call, 5)));
    if (draw(call, 2))
        add(call, api_bool("negate", draw(call, 2)));
}

static void draw_pick(struct call *call)
{
    static const char *const modes[] = {"sum", "max", "summit"};

    call->kernel = "pick";
    add(call, api_tensor(NULL, draw_vector(call, draw_dtype(call), 3)));
    if (draw(call, 2))
        add(call, api_string("mode", modes[draw(call, 3)]));
    call->ints[0] = draw(call, 3);
    call->ints[1] = draw(call, 3);
    if (draw(call, 2))
        add(call, api_ints("window", call->ints, 2));
}

static void draw_first(struct call *call)
{
    call->kernel = "first";
    add(call, api_tensor(NULL, draw_vector(call, draw_dtype(call), 4)));
    if (draw(call, 3))
        add(call, api_int(draw(call, 2) ? "n" : NULL, draw(call, 6))); /* 5 is one too many */
}

/* `bias` may be left out, and with it an output. */
static void draw_back(struct call *call)
{
    akg_dtype dtype = draw_dtype(call);

    call->kernel = "back";
    add(call, api_tensor(NULL, draw_vector(call, dtype, 3)));
    switch (draw(call, 3)) {
    case 0:
        add(call, api_tensor("bias", draw_vector(call, dtype, 3)));
        break;
    case 1:
        add(call, api_none("bias"));
        break;
    }
}

static void draw_total(struct call *call)
{
    size_t count = draw(call, 3) + 1;
    akg_dtype dtype = draw_dtype(call);

    call->kernel = "total";
    for (size_t i = 0; i < count; i++)
        draw_vector(call, dtype, 3);
    add(call, api_tensors(NULL, call->tensors, count));
}

/* Sometimes with extents that differ, what is written handed in twice, or an output given. */
static void draw_bump(struct call *call)
{
    akg_dtype dtype = draw_dtype(call);
    akg_tensor *x = draw_vector(call, dtype, 3);

    call->kernel = "bump";
    add(call, api_tensor(NULL, x));
    add(call, api_tensor(NULL, draw(call, 6) ? draw_vector(call, dtype, draw(call, 6) ? 3 : 4) : x));
    if (draw(call, 3) == 0)
        call->outputs[1] = akg_tensor_retain(draw_vector(call, draw(call, 4) ? dtype : AKG_INT8, 3));
    if (draw(call, 3) == 0)
        call->outputs[0] = akg_tensor_retain(call->arguments[draw(call, 2)].as.tensor);
}

static void draw_gather(struct call *call)
{
    call->kernel = "gather";
    add(call, api_tensor(NULL, draw_vector(call, draw_dtype(call), draw(call, 5) + 3)));
    add(call, api_tensor(NULL, draw_vector(call, draw(call, 8) ? AKG_INT32 : AKG_INT64, 3)));
}

/* One shape, several that fit, some that do not, and numbers. */
static void draw_multiply(struct call *call)
{
    akg_dtype dtype = draw_dtype(call);
    int64_t shape[3] = {2, 3, 1 + draw(call, 2)},
            other[3] = {2, draw(call, 3) ? 3 : 1 + draw(call, 2), shape[2]};
    int rank = (int)draw(call, 4);

    call->kernel = draw(call, 2) ? "multiply" : "square_of"; /* which goes by axes of one element */
    add(call, api_tensor(NULL, draw_tensor(call, dtype, rank, shape)));
    if (draw(call, 6))
        add(call, api_tensor(NULL, draw_tensor(call, dtype, draw(call, 3) ? rank : 1, other)));
    else
        add(call, api_real(NULL, 2));
}

/* Extents of one are compiled in, of whichever axes; rows of b are too few at times. */
static void draw_product(struct call *call)
{
    akg_dtype dtype = draw_dtype(call);
    int64_t depth = 1 + draw(call, 3), a[2] = {1 + draw(call, 2), depth},
            b[2] = {draw(call, 6) ? depth : 1, 1 + draw(call, 3)};

    call->kernel = "product";
    add(call, api_tensor(NULL, draw_tensor(call, dtype, 2, a)));
    add(call, api_tensor(NULL, draw_tensor(call, dtype, 2, b)));
}

static void draw_call(struct call *call, uint64_t seed)
{
    static void (*const kinds[])(struct call * call) = {draw_affine, draw_pick,     draw_first,
                                                        draw_back,   draw_total,    draw_bump,
                                                        draw_gather, draw_multiply, draw_product};

    *call = (struct call){.state = seed * 0x9E3779B97F4A7C15u + 1};
    kinds[draw(call, API_COUNT(kinds))](call);
}

static void drop_call(struct call *call)
{
    for (size_t i = 0; i < call->tensor_count; i++)
        akg_tensor_release(call->tensors[i]);
    for (size_t i = 0; i < OUTPUTS; i++)
        akg_tensor_release(call->outputs[i]);
}

/* ---- both ways ---------------------------------------------------------------------------------------- */

static size_t route_count(const akg_kernel *kernel)
{
    size_t count = 0;

    for (const struct jit_route *route = atomic_load(&kernel->routes); route; route = route->next)
        count++;
    return count;
}

static akg_status perform(akg_module *module, struct call *call, bool routed, akg_diagnostics **diagnostics)
{
    const akg_call_options options = {.backend = JIT_BACKEND_TCC};

    return akg_kernel_call(akg_module_kernel(module, call->kernel), call->arguments, call->count,
                           routed ? NULL : &options, call->outputs, diagnostics);
}

static bool agree(const akg_tensor *a, const akg_tensor *b)
{
    return a == b || (a && b && api_same(a, b));
}

/* Whether call number `seed` comes to the same both ways: status, message, outputs, what it wrote. */
static bool compare(akg_module *module, uint64_t seed, int *refused)
{
    struct call calls[2];
    akg_diagnostics *told[2];
    akg_status statuses[2];
    bool same;

    for (int i = 0; i < 2; i++) {
        draw_call(&calls[i], seed);
        statuses[i] = perform(module, &calls[i], i == 0, &told[i]);
    }
    *refused += statuses[0] != AKG_OK;
    same = statuses[0] == statuses[1] && strcmp(api_error(told[0]), api_error(told[1])) == 0;
    for (int i = 0; i < OUTPUTS; i++)
        same = same && agree(calls[0].outputs[i], calls[1].outputs[i]);
    for (size_t i = 0; i < calls[0].tensor_count; i++)
        same = same && agree(calls[0].tensors[i], calls[1].tensors[i]) &&
               akg_tensor_version(calls[0].tensors[i]) == akg_tensor_version(calls[1].tensors[i]);
    if (!same)
        fprintf(stderr, "seed %llu: %s: %s, %s\n", (unsigned long long)seed, calls[0].kernel,
                akg_status_text(statuses[0]), akg_status_text(statuses[1]));
    for (int i = 0; i < 2; i++) {
        akg_diagnostics_free(told[i]);
        drop_call(&calls[i]);
    }
    return same;
}

/* The same calls come again and again, each between others. */
static void test_both_ways(void)
{
    enum { FORMS = 400 };
    akg_module *module = api_compile(text);
    size_t routes[2] = {0, 0};
    int refused = 0;

    for (int round = 0; round < 4; round++) {
        for (uint64_t k = 0; k < FORMS; k++)
            CHECK(compare(module, round % 2 ? FORMS - 1 - k : k * 7 % FORMS, &refused));
        for (size_t i = 0; round >= 2 && i < akg_module_kernel_count(module); i++)
            routes[round - 2] += route_count(akg_module_kernel_at(module, i));
    }
    CHECK(routes[0] > 100);
    CHECK(refused > FORMS / 4 && refused < FORMS * 2); /* of four times as many */
    CHECK_INT(routes[1], routes[0]);                   /* what was met is not put down again */
    akg_module_release(module);
}

/* A module's routes go with it, and another one's begin anew. */
static void test_life(void)
{
    for (int round = 0; round < 2; round++) {
        akg_module *module = api_compile(text);
        akg_kernel *affine = akg_module_kernel(module, "affine");
        akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *y = NULL;
        akg_argument argument = api_tensor(NULL, x);
        CHECK_INT(route_count(affine), 0);
        CHECK_INT(akg_kernel_call(affine, &argument, 1, NULL, &y, NULL), AKG_OK);
        CHECK_INT(route_count(affine), 1);
        akg_module_release(module);
        CHECK(api_element(y, 2) == 7);
        akg_tensor_release(x);
        akg_tensor_release(y);
    }
}

/* ---- what is no call of a form ------------------------------------------------------------------------- */

static void test_usage(void)
{
    akg_module *module = api_compile(text);
    akg_kernel *affine = akg_module_kernel(module, "affine");
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *y = NULL;
    akg_argument argument = api_tensor(NULL, x);
    akg_diagnostics *diagnostics = (akg_diagnostics *)&argument; /* is overwritten */

    CHECK_INT(akg_kernel_call(affine, &argument, 1, NULL, &y, &diagnostics), AKG_OK);
    CHECK(!diagnostics);
    CHECK_INT(akg_kernel_call(affine, &argument, 1, NULL, NULL, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_kernel_call(affine, NULL, 1, NULL, &y, NULL), AKG_ERROR_USAGE);
    argument.as.tensor = NULL;
    CHECK_INT(akg_kernel_call(affine, &argument, 1, NULL, &y, NULL), AKG_ERROR_USAGE);
    akg_tensor_release(y);
    y = NULL;
    argument.as.tensor = x;
    CHECK_INT(akg_kernel_call(affine, &argument, 1, NULL, &y, NULL), AKG_OK);
    akg_tensor_release(y);
    akg_tensor_release(x);
    akg_module_release(module);
}

static akg_status net_routed(akg_tape *tape, void *user, akg_tensor *const *inputs, size_t input_count,
                             akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_argument argument = api_tensor(NULL, inputs[0]);

    (void)tape, (void)input_count;
    return akg_kernel_call(user, &argument, 1, NULL, outputs, diagnostics);
}

/* A tensor of a recording only stands for one, though it looks like those that were called with. */
static void test_recording(void)
{
    akg_module *module = api_compile(text);
    akg_kernel *affine = akg_module_kernel(module, "affine");
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *y = NULL;
    akg_argument argument = api_tensor(NULL, x);
    const char *form = "float32[N]";
    akg_diagnostics *diagnostics;
    akg_registry *registry;
    akg_tape *tape;
    akg_graph *graph;

    CHECK_INT(akg_kernel_call(affine, &argument, 1, NULL, &y, NULL), AKG_OK);
    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    CHECK_INT(akg_tape_create(registry, &tape), AKG_OK);
    CHECK_INT(akg_graph_record(tape, net_routed, affine, &form, 1, 1, &graph, &diagnostics), AKG_ERROR_CALL);
    CHECK_STRING(api_error(diagnostics), "graph-stand-in");
    akg_diagnostics_free(diagnostics);
    akg_tape_release(tape);
    akg_registry_release(registry);
    akg_tensor_release(y);
    akg_tensor_release(x);
    akg_module_release(module);
}

/* More forms than are kept: the others are called all the same. */
static void test_many_forms(void)
{
    akg_module *module = api_compile(text);
    akg_kernel *multiply = akg_module_kernel(module, "multiply");
    const int64_t shape[AKG_MAX_RANK] = {1, 2, 1, 1, 1, 1, 1, 1, 1};
    size_t routes[2];

    for (int round = 0; round < 2; round++) {
        for (int form = 0; form < 80; form++) {
            akg_tensor *x = api_range(AKG_INT8 + form % 8, form / 8, shape, 3, 1), *y = NULL;
            akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, x)};
            CHECK_INT(akg_kernel_call(multiply, arguments, 2, NULL, &y, NULL), AKG_OK);
            CHECK(y && api_element(y, akg_tensor_element_count(y) - 1) == (form / 8 > 1 ? 16 : 9));
            akg_tensor_release(y);
            akg_tensor_release(x);
        }
        routes[round] = route_count(multiply);
    }
    CHECK(routes[0] >= 32 && routes[0] < 80);
    CHECK_INT(routes[1], routes[0]);
    akg_module_release(module);
}

/* ---- threads ------------------------------------------------------------------------------------------ */

struct worker {
    pthread_t thread;
    akg_module *module;
    int number, failures;
};

/* All threads meet the same forms, each in another order. */
static void *call_all(void *context)
{
    enum { FORMS = 24 };
    struct worker *worker = context;

    for (int round = 0; round < 6; round++)
        for (int k = 0; k < FORMS; k++) {
            int form = (k * 5 + worker->number * 7) % FORMS, length = form % 3 + 1;
            akg_tensor *x = api_vector(form % 2 ? AKG_FLOAT32 : AKG_FLOAT64, length, 1, 1), *y = NULL;
            akg_argument arguments[] = {api_tensor(NULL, x), api_int("shift", form)};
            akg_status status = akg_kernel_call(akg_module_kernel(worker->module, "affine"), arguments,
                                                form / 6 % 2 + 1, NULL, &y, NULL);
            double shift = form / 6 % 2 ? form : 1;
            worker->failures += status != AKG_OK || api_element(y, length - 1) != 2.0 * length + shift;
            akg_tensor_release(y);
            akg_tensor_release(x);
        }
    return NULL;
}

static void test_threads(void)
{
    enum { THREADS = 6 };
    struct worker workers[THREADS];
    akg_module *module = api_compile(text);

    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.module = module, .number = i};
        if (!CHECK(pthread_create(&workers[i].thread, NULL, call_all, &workers[i]) == 0))
            exit(1);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK_INT(workers[i].failures, 0);
    }
    akg_module_release(module);
}

int main(void)
{
    test_both_ways();
    test_life();
    test_usage();
    test_recording();
    test_many_forms();
    test_threads();
    return check_done();
}
