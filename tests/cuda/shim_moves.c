/*
 * shim_moves.c: several elements at a time, as compiled text moves them.
 *
 * Consumes addresses from compiled text, on its fibres (shim_threads.c); they must be such as a device's
 * instructions for that take, else it is a fault.
 */
#include "shim_private.h"

#include <stdint.h>

/* Eight, or four, elements that must lie as a device's wide instructions want them: else it is a fault. */
ON_FIBRE static void move_eight(void *to, const void *from, const void *aligned, size_t size)
{
    if ((uintptr_t)aligned % (8 * size) != 0)
        shim_leave_after_fault();
    for (size_t k = 0; k < 8 * size; k++)
        ((volatile char *)to)[k] = ((const char *)from)[k];
}

ON_FIBRE static void take_8_eight(unsigned char *to, const unsigned char *from)
{
    move_eight(to, from, from, sizeof *to);
}

ON_FIBRE static void take_16_eight(unsigned short *to, const unsigned short *from)
{
    move_eight(to, from, from, sizeof *to);
}

ON_FIBRE static void move_four(void *to, const void *from, const void *aligned, size_t size)
{
    if ((uintptr_t)aligned % (4 * size < 16 ? 4 * size : 16) != 0)
        shim_leave_after_fault();
    for (size_t k = 0; k < 4 * size; k++)
        ((volatile char *)to)[k] = ((const char *)from)[k];
}

ON_FIBRE static void take_16(unsigned short *to, const unsigned short *from)
{
    move_four(to, from, from, sizeof *to);
}

ON_FIBRE static void take_32(float *to, const float *from)
{
    move_four(to, from, from, sizeof *to);
}

ON_FIBRE static void take_64(double *to, const double *from)
{
    move_four(to, from, from, sizeof *to);
}

/* What is written for the block, or for the others: a device has instructions for either, and it is a fault
 * to take the wrong one. */
ON_FIBRE static void put_four(void *to, const void *from, size_t size)
{
    if (!shim_is_shared(to))
        shim_leave_after_fault();
    move_four(to, from, to, size);
}

ON_FIBRE static void leave_four(void *to, const void *from, size_t size)
{
    if (shim_is_shared(to) || shim_is_own(to))
        shim_leave_after_fault();
    move_four(to, from, to, size);
}

ON_FIBRE static void put_32(float *to, const float *from)
{
    put_four(to, from, sizeof *to);
}

ON_FIBRE static void put_pair(float *to, const float *from)
{
    if ((uintptr_t)to % 8 != 0 || !shim_is_shared(to))
        shim_leave_after_fault();
    for (int k = 0; k < 2; k++)
        ((volatile float *)to)[k] = from[k];
}

ON_FIBRE static void put_64(double *to, const double *from)
{
    put_four(to, from, sizeof *to);
}

ON_FIBRE static void put_words(uint32_t *to, const uint32_t *from)
{
    put_four(to, from, sizeof *to);
}

ON_FIBRE static void leave_eight(void *to, const void *from, size_t size)
{
    if (shim_is_shared(to) || shim_is_own(to))
        shim_leave_after_fault();
    move_eight(to, from, to, size);
}

ON_FIBRE static void leave_8_eight(unsigned char *to, const unsigned char *from)
{
    leave_eight(to, from, sizeof *to);
}

ON_FIBRE static void leave_16_eight(unsigned short *to, const unsigned short *from)
{
    leave_eight(to, from, sizeof *to);
}

ON_FIBRE static void leave_8(unsigned char *to, const unsigned char *from)
{
    leave_four(to, from, sizeof *to);
}

ON_FIBRE static void leave_16(unsigned short *to, const unsigned short *from)
{
    leave_four(to, from, sizeof *to);
}

ON_FIBRE static void leave_32(float *to, const float *from)
{
    leave_four(to, from, sizeof *to);
}

ON_FIBRE static void leave_64(double *to, const double *from)
{
    leave_four(to, from, sizeof *to);
}

ON_FIBRE static void leave_words(uint32_t *to, const uint32_t *from)
{
    leave_four(to, from, sizeof *to);
}

ON_FIBRE static void leave_longs(unsigned long long *to, const unsigned long long *from)
{
    leave_four(to, from, sizeof *to);
}

ON_FIBRE static void take_8(unsigned char *to, const unsigned char *from)
{
    move_four(to, from, from, sizeof *to);
}

ON_FIBRE static void take_words(uint32_t *to, const uint32_t *from)
{
    move_four(to, from, from, sizeof *to);
}

ON_FIBRE static void take_longs(unsigned long long *to, const unsigned long long *from)
{
    move_four(to, from, from, sizeof *to);
}

/* Words. */
ON_FIBRE static void move_words(void *to, const void *from, const void *aligned, size_t words)
{
    if ((uintptr_t)aligned % (4 * words) != 0)
        shim_leave_after_fault();
    for (size_t k = 0; k < 4 * words; k++)
        ((volatile char *)to)[k] = ((const char *)from)[k];
}

ON_FIBRE static void take_one(uint32_t *to, const void *from)
{
    move_words(to, from, from, 1);
}

ON_FIBRE static void take_two(uint32_t *to, const void *from)
{
    move_words(to, from, from, 2);
}

ON_FIBRE static void take_four(uint32_t *to, const void *from)
{
    move_words(to, from, from, 4);
}

ON_FIBRE static void put_in_square(void *to, const uint32_t *from, size_t words)
{
    if (!shim_is_shared(to))
        shim_leave_after_fault();
    move_words(to, from, to, words);
}

ON_FIBRE static void put_one(void *to, const uint32_t *from)
{
    put_in_square(to, from, 1);
}

ON_FIBRE static void put_two(void *to, const uint32_t *from)
{
    put_in_square(to, from, 2);
}

ON_FIBRE static void put_four_words(void *to, const uint32_t *from)
{
    put_in_square(to, from, 4);
}

/* Four pieces of four elements of such a size. */
ON_FIBRE static void turn(uint32_t *words, size_t size)
{
    char from[64];
    volatile char *to = (volatile char *)words;
    for (size_t k = 0; k < 16 * size; k++)
        from[k] = to[k];
    for (size_t k = 0; k < 16 * size; k++) {
        size_t element = k / size;
        to[k] = from[(element % 4 * 4 + element / 4) * size + k % size];
    }
}

ON_FIBRE static void turn_8(uint32_t *words)
{
    turn(words, 1);
}

ON_FIBRE static void turn_16(uint32_t *words)
{
    turn(words, 2);
}

ON_FIBRE static void turn_32(uint32_t *words)
{
    turn(words, 4);
}

const struct shim_symbol shim_moves[] = {
    {"akg_turn_8", "void akg_turn_8(unsigned int *words);", turn_8},
    {"akg_turn_16", "void akg_turn_16(unsigned int *words);", turn_16},
    {"akg_turn_32", "void akg_turn_32(unsigned int *words);", turn_32},
    {"akg_take_one", "void akg_take_one(unsigned int *to, const void *from);", take_one},
    {"akg_take_two", "void akg_take_two(unsigned int *to, const void *from);", take_two},
    {"akg_take_four", "void akg_take_four(unsigned int *to, const void *from);", take_four},
    {"akg_put_one", "void akg_put_one(void *to, const unsigned int *from);", put_one},
    {"akg_put_two", "void akg_put_two(void *to, const unsigned int *from);", put_two},
    {"akg_put_four", "void akg_put_four(void *to, const unsigned int *from);", put_four_words},
    {"akg_put_words", "void akg_put_words(unsigned int *to, const unsigned int *from);", put_words},
    {"akg_take_8", "void akg_take_8(unsigned char *to, const unsigned char *from);", take_8},
    {"akg_take_words", "void akg_take_words(unsigned int *to, const unsigned int *from);", take_words},
    {"akg_take_longs", "void akg_take_longs(unsigned long long *to, const unsigned long long *from);",
     take_longs},
    {"akg_leave_8", "void akg_leave_8(unsigned char *to, const unsigned char *from);", leave_8},
    {"akg_leave_words", "void akg_leave_words(unsigned int *to, const unsigned int *from);", leave_words},
    {"akg_leave_longs", "void akg_leave_longs(unsigned long long *to, const unsigned long long *from);",
     leave_longs},
    {"akg_take_8_eight", "void akg_take_8_eight(unsigned char *to, const unsigned char *from);",
     take_8_eight},
    {"akg_take_16_eight", "void akg_take_16_eight(unsigned short *to, const unsigned short *from);",
     take_16_eight},
    {"akg_leave_8_eight", "void akg_leave_8_eight(unsigned char *to, const unsigned char *from);",
     leave_8_eight},
    {"akg_leave_16_eight", "void akg_leave_16_eight(unsigned short *to, const unsigned short *from);",
     leave_16_eight},
    {"akg_take_16", "void akg_take_16(unsigned short *to, const unsigned short *from);", take_16},
    {"akg_take_32", "void akg_take_32(float *to, const float *from);", take_32},
    {"akg_take_64", "void akg_take_64(double *to, const double *from);", take_64},
    {"akg_leave_16", "void akg_leave_16(unsigned short *to, const unsigned short *from);", leave_16},
    {"akg_leave_32", "void akg_leave_32(float *to, const float *from);", leave_32},
    {"akg_leave_64", "void akg_leave_64(double *to, const double *from);", leave_64},
    {"akg_put_32", "void akg_put_32(float *to, const float *from);", put_32},
    {"akg_put_pair", "void akg_put_pair(float *to, const float *from);", put_pair},
    {"akg_put_64", "void akg_put_64(double *to, const double *from);", put_64},
    {NULL, NULL, NULL}};
