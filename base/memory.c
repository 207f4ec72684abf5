/*
 * memory.c: the heap wrappers and the arena.
 *
 * Consumes nothing but the C heap. An arena takes memory in blocks that double in size; with ARENA_EACH every
 * allocation is a block of its own, so that the address sanitizer sees each overrun. Blocks that are given
 * back are kept for the next arena, up to 4 MiB of them, in places that are taken and filled by one atomic
 * exchange each: the heap returns what lies at its end to the system, and to touch pages anew was four tenths
 * of the time of a compile. There is no other state outside the objects; under AKG_FAULT_INJECTION each
 * thread has its own countdown.
 */
#include "memory.h"

#include "format.h"

#include <errno.h>
#include <limits.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef AKG_FAULT_INJECTION
static _Thread_local long fail_remaining = -1;

void memory_fail_after(long count)
{
    fail_remaining = count < 0 ? -1 : count;
}

long memory_fail_remaining(void)
{
    return fail_remaining;
}

int memory_fail_here(void)
{
    if (fail_remaining < 0)
        return 0;
    return fail_remaining-- == 0;
}
#endif

/* What is so large that kernels go through it rather than live in it: the system is asked for huge pages, of
 * which the processor looks up 512 times fewer, fetches ahead without a stop every 4 KiB, and has an eighth
 * of the cost of touching first. Not to have them is no failure. numpy asks from the same size on. */
enum { HUGE_FROM = 4 * 1024 * 1024 };

static void *advised(void *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
    if (memory && size >= HUGE_FROM) {
        uintptr_t unit = (uintptr_t)sysconf(_SC_PAGESIZE);
        uintptr_t first = ((uintptr_t)memory + unit - 1) / unit * unit, end = (uintptr_t)memory + size;
        int saved = errno;
        madvise((void *)first, (end - first) / unit * unit, MADV_HUGEPAGE);
        errno = saved;
    }
#endif
    return memory;
}

/* Sizes of 0 become 1: then NULL always means that memory ran out. */

static size_t at_least_one(size_t size)
{
    return size ? size : 1;
}

void *memory_allocate(size_t size)
{
    return memory_fail_here() ? NULL : advised(malloc(at_least_one(size)), size);
}

/* Up to here memory is faster cleared by us: glibc's calloc passes by the blocks that malloc keeps ready. */
enum { SMALL_ZEROED = 1024 };

void *memory_zeroed(size_t count, size_t size)
{
    /* tested here too: the address sanitizer's calloc would stop the program */
    if ((size && count > PTRDIFF_MAX / size) || memory_fail_here())
        return NULL;
    if (count * size <= SMALL_ZEROED) {
        void *memory = malloc(at_least_one(count * size));
        return memory ? memset(memory, 0, count * size) : NULL;
    }
    return advised(calloc(at_least_one(count), at_least_one(size)), count * size);
}

void *memory_resize(void *old, size_t size)
{
    return memory_fail_here() ? NULL : realloc(old, at_least_one(size));
}

void *memory_aligned(size_t size)
{
    enum { ALIGNMENT = 64 };
    if (size > PTRDIFF_MAX - ALIGNMENT || memory_fail_here())
        return NULL;
    /* aligned_alloc wants a multiple of the alignment */
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return advised(aligned_alloc(ALIGNMENT, rounded ? rounded : ALIGNMENT), size);
}

void memory_free(void *memory)
{
    free(memory);
}

char *memory_copy_string(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memory_allocate(size);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

/* ---- arena --------------------------------------------------------------- */

struct arena_block {
    struct arena_block *below;
    size_t size; /* of data */
    alignas(max_align_t) char data[];
};

enum { FIRST_BLOCK = 4 * 1024, LARGEST_BLOCK = 256 * 1024 };

/* ---- blocks that are kept ------------------------------------------------------------------------------ */

#ifdef ARENA_EACH

static struct arena_block *block_take(size_t size)
{
    return memory_allocate(sizeof(struct arena_block) + size);
}

static void block_give(struct arena_block *block)
{
    memory_free(block);
}

#else

enum { KINDS = 7, KEPT = 8 }; /* sizes from the first to the largest one; blocks of each */

static struct {
    _Atomic(struct arena_block *) places[KEPT];
} kept[KINDS];

/* -1: blocks of that size are not kept. */
static int kind_of(size_t size)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (size == (size_t)FIRST_BLOCK << kind)
            return kind;
    return -1;
}

static struct arena_block *block_take(size_t size)
{
    int kind = kind_of(size);
    struct arena_block *block = NULL;
    for (int k = 0; kind >= 0 && !block && k < KEPT; k++)
        if (atomic_load_explicit(&kept[kind].places[k], memory_order_relaxed))
            block = atomic_exchange_explicit(&kept[kind].places[k], NULL, memory_order_acquire);
    if (!block)
        return memory_allocate(sizeof *block + size);
    if (!memory_fail_here())
        return block;
    memory_free(block);
    return NULL;
}

static void block_give(struct arena_block *block)
{
    int kind = kind_of(block->size);
    for (int k = 0; kind >= 0 && k < KEPT; k++) {
        struct arena_block *none = NULL;
        if (!atomic_load_explicit(&kept[kind].places[k], memory_order_relaxed) &&
            atomic_compare_exchange_strong_explicit(&kept[kind].places[k], &none, block, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
    memory_free(block);
}

/* Checkers of leaks need not know of them. */
__attribute__((destructor)) static void blocks_free(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int k = 0; k < KEPT; k++)
            memory_free(atomic_exchange(&kept[kind].places[k], NULL));
}

#endif

static _Noreturn void arena_escape(struct arena *arena)
{
    longjmp(*arena->escape, 1);
}

void arena_init(struct arena *arena, jmp_buf *escape)
{
    *arena = (struct arena){.escape = escape};
}

struct arena_mark arena_mark(const struct arena *arena)
{
    return (struct arena_mark){arena->blocks, arena->blocks ? arena->blocks->below : NULL, arena->next,
                               arena->end};
}

/* Frees the blocks from `block` down to the one before `stop`. */
static void arena_free_blocks(struct arena_block *block, const struct arena_block *stop)
{
    while (block != stop) {
        struct arena_block *below = block->below;
        block_give(block);
        block = below;
    }
}

void arena_rewind(struct arena *arena, struct arena_mark mark)
{
    arena_free_blocks(arena->blocks, mark.block);
    arena->blocks = mark.block;
    if (mark.block) { /* what was too large for it stands below it */
        arena_free_blocks(mark.block->below, mark.below);
        mark.block->below = mark.below;
    }
    arena->next = mark.next;
    arena->end = mark.end;
}

void arena_free(struct arena *arena)
{
    arena_rewind(arena, (struct arena_mark){0});
}

/* A new block that is not in the list yet; escapes when there is none. */
static struct arena_block *arena_block_new(struct arena *arena, size_t size)
{
    if (size > PTRDIFF_MAX - sizeof(struct arena_block))
        arena_escape(arena);
    struct arena_block *block = block_take(size);
    if (!block)
        arena_escape(arena);
    block->size = size;
    return block;
}

#ifdef ARENA_EACH

void arena_lend(struct arena *arena, void *memory, size_t size)
{
    (void)arena, (void)memory, (void)size; /* overruns would not show */
}

void *arena_take(struct arena *arena, size_t size)
{
    struct arena_block *block = arena_block_new(arena, size);
    block->below = arena->blocks;
    arena->blocks = block;
    return block->data;
}

static bool arena_extend(struct arena *arena, const void *items, size_t old, size_t size)
{
    (void)arena, (void)items, (void)old, (void)size; /* whoever kept the old place shows */
    return false;
}

#else

void arena_lend(struct arena *arena, void *memory, size_t size)
{
    arena->next = memory;
    arena->end = arena->next + size;
}

static size_t arena_next_size(const struct arena *arena)
{
    if (!arena->blocks)
        return FIRST_BLOCK;
    return arena->blocks->size < LARGEST_BLOCK ? arena->blocks->size * 2 : LARGEST_BLOCK;
}

/* What is handed out is aligned for everything. */
static size_t whole_units(size_t size)
{
    return (at_least_one(size) + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

/* What was handed out last becomes longer where it stands, if the block has room. */
static bool arena_extend(struct arena *arena, const void *items, size_t old, size_t size)
{
    if (!items || (const char *)items + whole_units(old) != arena->next || size > PTRDIFF_MAX / 2)
        return false;
    size_t more = whole_units(size) - whole_units(old);
    if (more > (size_t)(arena->end - arena->next))
        return false;
    arena->next += more;
    return true;
}

void *arena_take(struct arena *arena, size_t size)
{
    if (size > PTRDIFF_MAX / 2)
        arena_escape(arena);
    size = whole_units(size);
    if (size > (size_t)(arena->end - arena->next)) {
        size_t block_size = arena_next_size(arena);
        if (size > block_size / 4 && arena->blocks) {
            /* something large gets a block of its own below the current one, whose rest stays usable */
            struct arena_block *own = arena_block_new(arena, size);
            own->below = arena->blocks->below;
            arena->blocks->below = own;
            return own->data;
        }
        struct arena_block *block = arena_block_new(arena, size > block_size ? size : block_size);
        block->below = arena->blocks;
        arena->blocks = block;
        arena->next = block->data;
        arena->end = block->data + block->size;
    }
    void *memory = arena->next;
    arena->next += size;
    return memory;
}

#endif

/* Cleared when it is handed out, not when its block is made: of most arenas little is used. */
void *arena_allocate(struct arena *arena, size_t size)
{
    return memset(arena_take(arena, size), 0, size);
}

char *arena_copy(struct arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX)
        arena_escape(arena);
    char *copy = arena_take(arena, length + 1);
    if (length)
        memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

char *arena_format_list(struct arena *arena, const char *format, va_list list)
{
    char small[256]; /* most fit, and need not be printed twice */
    va_list again;
    va_copy(again, list);
    int length = format_list(small, sizeof small, format, again);
    va_end(again);
    if (length < 0)
        arena_escape(arena); /* longer than INT_MAX */
    if ((size_t)length < sizeof small)
        return arena_copy(arena, small, (size_t)length);
    char *text = arena_take(arena, (size_t)length + 1);
    format_list(text, (size_t)length + 1, format, list);
    return text;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = arena_format_list(arena, format, list);
    va_end(list);
    return text;
}

/* A capacity that is larger than it was. */
static void *arena_enlarge(struct arena *arena, void *items, int count, int larger, int *capacity,
                           size_t item_size)
{
    if (item_size > PTRDIFF_MAX / (size_t)larger)
        arena_escape(arena);
    size_t old = item_size * (size_t)count, size = item_size * (size_t)larger;
    if (arena_extend(arena, items, item_size * (size_t)*capacity, size)) {
        *capacity = larger;
        return items;
    }
    char *moved = arena_take(arena, size);
    if (old)
        memcpy(moved, items, old);
#ifdef ARENA_EACH
    memset(moved + old, 0xa5, size - old); /* nobody counts on what is there */
#endif
    *capacity = larger;
    return moved;
}

void *arena_grow(struct arena *arena, void *items, int count, int *capacity, size_t item_size)
{
    if (*capacity > INT_MAX / 2)
        arena_escape(arena);
    return arena_enlarge(arena, items, count, *capacity ? *capacity * 2 : 4, capacity, item_size);
}

void *arena_reserve(struct arena *arena, void *items, int count, int more, int *capacity, size_t item_size)
{
    if (more > INT_MAX - count)
        arena_escape(arena);
    bool doubles = *capacity <= INT_MAX / 2 && *capacity * 2 > count + more; /* who reserves often */
    return arena_enlarge(arena, items, count, doubles ? *capacity * 2 : count + more, capacity, item_size);
}
