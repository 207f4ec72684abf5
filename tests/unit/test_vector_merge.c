/*
 * test_vector_merge.c: loops around loops that become one row of elements, against the interpreter.
 *
 * Programs go over all elements of tensors with two to five axes, some from the second index on or up to the
 * last but one, or as far as a loop around has come, or an element says. Extents are random, 0 among them, of
 * the second tensor equal to the first one's or larger; the last one may be a number of the program; tensors
 * lie one element behind the other or with steps between them. Elements are small whole numbers, so that sums
 * are exact. Results must be the same bits.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdlib.h>

enum { ROUNDS = 500, MOST = 5, INPUTS = 4 };

static const char *const bodies[] = {
    "y[AT] = x[AT] * 2 + z[AT]",
    "y[AT] = x[AT] * z[AT] - 1",
    "y[AT] = max(x[AT], 0)",
    "y[AT] = x[AT] + v[LAST]",
    "y[AT] = x[AT] * v[LAST] + z[AT]",
    "y[AT] = x[AT] + v[FIRST]",
    "y[AT] = x[AT] + z[AT] * FIRST",
    "y[AT] = x[AT] + LAST",
    "y[AT] = x[AT] if z[AT] > 0 else v[LAST]",
    "y[AT] = y[AT] + x[AT]",
    "y[TURNED] = x[AT]",
    "y[TURNED] = x[AT] * 2 + z[AT]",
};

static uint64_t state = 47;

static int random_below(size_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % limit);
}

static bool one_in(int count)
{
    return random_below((size_t)count) == 0;
}

/* What a round is about. */
struct shape {
    int rank;
    int64_t x[MOST], z[MOST], v;
    bool annotated; /* the last extent is a number in the program */
    int turn;       /* where the first axis of x is in y, whose axes go round */
};

static struct shape random_shape(void)
{
    struct shape shape = {.rank = 2 + random_below(4), .annotated = one_in(3)};
    bool differs = one_in(3);
    for (int axis = 0; axis < shape.rank; axis++) {
        bool is_last = axis == shape.rank - 1;
        shape.x[axis] = one_in(axis < 2 ? 10 : 30) ? 0 : 1 + random_below(is_last ? 20 : 6);
        if (is_last && shape.annotated)
            shape.x[axis] = 1 + random_below(5);
        shape.z[axis] = shape.x[axis] + (differs && !(is_last && shape.annotated) && one_in(3));
    }
    shape.turn = 1 + random_below((size_t)shape.rank - 1);
    shape.v = shape.x[0] > shape.x[shape.rank - 1] ? shape.x[0] : shape.x[shape.rank - 1];
    return shape;
}

/* "i0, i1, i2", turned by so many. */
static void write_indices(char **text, int rank, int turn, const char *form)
{
    for (int axis = 0; axis < rank; axis++) {
        *text += sprintf(*text, axis ? ", " : "");
        *text += sprintf(*text, form, (axis + rank - turn) % rank);
    }
}

/* Writes the body with AT, TURNED, FIRST and LAST as they are called. */
static void write_body(char **text, const char *body, const struct shape *shape)
{
    int rank = shape->rank;
    for (; *body; body++) {
        if (strncmp(body, "AT", 2) == 0) {
            write_indices(text, rank, 0, "i%d");
            body++;
        } else if (strncmp(body, "TURNED", 6) == 0) {
            write_indices(text, rank, shape->turn, "i%d");
            body += 5;
        } else if (strncmp(body, "FIRST", 5) == 0) {
            *text += sprintf(*text, "i0");
            body += 4;
        } else if (strncmp(body, "LAST", 4) == 0) {
            *text += sprintf(*text, "i%d", rank - 1);
            body += 3;
        } else {
            *(*text)++ = *body;
        }
    }
    *text += sprintf(*text, "\n");
}

static void write_annotation(char **text, const struct shape *shape, char letter)
{
    if (!shape->annotated)
        return;
    *text += sprintf(*text, ": T[");
    for (int axis = 0; axis < shape->rank - 1; axis++)
        *text += sprintf(*text, "%c%d, ", letter, axis);
    *text += sprintf(*text, "%d]", (int)shape->x[shape->rank - 1]);
}

static void write_program(char *text, const struct shape *shape)
{
    const char *body = bodies[random_below(sizeof bodies / sizeof *bodies)];
    bool turned = strstr(body, "TURNED") != NULL;
    int depth = 1;
    text += sprintf(text, "def k(x");
    write_annotation(&text, shape, 'A');
    text += sprintf(text, ", z");
    write_annotation(&text, shape, 'B');
    text += sprintf(text, ", v, c: int64[P], m=0):\n    y = output_tensor((");
    write_indices(&text, shape->rank, turned ? shape->turn : 0, "x.shape[%d]");
    text += sprintf(text, "), x.dtype)\n    total = output_tensor((1,), x.dtype)\n"
                          "    for a in range(1):\n        total[a] = 0\n");
    for (int axis = 0; axis < shape->rank; axis++, depth++) {
        text += sprintf(text, "%*sfor i%d in range(", 4 * depth, "", axis);
        bool is_part = axis + 1 < shape->rank && one_in(8);
        int around = axis ? random_below((size_t)axis) : 0;
        if (axis && one_in(6) && shape->x[around] - 1 <= shape->x[axis]) {
            text += sprintf(text, "i%d):\n", around);
            continue;
        }
        if (axis > 1 && one_in(10)) { /* there is no such element where there is no iteration around */
            text += sprintf(text, "min(c[m], x.shape[%d])):\n", axis);
            continue;
        }
        text += sprintf(text,
                        is_part && one_in(2) ? "1, x.shape[%d]):\n"
                        : is_part            ? "x.shape[%d] - 1):\n"
                                             : "x.shape[%d]):\n",
                        axis);
    }
    text += sprintf(text, "%*s", 4 * depth, "");
    write_body(&text, body, shape);
    if (one_in(4)) {
        text += sprintf(text, "%*s", 4 * depth, "");
        write_body(&text, "total[0] += x[AT] * z[AT]", shape);
    }
    sprintf(text, "    return y, total\n");
}

static akg_tensor *fill(akg_tensor *tensor)
{
    int64_t count = akg_tensor_element_count(tensor);
    for (int64_t k = 0; k < count; k++)
        ((float *)akg_tensor_data(tensor))[k] = (float)(random_below(9) - 4);
    return tensor;
}

/* With one element of two left out along the last axis, or backwards, or as it is. */
static akg_tensor *tensor_of(int rank, const int64_t *shape)
{
    int64_t wider[MOST], strides[MOST], first[MOST] = {0}, step = 1;
    akg_tensor *base = NULL, *view = NULL;
    int kind = one_in(4) ? 1 + random_below(2) : 0;
    memcpy(wider, shape, sizeof *shape * (size_t)rank);
    if (kind == 1)
        wider[rank - 1] *= 2;
    if (akg_tensor_create(AKG_FLOAT32, rank, wider, &base) != AKG_OK)
        return NULL;
    fill(base);
    if (!kind)
        return base;
    for (int axis = rank - 1; axis >= 0; axis--) {
        strides[axis] = step;
        step *= wider[axis];
    }
    if (kind == 1)
        strides[rank - 1] = 2;
    int64_t offset = 0;
    if (kind == 2 && shape[0]) {
        first[0] = shape[0] - 1;
        offset = first[0] * strides[0];
        strides[0] = -strides[0];
    }
    CHECK(akg_tensor_view(base, rank, shape, strides, offset, &view) == AKG_OK);
    akg_tensor_release(base);
    return view;
}

static void check_round(void)
{
    char program[2000];
    struct shape shape = random_shape();
    const int64_t one = 1, first = 0;
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    akg_tensor *inputs[INPUTS] = {tensor_of(shape.rank, shape.x), tensor_of(shape.rank, shape.z),
                                  tensor_of(1, &shape.v), NULL};
    akg_tensor *expected[2] = {NULL};
    /* far beyond, where nothing asks for it */
    int64_t place = shape.x[0] == 0 || shape.x[1] == 0 ? (int64_t)1 << 40 : 0;
    if (!CHECK(akg_tensor_create(AKG_INT64, 1, &one, &inputs[3]) == AKG_OK))
        return;
    const akg_argument last = api_int(NULL, place);
    akg_tensor_set(inputs[3], &first, random_below(7));
    write_program(program, &shape);
    if (CHECK(api_run(program, &options, inputs, INPUTS, &last, expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++) {
            jit_options fast = {.target = x86_target_name((enum x86_target)target), .cache = "off"};
            akg_tensor *outputs[2] = {NULL};
            bool same = CHECK(api_run(program, &fast, inputs, INPUTS, &last, outputs));
            for (int k = 0; same && k < 2; k++)
                same = memcmp(akg_tensor_data(outputs[k]), akg_tensor_data(expected[k]),
                              sizeof(float) * (size_t)akg_tensor_element_count(expected[k])) == 0;
            if (!CHECK(same))
                fputs(program, stderr);
            for (int k = 0; k < 2; k++)
                akg_tensor_release(outputs[k]);
        }
    for (int k = 0; k < 2; k++)
        akg_tensor_release(expected[k]);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++)
        if (check_takes((size_t)round))
            check_round();
    return check_done();
}
