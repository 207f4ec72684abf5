/*
 * status.c: the smallest public functions: what a status means, which version
 * this is, and the release of text that the library returned.
 */
#include "../include/akg.h"
#include "memory.h"
#include "version.h"

const char *akg_status_text(akg_status status)
{
    switch (status) {
    case AKG_OK:
        return "success";
    case AKG_ERROR_PROGRAM:
        return "error in the program";
    case AKG_ERROR_USAGE:
        return "wrong use of the interface";
    case AKG_ERROR_CALL:
        return "error in the kernel call";
    case AKG_ERROR_INTERNAL:
        return "internal error";
    case AKG_ERROR_MEMORY:
        return "out of memory";
    case AKG_ERROR_IO:
        return "file could not be read or written";
    case AKG_ERROR_DEVICE:
        return "a device failed";
    }
    return "unknown status";
}

const char *akg_version(void)
{
    return VERSION;
}

void akg_free(void *text)
{
    memory_free(text);
}
