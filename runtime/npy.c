/*
 * npy.c: arrays of NumPy's .npy format as tensors and back.
 *
 * Reads versions 1.0 to 3.0, either byte order, C or Fortran order, and always
 * gives a C-contiguous tensor. Writes version 1.0.
 */
#include "npy.h"

#include "failure.h"
#include "gpu.h"

#include "../base/memory.h"

#include <stdio.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
enum { MAGIC_LENGTH = 6, MOST_HEADER = 64 * 1024 };

/* ---- reading --------------------------------------------------------------- */

static akg_status stream_short(struct npy_stream *stream, uint64_t needed)
{
    char needed_text[24], left_text[24];
    snprintf(needed_text, sizeof needed_text, "%llu", (unsigned long long)needed);
    snprintf(left_text, sizeof left_text, "%llu", (unsigned long long)stream->left);
    return failure_report(stream->diagnostics, AKG_ERROR_IO, MSG_NPY_SHORT, stream->label, needed_text,
                          left_text, NULL);
}

static akg_status stream_read(struct npy_stream *stream, void *buffer, size_t size)
{
    if (size > stream->left)
        return stream_short(stream, size);
    stream->left -= size;
    return stream->read(stream, buffer, size);
}

static akg_status read_magic(struct npy_stream *stream)
{
    char magic[MAGIC_LENGTH], quoted[FAILURE_QUOTED];
    size_t length = stream->left < sizeof magic ? (size_t)stream->left : sizeof magic;
    akg_status status = stream_read(stream, magic, length);
    if (status != AKG_OK)
        return status;
    if (length == sizeof magic && memcmp(magic, MAGIC, sizeof magic) == 0)
        return AKG_OK;
    bool is_zip = length >= 4 && memcmp(magic, "PK\3\4", 4) == 0;
    return failure_report(stream->diagnostics, AKG_ERROR_IO, MSG_NPY_MAGIC, stream->label,
                          length ? failure_quote(quoted, magic, length) : "nothing", NULL,
                          is_zip ? "help: this is a .npz archive: name an array in it" : NULL);
}

/* Version and length of the header: after version 1 the length has four bytes. */
static akg_status read_header_length(struct npy_stream *stream, size_t *length)
{
    unsigned char version[2], bytes[4] = {0};
    char found[24];
    akg_status status = stream_read(stream, version, sizeof version);
    if (status != AKG_OK)
        return status;
    if (version[0] < 1 || version[0] > 3 || version[1] != 0) {
        snprintf(found, sizeof found, "%d.%d", version[0], version[1]);
        return failure_report(stream->diagnostics, AKG_ERROR_IO, MSG_NPY_VERSION, stream->label, found, NULL,
                              NULL);
    }
    status = stream_read(stream, bytes, version[0] == 1 ? 2 : 4);
    *length = (size_t)bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 24;
    return status;
}

static akg_status read_header(struct npy_stream *stream, struct npy_header *header)
{
    size_t length = 0;
    akg_status status = read_magic(stream);
    if (status == AKG_OK)
        status = read_header_length(stream, &length);
    if (status != AKG_OK)
        return status;
    if (length > stream->left)
        return stream_short(stream, length);
    if (length > MOST_HEADER) {
        char found[48];
        snprintf(found, sizeof found, "a length of %zu bytes", length);
        return failure_report(stream->diagnostics, AKG_ERROR_IO, MSG_NPY_HEADER, stream->label, found,
                              "at most 65536", NULL);
    }
    char *text = memory_allocate(length);
    if (!text)
        return AKG_ERROR_MEMORY;
    status = stream_read(stream, text, length);
    if (status == AKG_OK)
        status = npy_header_parse(header, text, length, stream->label, stream->diagnostics);
    memory_free(text);
    return status;
}

static void swap_bytes(void *data, size_t size, int width)
{
    unsigned char *at = data, *end = at + size;
    for (; at < end; at += width)
        for (int low = 0, high = width - 1; low < high; low++, high--) {
            unsigned char byte = at[low];
            at[low] = at[high];
            at[high] = byte;
        }
}

/* A bool of ours is 0 or 1; what a file holds may be anything. */
static void normalize_bools(void *data, size_t size)
{
    unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        bytes[i] = bytes[i] != 0;
}

/* Replaces the tensor, whose shape is the header's reversed, by its transpose. */
static akg_status transpose(akg_tensor **tensor, const struct npy_header *header)
{
    int64_t strides[AKG_MAX_RANK];
    akg_tensor *reversed = *tensor, *view;
    *tensor = NULL;
    for (int axis = 0; axis < header->rank; axis++)
        strides[axis] = tensor_strides(reversed)[header->rank - 1 - axis];
    akg_status status = akg_tensor_view(reversed, header->rank, header->shape, strides, 0, &view);
    if (status == AKG_OK)
        status = akg_tensor_copy(view, tensor);
    akg_tensor_release(view);
    akg_tensor_release(reversed);
    return status;
}

static akg_status read_elements(struct npy_stream *stream, const struct npy_header *header,
                                akg_tensor **tensor)
{
    int64_t shape[AKG_MAX_RANK];
    for (int axis = 0; axis < header->rank; axis++)
        shape[axis] = header->shape[header->fortran ? header->rank - 1 - axis : axis];
    /* In Fortran order the file holds, seen in C order, the transpose. */
    akg_status status = tensor_allocate(header->dtype, header->rank, shape, false, tensor);
    if (status != AKG_OK)
        return status;
    void *data = (*tensor)->data;
    size_t size = npy_data_size(*tensor);
    status = stream_read(stream, data, size);
    if (status != AKG_OK) {
        akg_tensor_release(*tensor);
        *tensor = NULL;
        return status;
    }
    if (header->swapped)
        swap_bytes(data, size, dtype_table[header->dtype].size);
    if (header->dtype == AKG_BOOL)
        normalize_bools(data, size);
    return header->fortran && header->rank > 1 ? transpose(tensor, header) : AKG_OK;
}

akg_status npy_stream_read(struct npy_stream *stream, akg_tensor **tensor)
{
    struct npy_header header;
    int64_t element_count;
    akg_status status = read_header(stream, &header);
    if (status != AKG_OK)
        return status;
    if (!tensor_size_is_valid(header.dtype, header.rank, header.shape, &element_count))
        return failure_report(stream->diagnostics, AKG_ERROR_IO, MSG_NPY_SHAPE, stream->label,
                              "more elements than a tensor has",
                              "an axis has up to 2^40, and all have less than 2^63 bytes", NULL);
    uint64_t needed = (uint64_t)element_count * (uint64_t)dtype_table[header.dtype].size;
    if (needed > stream->left)
        return stream_short(stream, needed);
    return read_elements(stream, &header, tensor);
}

struct file_stream {
    struct npy_stream stream;
    struct file_input input;
    uint64_t position;
};

static akg_status read_from_file(struct npy_stream *stream, void *buffer, size_t size)
{
    struct file_stream *source = (struct file_stream *)stream; /* its first member */
    uint64_t position = source->position;
    source->position += size;
    return file_read(&source->input, position, buffer, size);
}

akg_status akg_npy_read(const char *path, akg_tensor **tensor, akg_diagnostics **diagnostics)
{
    if (diagnostics)
        *diagnostics = NULL;
    if (!tensor)
        return AKG_ERROR_USAGE;
    *tensor = NULL;
    if (!path)
        return AKG_ERROR_USAGE;
    struct file_stream source = {
        .stream = {.read = read_from_file, .label = path, .diagnostics = diagnostics}};
    akg_status status = file_open(&source.input, path, diagnostics);
    if (status != AKG_OK)
        return status;
    source.stream.left = source.input.size;
    status = npy_stream_read(&source.stream, tensor);
    file_close(&source.input);
    return status;
}

/* ---- writing ---------------------------------------------------------------- */

akg_status npy_contiguous(const akg_tensor *tensor, akg_tensor **contiguous, akg_diagnostics **diagnostics)
{
    struct gpu_failure failure = {0};

    *contiguous = NULL;
    tensor_touch(tensor);
    if (tensor->device)
        return tensor_copy_to(tensor, NULL, contiguous, &failure) == AKG_OK
                   ? AKG_OK
                   : gpu_failure_report(&failure, diagnostics);
    if (!tensor->contiguous)
        return akg_tensor_copy(tensor, contiguous);
    *contiguous = akg_tensor_retain((akg_tensor *)tensor); /* only the count of references changes */
    return AKG_OK;
}

static akg_status write_array(struct file_output *output, const akg_tensor *tensor)
{
    struct text header;
    text_init(&header);
    npy_header_format(&header, tensor);
    akg_status status = header.failed ? AKG_ERROR_MEMORY : file_write(output, header.data, header.length);
    text_free(&header);
    return status == AKG_OK ? file_write(output, tensor->data, npy_data_size(tensor)) : status;
}

akg_status akg_npy_write(const char *path, const akg_tensor *tensor, akg_diagnostics **diagnostics)
{
    if (diagnostics)
        *diagnostics = NULL;
    if (!path || !tensor)
        return AKG_ERROR_USAGE;
    akg_tensor *contiguous;
    akg_status status = npy_contiguous(tensor, &contiguous, diagnostics);
    if (status != AKG_OK)
        return status;
    struct file_output output;
    status = file_create(&output, path, diagnostics);
    if (status == AKG_OK)
        status = file_finish(&output, write_array(&output, contiguous));
    akg_tensor_release(contiguous);
    return status;
}
