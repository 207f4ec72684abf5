/*
 * npy.h: the parts of NumPy's array format, shared by .npy files (npy.c) and the members of .npz files
 * (npz.c).
 */
#ifndef RUNTIME_NPY_H
#define RUNTIME_NPY_H

#include "file_io.h"
#include "tensor.h"

#include "../base/text.h"

/* What a header says of the elements that follow. */
struct npy_header {
    akg_dtype dtype;
    bool swapped; /* byte order is not this machine's */
    bool fortran; /* first axis varies fastest */
    int rank;
    int64_t shape[AKG_MAX_RANK];
};

/* Reads the text of a header (the part after its length). `label` names the file in messages. */
akg_status npy_header_parse(struct npy_header *header, const char *text, size_t length, const char *label,
                            akg_diagnostics **diagnostics);
/* Appends magic, version, length and text of the header of a C-ordered array: byte for byte what numpy 2
 * writes. */
void npy_header_format(struct text *out, const akg_tensor *tensor);

/* Bytes of an array, from wherever they come, in order. */
struct npy_stream {
    /* Exactly `size` bytes, never more than are left, or an error. */
    akg_status (*read)(struct npy_stream *stream, void *buffer, size_t size);
    uint64_t left; /* bytes not yet read; kept by npy_stream_read */
    const char *label;
    akg_diagnostics **diagnostics;
};

/* Reads one array. The bytes it needs are compared with those left before memory is taken for them. What
 * follows the array stays in the stream. */
akg_status npy_stream_read(struct npy_stream *stream, akg_tensor **tensor);

/* The tensor itself, retained, or a contiguous copy. */
akg_status npy_contiguous(const akg_tensor *tensor, akg_tensor **contiguous, akg_diagnostics **diagnostics);
/* Bytes of the elements of a contiguous tensor. */
static inline size_t npy_data_size(const akg_tensor *tensor)
{
    return (size_t)tensor->element_count * (size_t)dtype_table[tensor->dtype].size;
}

#endif
