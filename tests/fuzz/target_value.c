/*
 * target_value.c: VALUEs. Ones that name files are left out, for they read what lies around.
 */
#include "targets.h"

#include <stdlib.h>
#include <string.h>

#include "../../tools/value.h"
#include "small.h"

int target_value(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    for (int kind = AKG_PARAMETER_TENSOR; kind <= AKG_PARAMETER_VARIADIC && !strstr(text, ".np"); kind++)
        for (int dtype = 0; dtype <= AKG_DTYPE_COUNT; dtype += 3) {
            akg_parameter parameter = {"x", (akg_parameter_kind)kind, true, (akg_dtype)dtype, kind ? -1 : 2};
            struct value value = {0};
            struct problem problem = {0};
            if (small_values(text))
                value_parse(text, &parameter, 1, &value, &problem);
            value_free(&value);
            problem_free(&problem);
        }
    free(text);
    return 0;
}
