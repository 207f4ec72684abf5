/*
 * code_pages.c: see code_pages.h.
 */
#include "code_pages.h"
#include "debug_image.h"
#include "../base/memory.h"

#include <sys/mman.h>
#include <unistd.h>

bool code_pages_map(struct code_pages *pages, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *pages = (struct code_pages){.size = (size + page - 1) / page * page};
    if (memory_fail_here())
        return false;
    void *memory = mmap(NULL, pages->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    pages->memory = memory;
    return true;
}

bool code_pages_seal(struct code_pages *pages)
{
    return mprotect(pages->memory, pages->size, PROT_READ | PROT_EXEC) == 0;
}

void code_pages_free(struct code_pages *pages)
{
    debug_image_remove(pages->debug);
    if (pages->memory)
        munmap(pages->memory, pages->size);
    *pages = (struct code_pages){NULL, 0, NULL};
}
