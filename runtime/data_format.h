/*
 * data_format.h: data formats: in which order the axes of a tensor lie in memory.
 */
#ifndef RUNTIME_DATA_FORMAT_H
#define RUNTIME_DATA_FORMAT_H

#include "../include/akg.h"

/* NULL is "default". */
bool format_is_known(const char *format);
/* Whether a tensor is of that format. */
bool format_fits(const char *format, int rank, const int64_t *shape, const int64_t *strides);
/* The format that describes it best, for messages. */
const char *format_name(int rank, const int64_t *shape, const int64_t *strides);
/* The strides of a tensor; where there is only its description, those of a contiguous one. */
void description_strides(const akg_description *description, const akg_tensor *tensor, int64_t *strides);

#endif
