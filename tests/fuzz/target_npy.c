/*
 * target_npy.c: files of tensors, through a file that only memory holds.
 */
#define _GNU_SOURCE
#include "targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../include/akg.h"

static void npy_try(const char *path, const char *key)
{
    akg_tensor *tensor = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_status status =
        key ? akg_npz_read(path, key, &tensor, &diagnostics) : akg_npy_read(path, &tensor, &diagnostics);
    char *text = NULL;

    if ((status == AKG_OK) != (tensor != NULL) ||
        (status != AKG_OK && status != AKG_ERROR_MEMORY && !diagnostics)) {
        fprintf(stderr, "status %d, tensor %p, messages %p\n", (int)status, (void *)tensor,
                (void *)diagnostics);
        abort();
    }
    if (tensor && akg_tensor_format(tensor, &text) == AKG_OK)
        akg_free(text);
    akg_tensor_release(tensor);
    akg_diagnostics_free(diagnostics);
}

int target_npy(const uint8_t *data, size_t size)
{
    int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
    char path[64];

    if (descriptor < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    if (write(descriptor, data, size) == (ssize_t)size) {
        npy_try(path, NULL);
        npy_try(path, "x");
        npy_try(path, "a/b.npy");
    }
    close(descriptor);
    return 0;
}
