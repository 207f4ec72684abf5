/*
 * explain.c: the page of a message. The pages are docs/errors/NAME.md; the build
 * turns them into the rows of error_pages.inc (pages.awk).
 */
#include "diagnostic.h"

#include <string.h>

static const struct page {
    const char *name, *text;
} pages[] = {
#include "error_pages.inc"
    {NULL, NULL},
};

static const struct message_row *find_message(const char *code_or_name)
{
    for (int i = 0; code_or_name && i < MESSAGE_COUNT; i++) {
        const struct message_row *row = &message_table[i];
        if (strcmp(row->code, code_or_name) == 0 || strcmp(row->name, code_or_name) == 0)
            return row;
    }
    return NULL;
}

const char *akg_explain(const char *code_or_name)
{
    const struct message_row *row = find_message(code_or_name);
    for (const struct page *page = pages; row && page->name; page++) {
        if (strcmp(page->name, row->name) == 0)
            return page->text;
    }
    return NULL;
}

const char *akg_explain_code(size_t index)
{
    return index < MESSAGE_COUNT ? message_table[index].code : NULL;
}

bool akg_explain_message(const char *code_or_name, akg_message *message)
{
    const struct message_row *row = message ? find_message(code_or_name) : NULL;
    if (row)
        *message = (akg_message){.severity = row->severity, .code = row->code, .name = row->name};
    return row != NULL;
}
