/*
 * unwind.c: see unwind.h.
 *
 * What a function saves, and where its frame lies, is read off its first instructions, which are of few
 * forms: pushes, and the move that makes rbp the frame pointer. Where it gives this back is as plain:
 * libtcc's code ends with `leave; ret`, the vector loops' with pops in the opposite order, `vzeroupper` and
 * `ret`; both are the only way out. The format is that of DWARF 4, 6.4, as the Linux Standard Base 5.0 has it
 * in .eh_frame; numbers of registers are those of the System V ABI for x86-64, figure 3.36.
 */
#include "unwind.h"

#include <stdint.h>
#include <string.h>

enum {
    DWARF_RBP = 6,
    DWARF_RSP = 7,
    DWARF_RETURN = 16,
    CFA_ADVANCE_4 = 0x04,
    CFA_DEFINE = 0x0c,
    CFA_DEFINE_REGISTER = 0x0d,
    CFA_DEFINE_OFFSET = 0x0e,
    CFA_OFFSET = 0x80, /* the register in the lower bits */
    CFA_RESTORE = 0xc0
};

/* By the processor's numbers. */
static const unsigned char dwarf_numbers[] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

enum { MOST_PUSHED = 12 };

/* The pushes that a function begins with, and what it ends with. */
struct entry {
    int count;
    int registers[MOST_PUSHED]; /* DWARF's numbers */
    int lengths[MOST_PUSHED];   /* of the instructions, in bytes */
    int frame_at;               /* pushes before rbp becomes the frame pointer; -1: it does not */
};

static int push_at(const unsigned char *code, const unsigned char *end, int *length)
{
    *length = end - code >= 2 && *code == 0x41 ? 2 : 1;
    if (end - code < *length || (code[*length - 1] & 0xf8) != 0x50)
        return -1;
    return dwarf_numbers[(code[*length - 1] & 7) + (*length == 2 ? 8 : 0)];
}

/* mov rbp, rsp, in either form. */
static bool makes_frame(const unsigned char *code, const unsigned char *end)
{
    return end - code >= 3 && code[0] == 0x48 &&
           ((code[1] == 0x89 && code[2] == 0xe5) || (code[1] == 0x8b && code[2] == 0xec));
}

static struct entry read_entry(const struct code_function *function)
{
    const unsigned char *code = function->code, *end = code + function->size;
    struct entry entry = {.frame_at = -1};
    while (entry.count < MOST_PUSHED) {
        if (entry.frame_at < 0 && entry.count && entry.registers[entry.count - 1] == DWARF_RBP &&
            makes_frame(code, end)) {
            entry.frame_at = entry.count;
            code += 3;
        }
        int length, number = push_at(code, end, &length);
        if (number < 0)
            break;
        entry.registers[entry.count] = number;
        entry.lengths[entry.count++] = length;
        code += length;
    }
    return entry;
}

/* ---- bytes ------------------------------------------------------------------------------------------- */

static void append_number(struct text *section, uint64_t number, int size)
{
    char bytes[8];
    memcpy(bytes, &number, sizeof bytes);
    text_append(section, bytes, (size_t)size);
}

static void append_advance(struct text *section, size_t by)
{
    append_number(section, CFA_ADVANCE_4, 1);
    append_number(section, by, 4);
}

/* Offsets here are below 128, which LEB128 writes as one byte. */
static void append_pair(struct text *section, int instruction, int operand)
{
    append_number(section, (unsigned)instruction, 1);
    append_number(section, (unsigned)operand, 1);
}

/* Fills up to a multiple of 8 with instructions that do nothing, and puts the length in front. */
static void finish_entry(struct text *section, size_t start)
{
    while (section->length % 8 && !section->failed)
        text_char(section, 0);
    uint32_t length = (uint32_t)(section->length - start - 4);
    if (!section->failed)
        memcpy(section->data + start, &length, sizeof length);
}

static void append_common(struct text *section)
{
    size_t start = section->length;
    append_number(section, 0, 8);    /* the length, to come; this is a common entry */
    append_number(section, 1, 1);    /* version */
    append_number(section, 0, 1);    /* no augmentation: addresses are plain */
    append_number(section, 1, 1);    /* offsets in the code are in bytes, */
    append_number(section, 0x78, 1); /* on the stack in words of -8 */
    append_number(section, DWARF_RETURN, 1);
    append_number(section, CFA_DEFINE, 1);
    append_pair(section, DWARF_RSP, 8);
    append_pair(section, CFA_OFFSET | DWARF_RETURN, 1);
    finish_entry(section, start);
}

/* Returns how far into the function the rows are. */
static size_t append_pushes(struct text *section, const struct entry *entry)
{
    size_t at = 0;
    for (int k = 0; k < entry->count; k++) {
        append_advance(section, (size_t)entry->lengths[k]);
        at += (size_t)entry->lengths[k];
        if (entry->frame_at < 0 || k < entry->frame_at)
            append_pair(section, CFA_DEFINE_OFFSET, 16 + 8 * k);
        append_pair(section, CFA_OFFSET | entry->registers[k], k + 2);
        if (entry->frame_at == k + 1) {
            append_advance(section, 3);
            at += 3;
            append_pair(section, CFA_DEFINE_REGISTER, DWARF_RBP);
        }
    }
    return at;
}

/* `leave; ret` */
static void append_leave(struct text *section, const struct code_function *function, size_t at)
{
    append_advance(section, function->size - 1 - at);
    append_number(section, CFA_DEFINE, 1);
    append_pair(section, DWARF_RSP, 8);
    append_number(section, CFA_RESTORE | DWARF_RBP, 1);
}

/* The pops before `vzeroupper; ret`. */
static void append_pops(struct text *section, const struct code_function *function, const struct entry *entry,
                        size_t at)
{
    size_t pop = function->size - 4;
    for (int k = 0; k < entry->count; k++)
        pop -= (size_t)entry->lengths[k];
    for (int k = entry->count - 1; k >= 0; k--) {
        pop += (size_t)entry->lengths[k];
        append_advance(section, pop - at);
        at = pop;
        if (entry->registers[k] == DWARF_RBP && entry->frame_at > 0) {
            append_number(section, CFA_DEFINE, 1);
            append_pair(section, DWARF_RSP, 8);
        } else if (entry->frame_at < 0) {
            append_pair(section, CFA_DEFINE_OFFSET, 8 + 8 * k);
        }
        append_number(section, (unsigned)(CFA_RESTORE | entry->registers[k]), 1);
    }
}

static void append_function(struct text *section, const struct code_function *function, size_t common)
{
    static const unsigned char leave[] = {0xc9, 0xc3}, zero[] = {0xc5, 0xf8, 0x77, 0xc3};
    const unsigned char *end = (const unsigned char *)function->code + function->size;
    size_t start = section->length;
    struct entry entry = read_entry(function);
    append_number(section, 0, 4);
    append_number(section, start + 4 - common, 4);
    append_number(section, (uintptr_t)function->code, 8);
    append_number(section, function->size, 8);
    size_t at = append_pushes(section, &entry);
    if (function->size > at + 2 && memcmp(end - 2, leave, 2) == 0)
        append_leave(section, function, at);
    else if (function->size > 2 * at + 4 && memcmp(end - 4, zero, 4) == 0)
        append_pops(section, function, &entry, at);
    finish_entry(section, start);
}

void unwind_append(struct text *section, const struct code_function *functions, int count)
{
    size_t common = section->length;
    append_common(section);
    for (int k = 0; k < count; k++)
        append_function(section, &functions[k], common);
    append_number(section, 0, 4);
}
