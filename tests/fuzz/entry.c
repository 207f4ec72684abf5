/*
 * entry.c: libFuzzer's entry to one target; TARGET is its name.
 */
#include "targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return TARGET(data, size);
}
