/*
 * flow_flags.c: comparisons whose answer the flags still hold.
 *
 * Consumes the instructions of a loop with branches, with registers of the machine; drops each comparison
 * that says again what the last one said: choices by one condition compare once, for a move changes no flag.
 */
#include "flow_private.h"

#include "vector_x86_loop.h"

static bool compares(enum x86_form form)
{
    switch (form) {
    case X86_CMP:
    case X86_CMP_DWORD:
    case X86_CMP_BY:
    case X86_CMP_DWORD_BY:
    case X86_TEST_BY:
    case X86_TEST_DWORD_BY:
    case X86_VUCOMISS:
    case X86_VUCOMISD:
        return true;
    default:
        return false;
    }
}

static bool keeps_flags(enum x86_form form)
{
    switch (form) {
    case X86_MOV:
    case X86_MOV_STORE:
    case X86_MOV_DWORD:
    case X86_MOV_DWORD_STORE:
    case X86_MOV_BYTE_STORE:
    case X86_MOV_WORD_STORE:
    case X86_MOVZX_BYTE:
    case X86_MOVZX_WORD:
    case X86_MOVSX_BYTE:
    case X86_MOVSX_WORD:
    case X86_MOVSXD:
    case X86_MOV_IMMEDIATE:
    case X86_LEA:
    case X86_CMOVB:
    case X86_CMOVAE:
    case X86_CMOVE:
    case X86_CMOVNE:
    case X86_CMOVBE:
    case X86_CMOVA:
    case X86_CMOVL:
    case X86_CMOVGE:
    case X86_CMOVLE:
    case X86_CMOVG:
    case X86_VMOVSS_LOAD:
    case X86_VMOVSS_STORE:
    case X86_VMOVSD_LOAD:
    case X86_VMOVSD_STORE:
        return true;
    default:
        return false;
    }
}

static bool is_same(const struct x86_instruction *a, const struct x86_instruction *b)
{
    return a->form == b->form && a->reg == b->reg && a->rm == b->rm && a->has_memory == b->has_memory &&
           a->immediate == b->immediate && a->label == b->label && a->memory.base == b->memory.base &&
           a->memory.index == b->memory.index && a->memory.scale == b->memory.scale &&
           a->memory.displacement == b->memory.displacement;
}

static bool stores(const struct x86_instruction *instruction)
{
    return instruction->has_memory && !machine_written(instruction);
}

void flow_drop_comparisons(struct machine *machine)
{
    struct x86_instruction last, *items = machine->body.items;
    bool holds = false;
    int kept = 0;
    for (int k = 0; k < machine->body.count; k++) {
        const struct x86_instruction *item = &items[k];
        if (holds && is_same(item, &last))
            continue;
        if (compares(item->form)) {
            last = *item;
            holds = true;
        } else if (holds) {
            holds = keeps_flags(item->form) && !(machine_written(item) & machine_read(&last)) &&
                    !(last.has_memory && stores(item));
        }
        items[kept++] = *item;
    }
    machine->body.count = kept;
}
