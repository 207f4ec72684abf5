/*
 * tensor.h: what is inside an akg_tensor, and the loops over its elements that
 * the files of this folder share.
 *
 * The description (shape and strides included) and, for tensors that own their
 * memory, the elements too are one allocation: making a small tensor costs one
 * trip to the heap. Nothing but the counts, the elements and what belongs to
 * gradients changes once a tensor is made.
 *
 * References are what users hold. They all together are one hold; so is each
 * view, and each tensor that was saved for a gradient. When the references are
 * gone the tensor leaves the graph of what was recorded; when the holds are, its
 * memory goes. So elements can be kept without keeping who computed them, and
 * no node of a graph can hold itself through its own output.
 */
#ifndef RUNTIME_TENSOR_H
#define RUNTIME_TENSOR_H

#include "../base/dtype.h"

#include <stdatomic.h>

struct autograd_node;
struct gpu_device;
struct gpu_failure;
struct recording;

struct akg_tensor {
    atomic_size_t references, holds;
    akg_dtype dtype;
    int rank;
    bool contiguous; /* C order without gaps; an empty tensor always is */
    bool nowhere; /* it stands for one that may lie on any device (recording.h), or describes what is made of
                     such */
    bool owns_memory; /* nobody else knows the elements: they are part of this allocation, or `owner` */
    int output;       /* of `node` */
    struct autograd_node *node;  /* what made it, or keeps its gradient; NULL: no gradient flows here */
    _Atomic uint64_t version;    /* of the elements; of a view it is its base's that counts */
    struct recording *recording; /* it only stands for what a call would give (recording.h); a reference */
    int recorded;                /* its number there; -1: nobody knows how it comes about */
    int64_t element_count;
    void *data;                /* element [0, ..., 0] */
    struct gpu_device *device; /* where it lies, or NULL: in memory of the host */
    struct akg_tensor *base;   /* who owns the memory, or NULL; never a view itself */
    void (*release)(void *owner);
    void *owner;
    int64_t dims[]; /* rank extents, then rank strides, counted in elements */
};

/* How a tensor that is not contiguous lies (`order` of ir_buffer), into rank bytes; false: with gaps, or
 * backwards. Axes that repeat come first. */
bool tensor_order(const akg_tensor *tensor, unsigned char *order);

/* The longest dtype fits, and of each axis any int64 with what parts it from the next. */
enum { TENSOR_FORM_TEXT = 16 + AKG_MAX_RANK * 22 };

/* "float32[2, 3]", for messages, into TENSOR_FORM_TEXT bytes. The shape may be one that no tensor has. */
void tensor_print_form(char *text, akg_dtype dtype, int rank, const int64_t *dims);

/* Why a tensor that the caller gives cannot take a result of that form on that device ("has another dtype:
 * int32[3] instead of float32[3]"), perhaps in TENSOR_UNLIKE_TEXT bytes of `text`; NULL: it can. */
enum { TENSOR_UNLIKE_TEXT = 2 * TENSOR_FORM_TEXT + 64 };
const char *tensor_unlike(const akg_tensor *given, akg_dtype dtype, int rank, const int64_t *dims,
                          const struct gpu_device *device, char *text);

static inline const int64_t *tensor_shape(const akg_tensor *tensor)
{
    return tensor->dims;
}

static inline const int64_t *tensor_strides(const akg_tensor *tensor)
{
    return tensor->dims + tensor->rank;
}

/* Takes one away; whether that was the last. The load saves most a locked instruction: nobody can join the
 * one who has the last reference, or the last hold. */
static inline bool tensor_count_goes(atomic_size_t *count)
{
    if (atomic_load_explicit(count, memory_order_acquire) != 1)
        return atomic_fetch_sub_explicit(count, 1, memory_order_acq_rel) == 1;
    atomic_store_explicit(count, 0, memory_order_relaxed);
    return true;
}

/* memcmp, but most ranks are too small for a call. */
static inline bool tensor_same_shape(int rank, const int64_t *a, const int64_t *b)
{
    for (int axis = 0; axis < rank; axis++)
        if (a[axis] != b[axis])
            return false;
    return true;
}

/* A view of all of `source`, of which a hold is enough. */
akg_status tensor_alias(akg_tensor *source, akg_tensor **alias);

/* Who asks for elements, or writes them, says so: a recording cannot follow that. */
void tensor_break_recording(const akg_tensor *tensor);
static inline void tensor_touch(const akg_tensor *tensor)
{
    if (tensor->recording)
        tensor_break_recording(tensor);
}
/* Makes a tensor without elements stand for the same as another. */
void tensor_stand_for(akg_tensor *tensor, const akg_tensor *other);

/* Keeps the memory, and no more of it, until tensor_drop. */
void tensor_hold(akg_tensor *tensor);
void tensor_drop(akg_tensor *tensor);

static inline void tensor_mark_written(const akg_tensor *tensor)
{
    akg_tensor *owner = tensor->base ? tensor->base : (akg_tensor *)tensor;
    atomic_fetch_add_explicit(&owner->version, 1, memory_order_relaxed);
}

/* Whether whoever holds the one reference may take the memory for his own. */
bool tensor_is_exclusive(const akg_tensor *tensor);

/* The largest extent of one axis: proofs of the compiler assume that sums of a few extents do not overflow.
 */
#define TENSOR_MAX_EXTENT ((int64_t)1 << 40)

/* akg_tensor_create, but the elements are left unset unless `zeroed`: for who writes every one. */
akg_status tensor_allocate(akg_dtype dtype, int rank, const int64_t *shape, bool zeroed, akg_tensor **tensor);
/* The same, unset, for who stores there while loading from the others: processors compare a load with the
 * stores before it by the place in a page first, and take equal places for the same memory until they know
 * better. So what fills a page begins at another place in it than the others do. (What is large waits for
 * memory instead, and has pages of its own from malloc, which all begin alike.) */
akg_status tensor_allocate_apart(akg_dtype dtype, int rank, const int64_t *shape, const void *const *others,
                                 size_t count, akg_tensor **tensor);

/* The elements of `source` converted to those of `to`, which is contiguous and has its shape. */
void tensor_cast_into(const akg_tensor *source, akg_tensor *to);
/* The same on a device, or with NULL on the host. The failure is filled where the status is not AKG_OK; one
 * of the host's memory is MSG_MEMORY. */
akg_status tensor_allocate_on(struct gpu_device *device, akg_dtype dtype, int rank, const int64_t *shape,
                              bool zeroed, akg_tensor **tensor, struct gpu_failure *failure);
/* A fresh C-contiguous copy on a device, or with NULL on the host. */
akg_status tensor_copy_to(const akg_tensor *source, struct gpu_device *device, akg_tensor **copy,
                          struct gpu_failure *failure);
/* akg_tensor_cast of a tensor on a device. */
akg_status tensor_cast_on(const akg_tensor *source, akg_dtype dtype, akg_tensor **copy,
                          struct gpu_failure *failure);
/* The tensor itself where it is on the host, else a copy there with the same strides: for loops over
 * elements. */
akg_status tensor_to_host(const akg_tensor *tensor, akg_tensor **host, struct gpu_failure *failure);
/* "cuda:1" into a buffer of 32 bytes; gives the buffer. */
const char *tensor_device_name(const akg_tensor *tensor, char *buffer);
/* What was changed in that copy goes back. */
akg_status tensor_from_host(const akg_tensor *tensor, const akg_tensor *host, struct gpu_failure *failure);
/* The bits of one element on the host, in 8 bytes; false where it cannot be had. */
bool tensor_fetch(const akg_tensor *tensor, const void *element, void *bits);
void tensor_store(const akg_tensor *tensor, void *element, const void *bits);

/* A description over memory that is there: nothing of it is checked. strides NULL: contiguous. */
akg_status tensor_describe(akg_dtype dtype, int rank, const int64_t *shape, const int64_t *strides,
                           void *data, akg_tensor **tensor);

/* Whether a tensor of this shape can be: rank, dtype and dims in range, and its bytes, with dims of 0 counted
 * as 1 so that strides exist, no more than PTRDIFF_MAX. Gives the number of elements. */
bool tensor_size_is_valid(akg_dtype dtype, int rank, const int64_t *shape, int64_t *element_count);

/* The lowest and highest element offset that shape and strides reach from element [0, ..., 0]
 * (0 and -1 when there are no elements); false if a byte offset would leave ptrdiff_t. */
bool tensor_extent(akg_dtype dtype, int rank, const int64_t *shape, const int64_t *strides, int64_t *lowest,
                   int64_t *highest);

/* Rows of a tensor in C order: `length` elements, `stride` bytes apart from `row` on. A contiguous tensor is
 * one row. */
struct tensor_rows {
    const akg_tensor *tensor;
    char *row;
    int64_t length;
    ptrdiff_t stride;
    int64_t index[AKG_MAX_RANK];
};

/* False when there is no (further) row. */
bool tensor_rows_begin(struct tensor_rows *rows, const akg_tensor *tensor);
bool tensor_rows_next(struct tensor_rows *rows);

#endif
