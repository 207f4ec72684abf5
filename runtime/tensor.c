/*
 * tensor.c: strided views of typed memory: making them, sharing them, copying them.
 *
 * Consumes shapes and strides from outside, which are checked here and nowhere
 * later: every tensor that exists has extents and offsets that int64_t and
 * ptrdiff_t can hold, so loops over it need no overflow checks.
 */
#include "tensor.h"

#include "../base/memory.h"
#include "autograd.h"
#include "gpu.h"
#include "recording.h"

#include <string.h>

#define TENSOR_ALIGNMENT 64
#define SMALL_DATA 1024
#define PAGE 4096

#if defined(__SANITIZE_ADDRESS__)
#define TENSOR_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENSOR_POISON 1
#endif
#endif
#ifdef TENSOR_POISON
#include <sanitizer/asan_interface.h>
#endif

/* ---- sizes --------------------------------------------------------------- */

bool tensor_size_is_valid(akg_dtype dtype, int rank, const int64_t *shape, int64_t *element_count)
{
    if ((unsigned)dtype >= AKG_DTYPE_COUNT || rank < 0 || rank > AKG_MAX_RANK || (rank > 0 && !shape))
        return false;
    int64_t bytes = dtype_table[dtype].size, count = 1;
    for (int axis = 0; axis < rank; axis++) {
        int64_t dim = shape[axis];
        if (dim < 0 || dim > TENSOR_MAX_EXTENT || __builtin_mul_overflow(bytes, dim ? dim : 1, &bytes))
            return false;
        count *= dim;
    }
    *element_count = count;
    return bytes <= PTRDIFF_MAX;
}

bool tensor_extent(akg_dtype dtype, int rank, const int64_t *shape, const int64_t *strides, int64_t *lowest,
                   int64_t *highest)
{
    *lowest = 0;
    *highest = -1;
    for (int axis = 0; axis < rank; axis++)
        if (shape[axis] == 0)
            return true;
    int64_t low = 0, high = 0, reach, bytes;
    for (int axis = 0; axis < rank; axis++) {
        if (__builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach))
            return false;
        int64_t *end = reach < 0 ? &low : &high;
        if (__builtin_add_overflow(*end, reach, end))
            return false;
    }
    int64_t size = dtype_table[dtype].size;
    if (__builtin_mul_overflow(low, size, &bytes) || bytes < -PTRDIFF_MAX ||
        __builtin_mul_overflow(high, size, &bytes) || bytes > PTRDIFF_MAX - size)
        return false;
    *lowest = low;
    *highest = high;
    return true;
}

static void strides_of_contiguous(int rank, const int64_t *shape, int64_t *strides)
{
    int64_t stride = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
        strides[axis] = stride;
        stride *= shape[axis] ? shape[axis] : 1;
    }
}

static bool strides_are_contiguous(int rank, const int64_t *shape, const int64_t *strides)
{
    int64_t stride = 1;
    bool contiguous = true;
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (shape[axis] == 0)
            return true;
        if (shape[axis] != 1 && strides[axis] != stride)
            contiguous = false;
        stride *= shape[axis];
    }
    return contiguous;
}

bool tensor_order(const akg_tensor *tensor, unsigned char *order)
{
    const int64_t *shape = tensor_shape(tensor), *strides = tensor_strides(tensor);
    int repeated = 0, rank = tensor->rank;
    int64_t stride = 1;

    for (int axis = 0; axis < rank; axis++)
        if (shape[axis] == 1 || strides[axis] == 0)
            order[repeated++] = (unsigned char)(axis | IR_AXIS_REPEATED);
    for (int axis = 0, count = repeated; axis < rank; axis++) { /* by strides, the largest first */
        int at = count;
        if (shape[axis] == 1 || strides[axis] == 0)
            continue;
        for (; at > repeated && strides[order[at - 1]] < strides[axis]; at--)
            order[at] = order[at - 1];
        order[at] = (unsigned char)axis;
        count++;
    }
    for (int at = rank - 1; at >= repeated; at--) {
        if (strides[order[at]] != stride)
            return false;
        stride *= shape[order[at]];
    }
    return true;
}

/* ---- making -------------------------------------------------------------- */

static size_t description_size(int rank)
{
    return sizeof(akg_tensor) + 2 * (size_t)rank * sizeof(int64_t);
}

/* All but extents and strides. */
static inline void describe_form(akg_tensor *tensor, akg_dtype dtype, int rank, int64_t element_count)
{
    atomic_init(&tensor->references, 1);
    atomic_init(&tensor->holds, 1);
    atomic_init(&tensor->version, 0);
    tensor->node = NULL;
    tensor->output = 0;
    tensor->recording = NULL;
    tensor->recorded = 0;
    tensor->nowhere = false;
    tensor->owns_memory = false;
    tensor->device = NULL;
    tensor->dtype = dtype;
    tensor->rank = rank;
    tensor->element_count = element_count;
    tensor->base = NULL;
    tensor->release = NULL;
    tensor->owner = NULL;
}

/* strides NULL: contiguous. */
static void describe(akg_tensor *tensor, akg_dtype dtype, int rank, const int64_t *shape,
                     const int64_t *strides, int64_t element_count)
{
    describe_form(tensor, dtype, rank, element_count);
    for (int axis = 0; axis < rank; axis++)
        tensor->dims[axis] = shape[axis];
    if (strides) {
        for (int axis = 0; axis < rank; axis++)
            tensor->dims[rank + axis] = strides[axis];
        tensor->contiguous = strides_are_contiguous(rank, shape, strides);
    } else {
        strides_of_contiguous(rank, shape, tensor->dims + rank);
        tensor->contiguous = true;
    }
}

/*
 * A block with room for `head` bytes and then `bytes` aligned ones, which begin `place` bytes into a page;
 * -1: anywhere. Asking malloc for a little more and aligning here is three to five times faster than an
 * aligned allocation. The address sanitizer is told of the slack, or it would not see a kernel write there.
 */
static void *allocate_block(size_t head, size_t bytes, bool zeroed, int place, void **data)
{
    size_t slack = place < 0 ? TENSOR_ALIGNMENT - 1 : PAGE - 1, total = head + slack + bytes;
    char *block = zeroed ? memory_zeroed(1, total) : memory_allocate(total);
    if (!block)
        return NULL;
    size_t gap = ((place < 0 ? 0 : (uintptr_t)place) - (uintptr_t)(block + head)) & slack;
    *data = block + head + gap;
#ifdef TENSOR_POISON
    ASAN_POISON_MEMORY_REGION(block + head, gap);
    ASAN_POISON_MEMORY_REGION(block + head + gap + bytes, slack - gap);
#endif
    return block;
}

/* How good it is to begin so many bytes further on in a page than what is loaded from. Loads run ahead of
 * stores: those that come upon places where stores are still waited for are held up. If loads are just past
 * them, they are not. */
static int room_between(uintptr_t ahead)
{
    return (int)(ahead < PAGE - ahead ? ahead : 3 * (PAGE - ahead));
}

/* The place in a page to begin at, by where the others do. */
static int best_place(const void *const *others, size_t count)
{
    enum { STEP = PAGE / 8 };
    int best = -1, most = -1;
    for (int place = 0; place < PAGE; place += STEP) {
        int least = PAGE;
        for (size_t k = 0; k < count; k++) {
            int room = room_between(((uintptr_t)place - (uintptr_t)others[k]) & (PAGE - 1));
            least = room < least ? room : least;
        }
        if (least > most) {
            best = place;
            most = least;
        }
    }
    return best;
}

static akg_status allocate_at(akg_dtype dtype, int rank, const int64_t *shape, bool zeroed,
                              const void *const *others, size_t count, akg_tensor **tensor)
{
    int64_t element_count;
    if (!tensor)
        return AKG_ERROR_USAGE;
    *tensor = NULL;
    if (!tensor_size_is_valid(dtype, rank, shape, &element_count))
        return AKG_ERROR_USAGE;
    size_t bytes = (size_t)element_count * (size_t)dtype_table[dtype].size;
    bool clear = zeroed && bytes <= SMALL_DATA; /* by us: the description needs no zeros */
    bool is_apart = count > 0 && bytes >= PAGE;
    int place = is_apart ? best_place(others, count) : -1;
    void *data;
    akg_tensor *made = allocate_block(description_size(rank), bytes, zeroed && !clear, place, &data);
    if (!made)
        return AKG_ERROR_MEMORY;
    describe(made, dtype, rank, shape, NULL, element_count);
    made->data = data;
    made->owns_memory = true;
    if (clear)
        memset(data, 0, bytes);
    *tensor = made;
    return AKG_OK;
}

akg_status tensor_allocate(akg_dtype dtype, int rank, const int64_t *shape, bool zeroed, akg_tensor **tensor)
{
    return allocate_at(dtype, rank, shape, zeroed, NULL, 0, tensor);
}

akg_status tensor_allocate_apart(akg_dtype dtype, int rank, const int64_t *shape, const void *const *others,
                                 size_t count, akg_tensor **tensor)
{
    return allocate_at(dtype, rank, shape, false, others, count, tensor);
}

akg_status tensor_describe(akg_dtype dtype, int rank, const int64_t *shape, const int64_t *strides,
                           void *data, akg_tensor **tensor)
{
    int64_t element_count = 1;

    *tensor = memory_allocate(description_size(rank));
    if (!*tensor)
        return AKG_ERROR_MEMORY;
    for (int axis = 0; axis < rank; axis++)
        element_count *= shape[axis];
    describe(*tensor, dtype, rank, shape, strides, element_count);
    (*tensor)->data = data;
    return AKG_OK;
}

akg_status akg_tensor_create(akg_dtype dtype, int rank, const int64_t *shape, akg_tensor **tensor)
{
    return tensor_allocate(dtype, rank, shape, true, tensor);
}

/* Whether the elements from lowest to highest around `data` have addresses. */
static bool addresses_exist(const void *data, size_t size, int64_t lowest, int64_t highest)
{
    uintptr_t address = (uintptr_t)data, below = (uintptr_t)-lowest * size;
    uintptr_t above = ((uintptr_t)highest + 1) * size;
    return address >= below && above <= UINTPTR_MAX - address;
}

akg_status akg_tensor_from_memory(void *data, akg_dtype dtype, int rank, const int64_t *shape,
                                  const int64_t *strides, void (*release)(void *owner), void *owner,
                                  akg_tensor **tensor)
{
    int64_t element_count, lowest, highest;
    if (!tensor)
        return AKG_ERROR_USAGE;
    *tensor = NULL;
    if (!tensor_size_is_valid(dtype, rank, shape, &element_count) || (!data && element_count > 0))
        return AKG_ERROR_USAGE;
    size_t size = (size_t)dtype_table[dtype].size;
    if ((uintptr_t)data % size != 0)
        return AKG_ERROR_USAGE;
    int64_t dense[AKG_MAX_RANK];
    if (!strides) {
        strides_of_contiguous(rank, shape, dense);
        strides = dense;
    }
    if (!tensor_extent(dtype, rank, shape, strides, &lowest, &highest) ||
        (element_count > 0 && !addresses_exist(data, size, lowest, highest)))
        return AKG_ERROR_USAGE;
    akg_tensor *made = memory_allocate(description_size(rank));
    if (!made)
        return AKG_ERROR_MEMORY;
    describe(made, dtype, rank, shape, strides, element_count);
    made->data = data;
    made->release = release;
    made->owner = owner;
    *tensor = made;
    return AKG_OK;
}

/* Whether elements lowest..highest, `offset` after base's first one, lie in base's extent. */
static bool view_is_inside(const akg_tensor *base, int64_t lowest, int64_t highest, int64_t offset)
{
    int64_t base_lowest, base_highest;
    tensor_extent(base->dtype, base->rank, tensor_shape(base), tensor_strides(base), &base_lowest,
                  &base_highest);
    return !__builtin_add_overflow(lowest, offset, &lowest) &&
           !__builtin_add_overflow(highest, offset, &highest) && lowest >= base_lowest &&
           highest <= base_highest;
}

akg_status akg_tensor_view(akg_tensor *base, int rank, const int64_t *shape, const int64_t *strides,
                           int64_t offset, akg_tensor **view)
{
    int64_t element_count, lowest, highest;
    if (!view)
        return AKG_ERROR_USAGE;
    *view = NULL;
    if (!base || !tensor_size_is_valid(base->dtype, rank, shape, &element_count))
        return AKG_ERROR_USAGE;
    int64_t dense[AKG_MAX_RANK];
    if (!strides) {
        strides_of_contiguous(rank, shape, dense);
        strides = dense;
    }
    if (!tensor_extent(base->dtype, rank, shape, strides, &lowest, &highest) ||
        (element_count > 0 && !view_is_inside(base, lowest, highest, offset)))
        return AKG_ERROR_USAGE;
    akg_tensor *made = memory_allocate(description_size(rank));
    if (!made)
        return AKG_ERROR_MEMORY;
    describe(made, base->dtype, rank, shape, strides, element_count);
    /* A view without elements may start anywhere, so it gets an address that surely exists. */
    made->data = element_count > 0 ? (char *)base->data + offset * dtype_table[base->dtype].size : base->data;
    made->device = base->device;
    made->base = base->base ? base->base : base;
    tensor_hold(made->base);
    tensor_stand_for(made, base);
    made->recorded = -1;
    *view = made;
    return AKG_OK;
}

akg_status tensor_alias(akg_tensor *source, akg_tensor **alias)
{
    akg_tensor *made = memory_allocate(description_size(source->rank));

    *alias = made;
    if (!made)
        return AKG_ERROR_MEMORY;
    describe_form(made, source->dtype, source->rank, source->element_count);
    memcpy(made->dims, source->dims, 2 * (size_t)source->rank * sizeof(int64_t));
    made->contiguous = source->contiguous;
    made->data = source->data;
    made->device = source->device;
    made->base = source->base ? source->base : source;
    tensor_hold(made->base);
    tensor_stand_for(made, source);
    return AKG_OK;
}

/* ---- sharing --------------------------------------------------------------- */

akg_tensor *akg_tensor_retain(akg_tensor *tensor)
{
    if (tensor)
        atomic_fetch_add_explicit(&tensor->references, 1, memory_order_relaxed);
    return tensor;
}

void akg_tensor_release(akg_tensor *tensor)
{
    if (!tensor || !tensor_count_goes(&tensor->references))
        return;
    if (tensor->node)
        autograd_node_release(tensor->node);
    tensor->node = NULL;
    tensor_drop(tensor);
}

void tensor_hold(akg_tensor *tensor)
{
    atomic_fetch_add_explicit(&tensor->holds, 1, memory_order_relaxed);
}

void tensor_drop(akg_tensor *tensor)
{
    while (tensor && tensor_count_goes(&tensor->holds)) {
        akg_tensor *base = tensor->base;
        if (tensor->release)
            tensor->release(tensor->owner);
        if (tensor->recording)
            recording_release(tensor->recording);
        memory_free(tensor);
        tensor = base;
    }
}

bool tensor_is_exclusive(const akg_tensor *tensor)
{
    return tensor->owns_memory && atomic_load_explicit(&tensor->references, memory_order_acquire) == 1 &&
           atomic_load_explicit(&tensor->holds, memory_order_acquire) == 1;
}

/* ---- recordings ------------------------------------------------------------ */

void tensor_stand_for(akg_tensor *tensor, const akg_tensor *other)
{
    tensor->recording = other->recording ? recording_retain(other->recording) : NULL;
    tensor->recorded = other->recorded;
    tensor->nowhere = other->nowhere;
}

void tensor_break_recording(const akg_tensor *tensor)
{
    recording_break(tensor->recording, "elements of a tensor were asked for, or written by no call");
}

/* ---- asking ---------------------------------------------------------------- */

akg_dtype akg_tensor_dtype(const akg_tensor *tensor)
{
    return tensor ? tensor->dtype : AKG_DTYPE_COUNT;
}

int akg_tensor_rank(const akg_tensor *tensor)
{
    return tensor ? tensor->rank : 0;
}

const int64_t *akg_tensor_shape(const akg_tensor *tensor)
{
    return tensor ? tensor_shape(tensor) : NULL;
}

const int64_t *akg_tensor_strides(const akg_tensor *tensor)
{
    return tensor ? tensor_strides(tensor) : NULL;
}

int64_t akg_tensor_element_count(const akg_tensor *tensor)
{
    return tensor ? tensor->element_count : 0;
}

bool akg_tensor_is_contiguous(const akg_tensor *tensor)
{
    return tensor && tensor->contiguous;
}

void *akg_tensor_data(const akg_tensor *tensor)
{
    if (tensor)
        tensor_touch(tensor);
    return tensor ? tensor->data : NULL;
}

static char *element_address(const akg_tensor *tensor, const int64_t *index)
{
    int64_t offset = 0;
    for (int axis = 0; axis < tensor->rank; axis++)
        offset += index[axis] * tensor->dims[tensor->rank + axis];
    return (char *)tensor->data + offset * dtype_table[tensor->dtype].size;
}

double akg_tensor_get(const akg_tensor *tensor, const int64_t *index)
{
    uint64_t bits = 0;
    if (!tensor || (!index && tensor->rank > 0))
        return 0;
    tensor_touch(tensor);
    const void *element = element_address(tensor, index);
    if (tensor->device) {
        tensor_fetch(tensor, element, &bits);
        element = &bits;
    }
    return dtype_to_double(tensor->dtype, dtype_load(tensor->dtype, element));
}

void akg_tensor_set(const akg_tensor *tensor, const int64_t *index, double value)
{
    uint64_t bits = 0;
    if (!tensor || (!index && tensor->rank > 0))
        return;
    tensor_touch(tensor);
    void *element = element_address(tensor, index);
    dtype_store(tensor->dtype, tensor->device ? &bits : element, dtype_from_double(tensor->dtype, value));
    if (tensor->device)
        tensor_store(tensor, element, &bits);
    tensor_mark_written(tensor);
}

/* ---- walking and copying ----------------------------------------------------- */

bool tensor_rows_begin(struct tensor_rows *rows, const akg_tensor *tensor)
{
    ptrdiff_t size = dtype_table[tensor->dtype].size;
    rows->tensor = tensor;
    rows->row = tensor->data;
    if (tensor->contiguous) {
        rows->length = tensor->element_count;
        rows->stride = size;
    } else {
        int last = tensor->rank - 1;
        rows->length = tensor->dims[last];
        rows->stride = tensor_strides(tensor)[last] * size;
        memset(rows->index, 0, sizeof rows->index);
    }
    return tensor->element_count > 0;
}

bool tensor_rows_next(struct tensor_rows *rows)
{
    const akg_tensor *tensor = rows->tensor;
    if (tensor->contiguous)
        return false;
    ptrdiff_t size = dtype_table[tensor->dtype].size;
    for (int axis = tensor->rank - 2; axis >= 0; axis--) {
        ptrdiff_t step = tensor_strides(tensor)[axis] * size;
        if (++rows->index[axis] < tensor->dims[axis]) {
            rows->row += step;
            return true;
        }
        rows->row -= step * (tensor->dims[axis] - 1);
        rows->index[axis] = 0;
    }
    return false;
}

/* elements of any type, taken as bits */
typedef uint16_t word16 __attribute__((may_alias));
typedef uint32_t word32 __attribute__((may_alias));
typedef uint64_t word64 __attribute__((may_alias));

#define COPY_ROW(type)                                                                                       \
    for (int64_t i = 0; i < length; i++)                                                                     \
    ((type *)to)[i] = *(const type *)(from + i * stride)

static void copy_row(char *to, const char *from, int64_t length, ptrdiff_t stride, int size)
{
    if (stride == size) {
        memcpy(to, from, (size_t)(length * size));
        return;
    }
    switch (size) {
    case 1:
        COPY_ROW(uint8_t);
        break;
    case 2:
        COPY_ROW(word16);
        break;
    case 4:
        COPY_ROW(word32);
        break;
    default:
        COPY_ROW(word64);
    }
}

akg_status akg_tensor_copy(const akg_tensor *source, akg_tensor **copy)
{
    if (!copy)
        return AKG_ERROR_USAGE;
    *copy = NULL;
    if (!source)
        return AKG_ERROR_USAGE;
    tensor_touch(source);
    if (source->device)
        return tensor_copy_to(source, source->device, copy, &(struct gpu_failure){0});
    akg_status status = tensor_allocate(source->dtype, source->rank, tensor_shape(source), false, copy);
    if (status != AKG_OK)
        return status;
    int size = dtype_table[source->dtype].size;
    char *to = (*copy)->data;
    struct tensor_rows rows;
    for (bool more = tensor_rows_begin(&rows, source); more; more = tensor_rows_next(&rows)) {
        copy_row(to, rows.row, rows.length, rows.stride, size);
        to += rows.length * size;
    }
    return AKG_OK;
}

void tensor_cast_into(const akg_tensor *source, akg_tensor *to)
{
    int size = dtype_table[to->dtype].size;
    char *at = to->data;
    struct tensor_rows rows;

    for (bool more = tensor_rows_begin(&rows, source); more; more = tensor_rows_next(&rows)) {
        const char *from = rows.row;
        for (int64_t i = 0; i < rows.length; i++, from += rows.stride, at += size)
            dtype_store(to->dtype, at, dtype_cast(to->dtype, source->dtype, dtype_load(source->dtype, from)));
    }
}

akg_status akg_tensor_cast(const akg_tensor *source, akg_dtype dtype, akg_tensor **copy)
{
    if (!copy)
        return AKG_ERROR_USAGE;
    *copy = NULL;
    if (!source || (unsigned)dtype >= AKG_DTYPE_COUNT)
        return AKG_ERROR_USAGE;
    if (dtype == source->dtype)
        return akg_tensor_copy(source, copy);
    tensor_touch(source);
    if (source->device)
        return tensor_cast_on(source, dtype, copy, &(struct gpu_failure){0});
    akg_status status = tensor_allocate(dtype, source->rank, tensor_shape(source), false, copy);
    if (status == AKG_OK)
        tensor_cast_into(source, *copy);
    return status;
}
