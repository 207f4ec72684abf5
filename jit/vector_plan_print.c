/*
 * vector_plan_print.c: the machine code of a plan as text.
 *
 * Consumes a loop of a plan and its listing; produces what `akgrun emit --stage asm` prints of it: a heading,
 * the instructions with the lines of the program that they are for, and the constants.
 */
#include "vector_listing.h"
#include "vector_plan.h"

static void print_listing(struct text *out, const struct vector_listing *listing)
{
    int line = 0;
    for (int k = 0; k < listing->items.count; k++) {
        const struct x86_instruction *instruction = &listing->items.items[k];
        if (instruction->form == X86_NO_FORM) {
            text_format(out, ".L%d:\n", instruction->label);
            continue;
        }
        size_t start = out->length;
        text_string(out, "    ");
        x86_print(out, instruction);
        if (instruction->line && instruction->line != line) {
            size_t width = out->length - start;
            text_repeat(out, ' ', width < 60 ? (int)(60 - width) : 1);
            text_format(out, "# line %d", instruction->line);
        }
        line = instruction->line;
        text_char(out, '\n');
    }
    for (int k = 0; k < listing->data.count; k++) {
        const struct vector_datum *datum = &listing->data.items[k];
        text_format(out, ".L%d: %s", datum->label,
                    datum->bytes       ? ".byte"
                    : datum->size == 8 ? ".quad"
                                       : ".long");
        for (int byte = 0; datum->bytes && byte < datum->size; byte++)
            text_format(out, "%s%d", byte ? ", " : " ", datum->bytes[byte]);
        if (!datum->bytes)
            text_format(out, " 0x%llx", (unsigned long long)datum->bits);
        text_char(out, '\n');
    }
}

void vector_plan_print_loop(struct text *out, int number, const struct vector_loop *loop,
                            const struct vector_listing *listing)
{
    int bits = loop->wide ? 64 : 32, lanes = listing->lanes, slim = listing->slim_lanes;
    if (loop->flow)
        text_format(out, "\nakg_vector_%d: # line %d, with branches\n", number, loop->stmt->span.line);
    else if (loop->copies)
        text_format(out, "\nakg_vector_%d: # line %d, short rows are copied\n", number,
                    loop->stmt->span.line);
    else if (loop->band)
        text_format(out, "\nakg_vector_%d: # line %d, a band of %d parts\n", number, loop->stmt->span.line,
                    loop->band->parts.count);
    else
        text_format(out, "\nakg_vector_%d: # line %d, %d lane%s of %d bits", number, loop->stmt->span.line,
                    lanes, lanes == 1 ? "" : "s", bits);
    if (loop->nest && loop->nest->is_along)
        text_string(out, " along the innermost loop");
    if (slim && !loop->band && !loop->flow)
        text_format(out, " behind %d of %d", slim, lanes * bits / slim);
    if (!loop->band && !loop->flow && !loop->copies)
        text_string(out, "\n");
    print_listing(out, listing);
}
