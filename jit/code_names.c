/*
 * code_names.c: see code_names.h.
 *
 * Of the vector loops it is known where each begins and ends. Of libtcc's code only the pages and the entry
 * are (and of code from the disk cache never was more known), so functions are found by the instructions that
 * every one of them begins with, and by nothing else: push rbp; mov rbp, rsp; sub rsp, and four bytes. Each
 * ends where the next one begins; the last is CODE_NAMES_END, which is never called and gets no name.
 */
#include "code_names.h"
#include "debug_image.h"
#include "perf_map.h"
#include "../base/memory.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 160 };

static const unsigned char beginning[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec};

/* The next beginning of a function, or the end. */
static const unsigned char *next_function(const unsigned char *at, const unsigned char *end)
{
    while (at < end && (at = memchr(at, beginning[0], (size_t)(end - at))) != NULL) {
        if ((size_t)(end - at) >= sizeof beginning && memcmp(at, beginning, sizeof beginning) == 0)
            return at;
        at++;
    }
    return end;
}

struct named {
    struct code_function *functions;
    char (*names)[NAME_SIZE];
    int count;
};

static bool named_init(struct named *named, int most)
{
    named->count = 0;
    named->functions = memory_zeroed((size_t)most, sizeof *named->functions);
    named->names = memory_zeroed((size_t)most, NAME_SIZE);
    return named->functions && named->names;
}

static void named_free(struct named *named)
{
    memory_free(named->functions);
    memory_free(named->names);
}

static void named_add(struct named *named, const char *kernel, const char *part, const void *code,
                      size_t size)
{
    char *name = named->names[named->count];
    snprintf(name, NAME_SIZE, "akg:%.80s%s%.60s", kernel, *part ? ":" : "", part);
    named->functions[named->count++] = (struct code_function){name, code, size};
}

/* Hands the names on. */
static void named_tell(const struct named *named, struct code_pages *pages)
{
    for (int k = 0; k < named->count; k++)
        perf_map_add(&named->functions[k]);
    pages->debug = debug_image_add(named->functions, named->count);
}

static void name_code(const char *kernel, struct backend_code *code)
{
    const unsigned char *end = (const unsigned char *)code->pages.memory + code->pages.size;
    const unsigned char *first = next_function(code->pages.memory, end);
    const void *entry;
    struct named named;
    int count = 0;
    memcpy(&entry, &code->entry, sizeof entry);
    for (const unsigned char *at = first; at < end; at = next_function(at + 1, end))
        count++;
    if (named_init(&named, count)) {
        for (const unsigned char *at = first, *next; named.count < count - 1; at = next) {
            char part[20] = "";
            next = next_function(at + 1, end);
            if (at != entry)
                snprintf(part, sizeof part, "part_%d", named.count);
            named_add(&named, kernel, part, at, (size_t)(next - at));
        }
        named_tell(&named, &code->pages);
    }
    named_free(&named);
}

static void name_loops(const char *kernel, struct vector_plan *plan)
{
    struct named named;
    if (!plan->loops.count)
        return;
    if (named_init(&named, plan->loops.count)) {
        for (int k = 0; k < plan->loops.count; k++)
            named_add(&named, kernel, vector_loop_name(plan, k), plan->loops.items[k]->code,
                      plan->loops.items[k]->size);
        named_tell(&named, &plan->pages);
    }
    named_free(&named);
}

void code_names_add(const char *kernel, struct backend_code *code, struct vector_plan *plan)
{
    name_code(kernel, code);
    name_loops(kernel, plan);
}
