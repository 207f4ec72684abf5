/*
 * flow_convert.c: conversions between dtypes, and calls of the library, in loops with branches; see flow.h.
 *
 * Consumes values; appends what converts them as dtype_cast does: integers wrap, a float becomes the nearest
 * integer towards 0 that there is, NaN 0.
 */
#include "flow_private.h"
#include "scalar_library.h"

#include <string.h>

int flow_call(struct flow_builder *builder, const char *function, bool gives_float, const int *operands,
              int count)
{
    struct flow_item item = flow_item(FLOW_CALL);
    for (int row = 0; scalar_library[row].name; row++)
        if (strcmp(scalar_library[row].name, function) == 0)
            item.function = scalar_library[row].address;
    if (!item.function || count > 3)
        return flow_refuse(builder);
    for (int k = 0; k < count; k++)
        item.operands[k] = operands[k];
    item.result = flow_new_value(builder, gives_float);
    return flow_add(builder, item);
}

int flow_wrapped(struct flow_builder *builder, akg_dtype dtype, int value)
{
    switch (dtype) {
    case AKG_UINT8:
        return flow_alu(builder, X86_AND, value, FLOW_NONE, 0xff);
    case AKG_UINT16:
        return flow_alu(builder, X86_AND, value, FLOW_NONE, 0xffff);
    case AKG_INT8:
        return flow_shifted(builder, X86_SAR_BY, flow_shifted(builder, X86_SHL_BY, value, 56), 56);
    case AKG_INT16:
        return flow_shifted(builder, X86_SAR_BY, flow_shifted(builder, X86_SHL_BY, value, 48), 48);
    default:
        return value;
    }
}

/* The same bits, of which only the lower half counts. */
static int anew(struct flow_builder *builder, int value)
{
    struct flow_item item = flow_item(FLOW_MOVE);
    if (!builder->code->values.items[value].is_extended)
        return value;
    item.operands[0] = value;
    return flow_add(builder, item);
}

/* ---- halves ----------------------------------------------------------------------------------- */

static int to_general(struct flow_builder *builder, enum x86_form form, int value)
{
    struct flow_item item = flow_item(FLOW_TO_GENERAL);
    item.form = form;
    item.operands[0] = value;
    return flow_add_known(builder, item);
}

static int of_one(struct flow_builder *builder, enum flow_kind kind, enum x86_form form, int value)
{
    struct flow_item item = flow_item(kind);
    item.form = form;
    item.operands[0] = value;
    return flow_add_known(builder, item);
}

int flow_from_half(struct flow_builder *builder, akg_dtype dtype, int bits)
{
    if (dtype == AKG_BFLOAT16)
        return of_one(builder, FLOW_FROM_GENERAL, X86_NO_FORM, flow_shifted(builder, X86_SHL_BY, bits, 16));
    return of_one(builder, FLOW_FLOAT_ONE, X86_VCVTPH2PS,
                  of_one(builder, FLOW_FROM_GENERAL, X86_NO_FORM, bits));
}

/* The nearest one, of two the even one: what is cut off decides, and a carry goes where it belongs. NaN stays
 * one, whatever is cut off. */
static int bfloat_bits(struct flow_builder *builder, int value)
{
    enum { QUIET = 0x40 };
    int bits = to_general(builder, X86_VMOVD_FROM, value),
        upper = flow_shifted(builder, X86_SHR_BY, bits, 16);
    int odd = flow_alu(builder, X86_AND, upper, FLOW_NONE, 1);
    int nearest = flow_alu(builder, X86_ADD, flow_alu(builder, X86_ADD, bits, FLOW_NONE, 0x7fff), odd, 0);
    struct flow_item item = flow_item(FLOW_COMPARE_CHOOSE);
    item.operands[0] = flow_alu(builder, X86_AND, bits, FLOW_NONE, INT32_MAX);
    item.by_immediate = item.narrow = true;
    item.immediate = 0x7f800000; /* infinity */
    item.condition = FLOW_ABOVE;
    item.operands[2] = flow_alu(builder, X86_OR, upper, FLOW_NONE, QUIET);
    item.operands[3] = flow_shifted(builder, X86_SHR_BY, nearest, 16);
    return flow_add_known(builder, item);
}

int flow_half_bits(struct flow_builder *builder, akg_dtype dtype, int value)
{
    if (dtype == AKG_BFLOAT16)
        return bfloat_bits(builder, value);
    return to_general(builder, X86_VMOVD_FROM, of_one(builder, FLOW_TO_HALF, X86_NO_FORM, value));
}

int flow_rounded_half(struct flow_builder *builder, akg_dtype dtype, int value)
{
    if (dtype == AKG_BFLOAT16)
        return flow_from_half(builder, dtype, bfloat_bits(builder, value));
    return of_one(builder, FLOW_FLOAT_ONE, X86_VCVTPH2PS, of_one(builder, FLOW_TO_HALF, X86_NO_FORM, value));
}

/* By a function that rounds once and gives the bits: what is wider than a float would be rounded twice. */
static int to_half_by(struct flow_builder *builder, akg_dtype to, const char *half, const char *bfloat,
                      int value)
{
    return flow_from_half(builder, to,
                          flow_call(builder, to == AKG_FLOAT16 ? half : bfloat, false, &value, 1));
}

/* ---- to floats ------------------------------------------------------------------------------- */

static uint64_t bits_of(double number)
{
    union {
        double number;
        uint64_t bits;
    } as = {.number = number};
    return as.bits;
}

static int to_float(struct flow_builder *builder, akg_dtype to, akg_dtype from, int value);

/* The halves are numbers without a fraction, so that their sum alone is rounded. */
static int natural_to_double(struct flow_builder *builder, int value)
{
    int high = to_float(builder, AKG_FLOAT64, AKG_INT64, flow_shifted(builder, X86_SHR_BY, value, 32));
    int low =
        to_float(builder, AKG_FLOAT64, AKG_INT64, flow_extended(builder, AKG_UINT32, anew(builder, value)));
    high = flow_float(builder, true, X86_VMULSD, high, flow_number(builder, true, bits_of(4294967296.0)), 0);
    return flow_float(builder, true, X86_VADDSD, high, low, 0);
}

/* Of what has 64 bits the double of half of it, whose lowest bit says whether there were others: what is
 * rounded is the same then. */
static int natural_to_single(struct flow_builder *builder, int value)
{
    int rest = flow_alu(builder, X86_AND, value, FLOW_NONE, 1);
    struct flow_item item = flow_item(FLOW_COMPARE_CHOOSE);
    item.operands[0] = value;
    item.by_immediate = true;
    item.condition = FLOW_LESS;
    item.operands[2] = flow_alu(builder, X86_OR, flow_shifted(builder, X86_SHR_BY, value, 1), rest, 0);
    item.operands[3] = value;
    int number = to_float(builder, AKG_FLOAT32, AKG_INT64, flow_add_known(builder, item));
    int sign = of_one(builder, FLOW_FROM_GENERAL, X86_NO_FORM, flow_shifted(builder, X86_SAR_BY, value, 63));
    return flow_float(builder, false, X86_VADDSS, number,
                      flow_float(builder, false, X86_VANDPS, number, sign, 0), 0);
}

static int to_float(struct flow_builder *builder, akg_dtype to, akg_dtype from, int value)
{
    struct flow_item item = flow_item(FLOW_TO_FLOAT);
    if (from == AKG_UINT64)
        return (to == AKG_FLOAT32 ? natural_to_single : natural_to_double)(builder, value);
    item.wide = to == AKG_FLOAT64;
    item.operands[0] = flow_extended(builder, from, value);
    return flow_add_known(builder, item);
}

static int between_floats(struct flow_builder *builder, bool wide, int value)
{
    return flow_float(builder, wide, wide ? X86_VCVTSS2SD : X86_VCVTSD2SS, value, value, 0);
}

/* ---- to integers ------------------------------------------------------------------------------- */

static int double_pair(struct flow_builder *builder, enum x86_form form, int a, int b, int immediate)
{
    return flow_float(builder, true, form, a, b, immediate);
}

/* What is too large becomes the least number, one less than which, wrapped, is the greatest one. What is too
 * small is the least one anyway. */
static int to_int64(struct flow_builder *builder, int value)
{
    enum { NOT_LESS = 5 };
    int beyond = flow_number(builder, true, bits_of(9223372036854775808.0));
    int large = double_pair(builder, X86_VCMPPD, value, beyond, NOT_LESS);
    int whole = to_general(builder, X86_VCVTTSD2SI, value);
    return flow_alu(builder, X86_ADD, whole, to_general(builder, X86_VMOVQ_FROM, large), 0);
}

/* Of any number, what the dtype of less than 64 bits has nearest; of NaN 0. */
static int saturated(struct flow_builder *builder, akg_dtype to, int value)
{
    enum { ORDERED = 7 };
    int bits = dtype_table[to].size * 8;
    bool is_signed = dtype_is_signed(to);
    double least = is_signed ? -(double)((int64_t)1 << (bits - 1)) : 0,
           most = (double)(((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1);
    int number =
        double_pair(builder, X86_VANDPD, value, double_pair(builder, X86_VCMPPD, value, value, ORDERED), 0);
    number = double_pair(builder, X86_VMINSD, number, flow_number(builder, true, bits_of(most)), 0);
    number = double_pair(builder, X86_VMAXSD, number, flow_number(builder, true, bits_of(least)), 0);
    return to_general(builder, X86_VCVTTSD2SI, number);
}

/* What is a number of 32 bits in 64 is so at once; whoever waits for it waits half as long. */
static int to_int32(struct flow_builder *builder, bool wide, int value)
{
    struct flow_item extend = flow_item(FLOW_EXTEND), jump = flow_item(FLOW_COMPARE_JUMP);
    int result = flow_new_value(builder, false), end = flow_new_label(builder), from = flow_here(builder);
    extend.form = X86_MOVSXD;
    extend.operands[0] = to_general(builder, wide ? X86_VCVTTSD2SI : X86_VCVTTSS2SI, value);
    flow_move(builder, result, extend.operands[0]);
    jump.operands[0] = flow_add(builder, extend);
    jump.operands[1] = extend.operands[0];
    jump.condition = FLOW_EQUAL;
    jump.label = end;
    flow_add(builder, jump);
    flow_move(builder, result,
              saturated(builder, AKG_INT32, wide ? value : between_floats(builder, true, value)));
    flow_place(builder, end, from);
    return result;
}

static int to_integer(struct flow_builder *builder, akg_dtype to, bool wide, int value)
{
    enum { ORDERED = 7 };
    if (to == AKG_INT32)
        return to_int32(builder, wide, value);
    value = wide ? value : between_floats(builder, true, value);
    if (to == AKG_UINT64)
        return flow_call(builder, "akg_double_to_uint64", false, &value, 1);
    if (to != AKG_INT64)
        return saturated(builder, to, value);
    /* NaN becomes 0 */
    return to_int64(builder, double_pair(builder, X86_VANDPD, value,
                                         double_pair(builder, X86_VCMPPD, value, value, ORDERED), 0));
}

static int float_to_bool(struct flow_builder *builder, bool wide, int value)
{
    enum { NOT_EQUAL = 4 };
    int differs = flow_float(builder, wide, wide ? X86_VCMPPD : X86_VCMPPS, value,
                             flow_number(builder, wide, 0), NOT_EQUAL);
    int mask = to_general(builder, X86_VMOVD_FROM, differs);
    return flow_alu(builder, X86_AND, mask, FLOW_NONE, 1);
}

/* ---- all ------------------------------------------------------------------------------------------ */

static int float_to_half(struct flow_builder *builder, akg_dtype to, bool wide, int value)
{
    if (wide)
        return to_half_by(builder, to, "akg_double_to_half", "akg_double_to_bfloat", value);
    return flow_rounded_half(builder, to, value);
}

static int integer_to_half(struct flow_builder *builder, akg_dtype to, akg_dtype from, int value)
{
    if (from == AKG_INT64)
        return to_half_by(builder, to, "akg_int64_to_half", "akg_int64_to_bfloat", value);
    if (from == AKG_UINT64)
        return to_half_by(builder, to, "akg_uint64_to_half", "akg_uint64_to_bfloat", value);
    if (dtype_table[from].size < 4) /* a float holds it */
        return flow_rounded_half(builder, to, to_float(builder, AKG_FLOAT32, from, value));
    return float_to_half(builder, to, true, to_float(builder, AKG_FLOAT64, from, value));
}

int flow_cast(struct flow_builder *builder, akg_dtype to, akg_dtype from, int value)
{
    if (to == from || builder->refused)
        return value;
    if (dtype_is_float(from)) {
        bool wide = from == AKG_FLOAT64;
        if (to == AKG_BOOL)
            return float_to_bool(builder, wide, value);
        if (dtype_is_half(to))
            return float_to_half(builder, to, wide, value);
        if (to == AKG_FLOAT32 && !wide)
            return value; /* of a half, which is one */
        if (dtype_is_float(to))
            return between_floats(builder, to == AKG_FLOAT64, value);
        return to_integer(builder, to, wide, value);
    }
    if (dtype_is_half(to))
        return integer_to_half(builder, to, from, value);
    if (dtype_is_float(to))
        return to_float(builder, to, from, value);
    if (to == AKG_BOOL) {
        struct flow_item item = flow_item(FLOW_COMPARE_SET);
        item.operands[0] = value;
        item.by_immediate = true;
        item.condition = FLOW_NOT_EQUAL;
        item.narrow = !flow_is_64(from);
        return flow_add(builder, item);
    }
    if (flow_is_64(to))
        return flow_extended(builder, from, value);
    bool fits = dtype_table[to].size > dtype_table[from].size && dtype_table[from].size < 4 &&
                (dtype_is_signed(to) || !dtype_is_signed(from));
    return fits ? value : flow_wrapped(builder, to, anew(builder, value));
}
