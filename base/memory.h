/*
 * memory.h: the library's only way to the heap, and arenas over it.
 *
 * memory_* behave as malloc and friends. A build with AKG_FAULT_INJECTION makes
 * the n-th allocation of a thread fail (memory_fail_after), so that tests can
 * walk through every failure; it is not compiled into a release.
 *
 * An arena hands out memory that is freed all at once. It never returns NULL:
 * when the heap is empty it jumps to `escape`, which whoever made the arena
 * set with setjmp; that place frees the arena and reports AKG_ERROR_MEMORY. So
 * the stages of the compiler need no check per allocation and cannot leak.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

void *memory_allocate(size_t size);
void *memory_zeroed(size_t count, size_t size);
void *memory_resize(void *old, size_t size);
/* aligned to 64 bytes; freed with memory_free */
void *memory_aligned(size_t size);
void memory_free(void *memory);
char *memory_copy_string(const char *text);

#ifdef AKG_FAULT_INJECTION
/* The allocation after `count` successful ones of this thread fails, once; negative: none does. */
void memory_fail_after(long count);
/* Allocations of this thread that are still to succeed; negative after the failure struck. */
long memory_fail_remaining(void);
/* For file operations: true when this one is to fail (counts like an allocation). */
int memory_fail_here(void);
#else
#define memory_fail_here() 0
#endif

struct arena_block;

struct arena {
    struct arena_block *blocks;
    char *next, *end;
    jmp_buf *escape;
};

void arena_init(struct arena *arena, jmp_buf *escape);
void arena_free(struct arena *arena);
/* Memory, aligned for any object, that a new arena hands out first: what is made in it often and is
 * mostly small then takes no trip to the heap. It lives as long as the arena. */
void arena_lend(struct arena *arena, void *memory, size_t size);
/* How far an arena was handed out; arena_rewind gives back what was since. */
struct arena_mark {
    struct arena_block *block, *below;
    char *next, *end;
};
struct arena_mark arena_mark(const struct arena *arena);
void arena_rewind(struct arena *arena, struct arena_mark mark);
/* Zero-filled, aligned for any object. */
void *arena_allocate(struct arena *arena, size_t size);
/* The same, but for what it holds: for large rooms of which little may be used. */
void *arena_take(struct arena *arena, size_t size);
char *arena_copy(struct arena *arena, const char *text, size_t length);
char *arena_format(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_format_list(struct arena *arena, const char *format, va_list list)
    __attribute__((format(printf, 2, 0), nonnull(2)));

/* The value of a decimal number (12.5e-3; underscores are skipped), whatever the locale. The arena lends
 * memory only. */
double arena_parse_real(struct arena *arena, const char *text, size_t length);

#define arena_new(arena, type) ((type *)arena_allocate((arena), sizeof(type)))
#define arena_array(arena, type, count) ((type *)arena_allocate((arena), sizeof(type) * (size_t)(count)))

/*
 * A list that grows inside an arena: struct { T *items; int count, capacity; }.
 * list_push evaluates `value` once and yields nothing.
 */
#define LIST(type)                                                                                           \
    struct {                                                                                                 \
        type *items;                                                                                         \
        int count, capacity;                                                                                 \
    }
#define list_push(arena, list, value)                                                                        \
    do {                                                                                                     \
        if ((list)->count == (list)->capacity)                                                               \
            (list)->items =                                                                                  \
                arena_grow((arena), (list)->items, (list)->count, &(list)->capacity, sizeof *(list)->items); \
        (list)->items[(list)->count++] = (value);                                                            \
    } while (0)
void *arena_grow(struct arena *arena, void *items, int count, int *capacity, size_t item_size);

/* Room for `more` items behind those there are, for who knows how many will come. */
#define list_reserve(arena, list, more)                                                                      \
    do {                                                                                                     \
        if ((more) > (list)->capacity - (list)->count)                                                       \
            (list)->items = arena_reserve((arena), (list)->items, (list)->count, (more), &(list)->capacity,  \
                                          sizeof *(list)->items);                                            \
    } while (0)
void *arena_reserve(struct arena *arena, void *items, int count, int more, int *capacity, size_t item_size);

#endif
