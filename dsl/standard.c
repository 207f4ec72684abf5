/*
 * standard.c: finding functions of the standard library and reading them into a program.
 *
 * A program holds the files of the library that it uses as modules of their own, so that neither sees the
 * other's names. Files are read on demand, one by one: a program that uses none pays nothing.
 */
#include "standard.h"

#include <string.h>

#include "names.h"
#include "parse.h"

static const struct standard_file standard_files[] = {
#define FILE(name, text) {name, text, sizeof text - 1},
#define OPERATOR(name, file, is_public)
#include "standard_files.inc"
#undef FILE
#undef OPERATOR
    {NULL, NULL, 0}};

static const struct standard_operator standard_operators[] = {
#define FILE(name, text)
#define OPERATOR(name, file, is_public) {name, &standard_files[file], is_public},
#include "standard_files.inc"
#undef FILE
#undef OPERATOR
    {NULL, NULL, false}};

/* The functions whose names are not those of the scalar operations they apply. */
static const struct {
    enum operation operation;
    const char *name;
} standard_operations[] = {{OP_ADD, "add"},
                           {OP_SUB, "subtract"},
                           {OP_MUL, "multiply"},
                           {OP_TRUEDIV, "divide"},
                           {OP_FLOORDIV, "floor_divide"},
                           {OP_MOD, "remainder"},
                           {OP_POW, "power"},
                           {OP_NEG, "neg"},
                           {OP_MIN, "minimum"},
                           {OP_MAX, "maximum"},
                           {OP_LT, "less"},
                           {OP_LE, "less_equal"},
                           {OP_GT, "greater"},
                           {OP_GE, "greater_equal"},
                           {OP_EQ, "equal"},
                           {OP_NE, "not_equal"},
                           {OP_AND, "logical_and"},
                           {OP_OR, "logical_or"},
                           {OP_NOT, "logical_not"},
                           {OP_BITAND, "bitwise_and"},
                           {OP_BITOR, "bitwise_or"},
                           {OP_BITXOR, "bitwise_xor"},
                           {OP_BITNOT, "bitwise_not"},
                           {OP_SELECT, "where"},
                           {OP_CAST, "cast"}};

static const struct standard_operator *standard_row(const char *name)
{
    for (const struct standard_operator *row = standard_operators; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

const struct standard_file *standard_find(const char *name)
{
    const struct standard_operator *row = standard_row(name);
    return row ? row->file : NULL;
}

bool standard_is_public(const char *name)
{
    const struct standard_operator *row = standard_row(name);
    return row && row->is_public;
}

bool standard_at(size_t index, struct standard_operator *row)
{
    if (index >= sizeof standard_operators / sizeof *standard_operators - 1)
        return false;
    *row = standard_operators[index];
    return true;
}

const char *standard_operation_name(enum operation operation)
{
    const char *name = operation_table[operation].text;

    for (size_t i = 0; i < sizeof standard_operations / sizeof *standard_operations; i++)
        if (standard_operations[i].operation == operation)
            name = standard_operations[i].name;
    return standard_find(name) ? name : NULL;
}

const char *akg_standard_name(size_t index)
{
    for (const struct standard_operator *row = standard_operators; row->name; row++)
        if (row->is_public && index-- == 0)
            return row->name;
    return NULL;
}

struct ast_function *standard_load(struct arena *arena, struct ast_module *program, const char *name)
{
    const struct standard_file *file = standard_find(name);
    struct ast_module *module = file ? program->library : NULL;
    struct dsl_source source;

    if (!file)
        return NULL;
    while (module && module->file != file)
        module = module->next;
    if (!module) {
        source = (struct dsl_source){.name = file->name, .text = file->text, .length = file->length};
        module = parse_module(arena, &source, NULL);
        if (!module)
            return NULL;
        module->file = file;
        module->program = program;
        module->next = program->library;
        program->library = module;
        names_resolve(arena, module, NULL);
    }
    return ast_module_function(module, name);
}
