/*
 * failure.h: a function of the public interface that fails for one reason reports it in one call.
 */
#ifndef RUNTIME_FAILURE_H
#define RUNTIME_FAILURE_H

#include "../base/diagnostic.h"

/* Gives `status` and, where `out` is not NULL, a list of the one message in *out. The message takes up to
 * three strings; `note` is a line under it, or NULL. AKG_ERROR_MEMORY when the message finds no memory. */
akg_status failure_report(akg_diagnostics **out, akg_status status, enum message message, const char *first,
                          const char *second, const char *third, const char *note);

/* Bytes that came from a file, in quotes, for a message: at most 40 of them, what is not printable ASCII as
 * \xNN. `buffer` has FAILURE_QUOTED bytes. */
#define FAILURE_QUOTED 176
const char *failure_quote(char *buffer, const char *bytes, size_t length);

#endif
