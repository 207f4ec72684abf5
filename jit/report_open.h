/*
 * report_open.h: akg_kernel_report for kernels that are rank_open (module.h).
 */
#ifndef JIT_REPORT_OPEN_H
#define JIT_REPORT_OPEN_H

#include "module.h"

/* *text is freed with akg_free. */
akg_status report_open(const akg_kernel *kernel, akg_format format, char **text);

#endif
