/*
 * builtins.c: name to builtin and back, from the tables of builtins, dtypes and operations.
 */
#include "builtins.h"

#include <string.h>

static const char *const builtin_names[] = {NULL,
#define X(id, name) name,
                                            BUILTIN_TABLE(X)
#undef X
};

const char *builtin_name(int builtin)
{
    if (builtin_is_dtype(builtin))
        return dtype_table[builtin - BUILTIN_DTYPE].name;
    if (builtin_is_operation(builtin)) {
        const char *text = operation_table[builtin - BUILTIN_OPERATION].text;
        enum operation operation = (enum operation)(builtin - BUILTIN_OPERATION);
        bool is_word = text[0] >= 'a' && text[0] <= 'z';
        bool is_keyword = operation == OP_AND || operation == OP_OR || operation == OP_NOT;
        bool is_internal = operation == OP_NEG || operation == OP_SELECT || operation == OP_CAST;
        return is_word && !is_keyword && !is_internal ? text : NULL;
    }
    return builtin > BUILTIN_NONE && builtin < BUILTIN_DTYPE ? builtin_names[builtin] : NULL;
}

int builtin_find(const char *name)
{
    for (int i = BUILTIN_NONE + 1; i < BUILTIN_END; i++) {
        const char *known = builtin_name(i);
        if (known && known[0] == name[0] && strcmp(known, name) == 0)
            return i;
    }
    return BUILTIN_NONE;
}
