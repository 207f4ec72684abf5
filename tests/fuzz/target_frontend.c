/*
 * target_frontend.c: a whole program.
 */
#include "oracle.h"
#include "targets.h"

#include <stdio.h>
#include <stdlib.h>

int target_frontend(const uint8_t *data, size_t size)
{
    struct oracle_request request = {.text = (const char *)data, .length = size};
    struct text detail;
    enum oracle_fault fault;

    text_init(&detail);
    request.only_compile = true; /* a run may take for ever with good reason; differential.c has a clock */
    fault = oracle_check(&request, &detail);
    if (fault) {
        fprintf(stderr, "%s\n", detail.data ? detail.data : oracle_fault_name(fault));
        abort();
    }
    text_free(&detail);
    return 0;
}
