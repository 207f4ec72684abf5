/*
 * emit_cuda_combine.c: accumulating, by threads together.
 *
 * Consumes scalars that a chain of loops accumulates, and stores that accumulate into elements. Each thread
 * begins with what changes nothing; at the end a block combines what its threads have, in an order that is
 * the same each time, and a chain of the whole grid leaves what its blocks have to the step behind it.
 * Elements are accumulated into atomically. The functions that do it are texts here, made for the types that
 * are used.
 */
#include "emit_cuda_private.h"

#include <string.h>

/* ---- texts ------------------------------------------------------------------------------------ */

/* How two values are combined, by types of the functions' names. */
static const struct combining_row {
    const char *name, *real, *integer; /* of `a` and `b`; NULL: there is none */
} combinings[] = {{"add", "a + b", "(T)((unsigned long long)a + (unsigned long long)b)"},
                  {"sub", "a - b", "(T)((unsigned long long)a - (unsigned long long)b)"},
                  {"mul", "a * b", "(T)((unsigned long long)a * (unsigned long long)b)"},
                  {"min", "akg_min$(a, b)", "b < a ? b : a"},
                  {"max", "akg_max$(a, b)", "a < b ? b : a"},
                  {"bitand", NULL, "a & b"},
                  {"bitor", NULL, "a | b"},
                  {"bitxor", NULL, "a ^ b"}};

static const struct combined_type {
    const char *name, *type;
    const char *suffix; /* of functions of floats; NULL: integers */
    int bits;
} combined_types[] = {{"float32", "float", "f", 32},    {"float64", "double", "", 64},
                      {"int32", "int", NULL, 32},       {"uint32", "unsigned int", NULL, 32},
                      {"int64", "long long", NULL, 64}, {"uint64", "unsigned long long", NULL, 64}};

enum {
    COMBININGS = sizeof combinings / sizeof *combinings,
    COMBINED_TYPES = sizeof combined_types / sizeof *combined_types
};

/* Within each warp by exchange, then the warps in order: every thread gets the same, and each run does. */
static const char team_text[] = "__device__ static T akg_team_NAME(T a)\n"
                                "{\n"
                                "    __shared__ T parts[32];\n"
                                "    for (int lane = 16; lane > 0; lane /= 2) {\n"
                                "        const T b = akg_exchange_TYPE(a, lane);\n"
                                "        a = COMBINED;\n"
                                "    }\n"
                                "    __syncthreads();\n"
                                "    if (threadIdx.x % 32 == 0)\n"
                                "        parts[threadIdx.x / 32] = a;\n"
                                "    __syncthreads();\n"
                                "    a = parts[0];\n"
                                "    for (unsigned int k = 1; k < blockDim.x / 32; k++) {\n"
                                "        const T b = parts[k];\n"
                                "        a = COMBINED;\n"
                                "    }\n"
                                "    return a;\n"
                                "}\n";

/* The same where there are many warps, 32 at most and a power of two: by exchange again. */
static const char block_text[] = "__device__ static T akg_block_NAME(T a, int warps)\n"
                                 "{\n"
                                 "    __shared__ T parts[32];\n"
                                 "    for (int lane = 16; lane > 0; lane /= 2) {\n"
                                 "        const T b = akg_exchange_TYPE(a, lane);\n"
                                 "        a = COMBINED;\n"
                                 "    }\n"
                                 "    __syncthreads();\n"
                                 "    if (threadIdx.x % 32 == 0)\n"
                                 "        parts[threadIdx.x / 32] = a;\n"
                                 "    __syncthreads();\n"
                                 "    a = parts[threadIdx.x % (unsigned int)warps];\n"
                                 "    for (int lane = warps / 2; lane > 0; lane /= 2) {\n"
                                 "        const T b = akg_exchange_TYPE(a, lane);\n"
                                 "        a = COMBINED;\n"
                                 "    }\n"
                                 "    return a;\n"
                                 "}\n";

/* The same for each of `lanes` neighbours: what every `lanes`th thread has, lanes being a power of two up to
 * 32. */
static const char lanes_text[] = "__device__ static T akg_lanes_NAME(T a, int lanes)\n"
                                 "{\n"
                                 "    __shared__ T parts[256];\n"
                                 "    const unsigned int at = threadIdx.x % (unsigned int)lanes;\n"
                                 "    for (int lane = 16; lane >= lanes; lane /= 2) {\n"
                                 "        const T b = akg_exchange_TYPE(a, lane);\n"
                                 "        a = COMBINED;\n"
                                 "    }\n"
                                 "    __syncthreads();\n"
                                 "    if (threadIdx.x % 32 == at)\n"
                                 "        parts[threadIdx.x] = a;\n"
                                 "    __syncthreads();\n"
                                 "    a = parts[at];\n"
                                 "    for (unsigned int k = 32; k < blockDim.x; k += 32) {\n"
                                 "        const T b = parts[k + at];\n"
                                 "        a = COMBINED;\n"
                                 "    }\n"
                                 "    return a;\n"
                                 "}\n";

/* Of `lanes` neighbours in a warp, those of the bits in `mates`. */
static const char squad_text[] = "__device__ static T akg_squad_NAME(T a, int lanes, unsigned int mates)\n"
                                 "{\n"
                                 "    for (int lane = lanes / 2; lane > 0; lane /= 2) {\n"
                                 "        const T b = akg_exchange_among_TYPE(a, lane, mates);\n"
                                 "        a = COMBINED;\n"
                                 "    }\n"
                                 "    return a;\n"
                                 "}\n";

/* What the threads before it have, and the block: within each warp by exchange with threads ever further off,
 * then the warps in order. */
static const char both_text[] = "__device__ static T akg_both_NAME(T a, T b)\n"
                                "{\n"
                                "    return COMBINED;\n"
                                "}\n";
static const char scan_text[] =
    "__device__ static T akg_scan_NAME(T all, T *before)\n"
    "{\n"
    "    __shared__ T parts[32];\n"
    "    const unsigned int warp = threadIdx.x / 32;\n"
    "    T here = *before;\n"
    "    for (int lane = 1; lane < 32; lane *= 2) {\n"
    "        const T other = akg_exchange_TYPE(all, lane);\n"
    "        const int behind = (threadIdx.x & lane) != 0;\n"
    "        here = behind ? akg_both_NAME(other, here) : here;\n"
    "        all = behind ? akg_both_NAME(other, all) : akg_both_NAME(all, other);\n"
    "    }\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x % 32 == 0)\n"
    "        parts[warp] = all;\n"
    "    __syncthreads();\n"
    "    all = parts[0];\n"
    "    for (unsigned int k = 1; k < blockDim.x / 32; k++) {\n"
    "        *before = k == warp ? all : *before;\n"
    "        all = akg_both_NAME(all, parts[k]);\n"
    "    }\n"
    "    *before = akg_both_NAME(*before, here);\n"
    "    return all;\n"
    "}\n";

/* The same where each thread has four of them: those of all threads' first ones stand before the second ones.
 */
static const char turns_text[] =
    "__device__ static T akg_turns_NAME(const T *own, T *before)\n"
    "{\n"
    "    __shared__ T parts[33];\n"
    "    const T none = before[0];\n"
    "    const unsigned int warp = threadIdx.x / 32;\n"
    "    __syncthreads();\n"
    "    #pragma unroll\n"
    "    for (int turn = 0; turn < 4; turn++) {\n"
    "        T here = none, all = own[turn];\n"
    "        for (int lane = 1; lane < 32; lane *= 2) {\n"
    "            const T other = akg_exchange_TYPE(all, lane);\n"
    "            const int behind = (threadIdx.x & lane) != 0;\n"
    "            here = behind ? akg_both_NAME(other, here) : here;\n"
    "            all = behind ? akg_both_NAME(other, all) : akg_both_NAME(all, other);\n"
    "        }\n"
    "        before[turn] = here;\n"
    "        if (threadIdx.x % 32 == 0)\n"
    "            parts[turn * 8 + warp] = all;\n"
    "    }\n"
    "    __syncthreads();\n"
    "    if (warp == 0) {\n"
    "        T here = none, all = parts[threadIdx.x];\n"
    "        for (int lane = 1; lane < 32; lane *= 2) {\n"
    "            const T other = akg_exchange_TYPE(all, lane);\n"
    "            const int behind = (threadIdx.x & lane) != 0;\n"
    "            here = behind ? akg_both_NAME(other, here) : here;\n"
    "            all = behind ? akg_both_NAME(other, all) : akg_both_NAME(all, other);\n"
    "        }\n"
    "        parts[threadIdx.x] = here;\n"
    "        parts[32] = all;\n"
    "    }\n"
    "    __syncthreads();\n"
    "    #pragma unroll\n"
    "    for (int turn = 0; turn < 4; turn++)\n"
    "        before[turn] = akg_both_NAME(parts[turn * 8 + warp], before[turn]);\n"
    "    return parts[32];\n"
    "}\n";
_Static_assert(CUDA_THREADS == 256, "the text above has eight warps");

/* x becomes factor * x + term. A factor of 0 forgets x, whatever it was, as a condition does that starts
 * anew. The factors of many iterations may overflow where what they do does not, so an x of 0 stays 0. */
static const char scaled_text[] =
    "struct akg_NAME {\n"
    "    TYPE factor, term;\n"
    "};\n"
    "__device__ static struct akg_NAME akg_made_NAME(TYPE factor, TYPE term)\n"
    "{\n"
    "    const struct akg_NAME made = {factor, term};\n"
    "    return made;\n"
    "}\n"
    "__device__ static TYPE akg_times_NAME(TYPE a, TYPE b)\n"
    "{\n"
    "    return a == 0 || (b == 0 && a == a) ? 0 : a * b;\n"
    "}\n"
    "__device__ static TYPE akg_applied_NAME(struct akg_NAME a, TYPE x)\n"
    "{\n"
    "    return akg_times_NAME(a.factor, x) + a.term;\n"
    "}\n"
    "__device__ static struct akg_NAME akg_after_NAME(struct akg_NAME a, struct akg_NAME b)\n"
    "{\n"
    "    return akg_made_NAME(akg_times_NAME(b.factor, a.factor), akg_applied_NAME(b, a.term));\n"
    "}\n"
    "__device__ static struct akg_NAME akg_exchange_NAME(struct akg_NAME a, int lane)\n"
    "{\n"
    "    return akg_made_NAME(akg_exchange_PART(a.factor, lane), akg_exchange_PART(a.term, lane));\n"
    "}\n";

static const char exchange_text[] = "#ifdef __CUDACC__\n"
                                    "__device__ static T akg_exchange_TYPE(T value, int lane)\n"
                                    "{\n"
                                    "    return __shfl_xor_sync(0xffffffffu, value, lane);\n"
                                    "}\n"
                                    "#endif\n";

static const char among_text[] =
    "#ifdef __CUDACC__\n"
    "__device__ static T akg_exchange_among_TYPE(T value, int lane, unsigned int mates)\n"
    "{\n"
    "    return __shfl_xor_sync(mates, value, lane);\n"
    "}\n"
    "#else\n"
    "#define akg_exchange_among_TYPE(value, lane, mates) akg_exchange_TYPE(value, lane)\n"
    "#endif\n";

static const char atomic_text[] = "__device__ static void akg_atomic_NAME(T *at, T b)\n"
                                  "{\n"
                                  "    union {\n"
                                  "        T value;\n"
                                  "        WORD bits;\n"
                                  "    } old, next;\n"
                                  "    old.value = *(volatile T *)at;\n"
                                  "    for (;;) {\n"
                                  "        const T a = old.value;\n"
                                  "        next.value = COMBINED;\n"
                                  "        const WORD found = SWAP((WORD *)at, old.bits, next.bits);\n"
                                  "        if (found == old.bits)\n"
                                  "            return;\n"
                                  "        old.bits = found;\n"
                                  "    }\n"
                                  "}\n";

/* What the device has an instruction for. */
static const char atomic_add_text[] = "#ifdef __CUDACC__\n"
                                      "__device__ static void akg_atomic_NAME(T *at, T b)\n"
                                      "{\n"
                                      "    atomicAdd((NATIVE *)at, (NATIVE)b);\n"
                                      "}\n"
                                      "#else\n";

/* With the words of the pairs replaced. */
static const char *replaced(struct emitter *emitter, const char *text, const char *const *pairs)
{
    emit_capture_begin(emitter);
    while (*text) {
        size_t length = 0;
        for (int k = 0; pairs[k] && !length; k += 2)
            if (strncmp(text, pairs[k], strlen(pairs[k])) == 0) {
                length = strlen(pairs[k]);
                text_string(emitter->out, pairs[k + 1]);
            }
        if (!length)
            text_char(emitter->out, *text);
        text += length ? length : 1;
    }
    return emit_capture_end(emitter);
}

/* One of the texts for a type and, unless the row is NULL, a way of combining. */
static const char *made_for(struct emitter *emitter, const char *text, const struct combined_type *type,
                            const struct combining_row *row)
{
    struct arena *arena = &emitter->arena;
    const char *how = row ? (type->suffix ? row->real : row->integer) : "";
    const char *word = type->bits == 32 ? "unsigned int" : "unsigned long long";
    const char *details[] = {"(T)", arena_format(arena, "(%s)", type->type), "$",
                             type->suffix ? type->suffix : "", NULL};
    const char *pairs[] = {"TYPE",     type->name,
                           "COMBINED", *how ? replaced(emitter, how, details) : "",
                           "NAME",     row ? arena_format(arena, "%s_%s", row->name, type->name) : "",
                           "WORD",     word,
                           "SWAP",     type->bits == 32 ? "akg_swap32" : "akg_swap64",
                           "NATIVE",   strcmp(type->name, "int64") == 0 ? word : type->type,
                           "(T ",      arena_format(arena, "(%s ", type->type),
                           " T ",      arena_format(arena, " %s ", type->type),
                           NULL};
    return replaced(emitter, text, pairs);
}

/* Those for scalars that are scaled and added to. */
static const char *scaling_for(struct emitter *emitter, const struct combined_type *type)
{
    struct arena *arena = &emitter->arena;
    const char *name = arena_format(arena, "scaled_%s", type->name);
    const char *value = arena_format(arena, "struct akg_%s", name);
    const char *pairs[] = {"NAME", name, "TYPE", type->type, "PART", type->name, NULL};
    const char *scan_pairs[] = {"TYPE",     name,
                                "COMBINED", arena_format(arena, "akg_after_%s(a, b)", name),
                                "NAME",     name,
                                "(T ",      arena_format(arena, "(%s ", value),
                                " T ",      arena_format(arena, " %s ", value),
                                NULL};
    bool scans = emit_count_word(emitter, arena_format(arena, "akg_scan_%s", name));
    bool turns = emit_count_word(emitter, arena_format(arena, "akg_turns_%s", name));
    if (!scans && !turns)
        return "";
    return arena_format(arena, "%s%s%s%s", replaced(emitter, scaled_text, pairs),
                        replaced(emitter, both_text, scan_pairs),
                        scans ? replaced(emitter, scan_text, scan_pairs) : "",
                        turns ? replaced(emitter, turns_text, scan_pairs) : "");
}

/* The functions of one type whose names were noted. */
static const char *functions_for(struct emitter *emitter, const struct combined_type *type)
{
    struct arena *arena = &emitter->arena;
    const char *all = scaling_for(emitter, type);
    bool among = emit_count_word(emitter, arena_format(arena, "akg_exchange_among_%s", type->name)) > 0;
    bool exchanges =
        *all != 0 || among || emit_count_word(emitter, arena_format(arena, "akg_exchange_%s", type->name));
    if (among)
        all = arena_format(arena, "%s%s", all, made_for(emitter, among_text, type, NULL));
    for (int k = 0; k < COMBININGS; k++) {
        const struct combining_row *row = &combinings[k];
        if (!(type->suffix ? row->real : row->integer))
            continue;
        if (emit_count_word(emitter, arena_format(arena, "akg_team_%s_%s", row->name, type->name))) {
            all = arena_format(arena, "%s%s", all, made_for(emitter, team_text, type, row));
            exchanges = true;
        }
        if (emit_count_word(emitter, arena_format(arena, "akg_block_%s_%s", row->name, type->name))) {
            all = arena_format(arena, "%s%s", all, made_for(emitter, block_text, type, row));
            exchanges = true;
        }
        if (emit_count_word(emitter, arena_format(arena, "akg_lanes_%s_%s", row->name, type->name))) {
            all = arena_format(arena, "%s%s", all, made_for(emitter, lanes_text, type, row));
            exchanges = true;
        }
        if (emit_count_word(emitter, arena_format(arena, "akg_squad_%s_%s", row->name, type->name))) {
            all = arena_format(arena, "%s%s%s", all, among ? "" : made_for(emitter, among_text, type, NULL),
                               made_for(emitter, squad_text, type, row));
            exchanges = among = true;
        }
        bool scans = emit_count_word(emitter, arena_format(arena, "akg_scan_%s_%s", row->name, type->name));
        bool turns = emit_count_word(emitter, arena_format(arena, "akg_turns_%s_%s", row->name, type->name));
        if (scans || turns) {
            all = arena_format(arena, "%s%s%s%s", all, made_for(emitter, both_text, type, row),
                               scans ? made_for(emitter, scan_text, type, row) : "",
                               turns ? made_for(emitter, turns_text, type, row) : "");
            exchanges = true;
        }
        if (emit_count_word(emitter, arena_format(arena, "akg_atomic_%s_%s", row->name, type->name))) {
            bool adds = strcmp(row->name, "add") == 0;
            all = arena_format(arena, "%s%s%s%s", all,
                               adds ? made_for(emitter, atomic_add_text, type, row) : "",
                               made_for(emitter, atomic_text, type, row), adds ? "#endif\n" : "");
        }
    }
    return exchanges ? arena_format(arena, "%s%s", made_for(emitter, exchange_text, type, NULL), all) : all;
}

const char *emit_cuda_combining(struct cuda_emitter *cuda)
{
    struct emitter *emitter = &cuda->emitter;
    const char *all = "";
    for (int k = 0; k < COMBINED_TYPES; k++)
        all = arena_format(&emitter->arena, "%s%s", all, functions_for(emitter, &combined_types[k]));
    emit_note_words(emitter, all);
    return all;
}

/* ---- by a block --------------------------------------------------------------------------------- */

static const char *const combining[OPERATION_COUNT] = {
    [OP_ADD] = "add",       [OP_MUL] = "mul",     [OP_MIN] = "min",      [OP_MAX] = "max",
    [OP_BITAND] = "bitand", [OP_BITOR] = "bitor", [OP_BITXOR] = "bitxor"};

const char *emit_cuda_neutral(struct cuda_emitter *cuda, enum operation operation, akg_dtype dtype)
{
    union dtype_value value = {.i = 0};
    int bits = emit_dtype_bits(dtype);
    if (dtype_is_float(dtype))
        value = dtype_from_double(dtype, operation == OP_ADD   ? -0.0
                                         : operation == OP_MUL ? 1
                                         : operation == OP_MIN ? __builtin_inf()
                                                               : -__builtin_inf());
    else if (operation == OP_MUL)
        value.i = 1;
    else if (operation == OP_BITAND)
        value.i = dtype_wrap(dtype, -1);
    else if (operation == OP_MIN)
        value.i = bits == 64 ? -1 : (int64_t)(((uint64_t)1 << bits) - 1);
    else if (operation == OP_MAX && dtype_is_signed(dtype))
        value.i = bits == 63 ? INT64_MIN : -((int64_t)1 << bits);
    return emit_constant(&cuda->emitter, dtype, value).text;
}

/* The name of a row of the types. */
static const char *combined_name(enum operation operation, akg_dtype dtype)
{
    bool bitwise = operation == OP_BITAND || operation == OP_BITOR || operation == OP_BITXOR;
    return dtype == AKG_FLOAT64                ? "float64"
           : dtype_is_float(dtype)             ? "float32"
           : bitwise || dtype_is_signed(dtype) ? "int64"
                                               : "uint64";
}

const char *emit_cuda_combined_type(enum operation operation, akg_dtype dtype)
{
    const char *name = combined_name(operation, dtype);
    const struct combined_type *type = combined_types;
    while (strcmp(type->name, name) != 0)
        type++;
    return type->type;
}

const char *emit_cuda_combiner(struct cuda_emitter *cuda, enum operation operation, akg_dtype dtype)
{
    return arena_format(&cuda->emitter.arena, "%s_%s", combining[operation], combined_name(operation, dtype));
}

/* Factors of float64 have room for those of many iterations; integers are exact modulo 2^64. */
const char *emit_cuda_scaler(akg_dtype dtype)
{
    return dtype_is_float(dtype) ? "scaled_float64" : "scaled_uint64";
}

const char *emit_cuda_scaled_type(akg_dtype dtype)
{
    return dtype_is_float(dtype) ? "double" : "unsigned long long";
}

akg_dtype emit_cuda_part_dtype(const struct cuda_emitter *cuda, akg_dtype dtype)
{
    return dtype_is_half(dtype) && !cuda->plan.options->deterministic ? AKG_FLOAT32 : dtype;
}

void emit_cuda_begin_sums(struct cuda_emitter *cuda, struct cuda_sums *sums)
{
    struct emitter *emitter = &cuda->emitter;
    sums->around = cuda->summed;
    cuda->summed = sums;
    for (int k = 0; k < sums->count; k++) {
        const struct ir_symbol *symbol = sums->items[k]->symbol;
        const char *name = emitter->symbols[symbol->slot].name;
        emit_line(emitter, "const %s %s_before_ = %s;", emit_type(symbol->dtype), name, name);
        emit_line(emitter, "%s = %s;", name,
                  emit_cuda_neutral(cuda, sums->items[k]->reduction, symbol->dtype));
        emitter->symbols[symbol->slot].assignments += 2;
    }
}

/* The beginning of the call that combines what the threads at hand have, and its end. */
struct combining_call {
    const char *name, *rest;
};

static struct combining_call combining_call(struct cuda_emitter *cuda)
{
    int threads = cuda_step_threads(cuda->step);
    if (cuda->together.is_squad)
        return (struct combining_call){"squad", ", akg_lanes, akg_mates"};
    if (threads == CUDA_THREADS)
        return (struct combining_call){"team", ""};
    return (struct combining_call){"block", arena_format(&cuda->emitter.arena, ", %d", threads / 32)};
}

void emit_cuda_end_sums(struct cuda_emitter *cuda, struct cuda_sums *sums)
{
    struct emitter *emitter = &cuda->emitter;
    cuda->summed = sums->around;
    struct combining_call call = combining_call(cuda);
    for (int k = 0; k < sums->count; k++) {
        const struct ir_symbol *symbol = sums->items[k]->symbol;
        enum operation operation = sums->items[k]->reduction;
        const char *name = emitter->symbols[symbol->slot].name;
        struct emit_value operands[2] = {emit_name(arena_format(&emitter->arena, "%s_before_", name)),
                                         emit_name(arena_format(&emitter->arena, "%s_all_", name))};
        emit_line(emitter, "const %s %s = (%s)akg_%s_%s(%s%s);", emit_type(symbol->dtype), operands[1].text,
                  emit_type(symbol->dtype), call.name, emit_cuda_combiner(cuda, operation, symbol->dtype),
                  name, call.rest);
        emit_line(emitter, "%s = %s;", name, emit_combined(emitter, operation, symbol->dtype, operands).text);
    }
}

/* ---- by the grid ---------------------------------------------------------------------------------- */

/* Where a part of sum `number` lies, `at` being the number of the block. */
static const char *part_text(struct cuda_emitter *cuda, const struct cuda_sums *sums, int number,
                             const char *at)
{
    return arena_format(&cuda->emitter.arena, "akg_parts[1 + %s * %d + %d].%s", at, sums->count, number,
                        dtype_is_float(sums->items[number]->symbol->dtype) ? "d" : "i");
}

void emit_cuda_begin_parts(struct cuda_emitter *cuda, struct cuda_sums *sums)
{
    struct emitter *emitter = &cuda->emitter;
    sums->around = cuda->summed;
    cuda->summed = sums;
    for (int k = 0; k < sums->count; k++) {
        const struct ir_symbol *symbol = sums->items[k]->symbol;
        emit_line(emitter, "%s = %s;", emitter->symbols[symbol->slot].name,
                  emit_cuda_neutral(cuda, sums->items[k]->reduction, symbol->dtype));
        emitter->symbols[symbol->slot].assignments++;
    }
}

/* Where teams went through the iterations, each thread has what the block has. */
void emit_cuda_end_parts(struct cuda_emitter *cuda, const struct cuda_sums *sums, bool teams)
{
    struct emitter *emitter = &cuda->emitter;
    cuda->summed = sums->around;
    for (int k = 0; k < sums->count && !teams; k++) {
        const struct ir_symbol *symbol = sums->items[k]->symbol;
        const char *name = emitter->symbols[symbol->slot].name;
        emit_line(emitter, "%s = (%s)akg_team_%s(%s);", name, emit_type(symbol->dtype),
                  emit_cuda_combiner(cuda, sums->items[k]->reduction, symbol->dtype), name);
    }
    emit_line(emitter, "if (threadIdx.x == 0) {");
    emitter->indent++;
    emit_line(emitter, "if (blockIdx.x == 0)");
    emit_line(emitter, "    akg_parts[0].i = gridDim.x;");
    for (int k = 0; k < sums->count; k++)
        emit_line(emitter, "%s = %s;", part_text(cuda, sums, k, "blockIdx.x"),
                  emitter->symbols[sums->items[k]->symbol->slot].name);
    emitter->indent--;
    emit_line(emitter, "}");
}

/* A launch without iterations may have been left out, and left nothing. */
void emit_cuda_collect(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct emitter *emitter = &cuda->emitter;
    struct cuda_sums sums;
    cuda_sums_of(&cuda->plan, chain, &sums);
    emit_line(emitter, "{");
    emitter->indent++;
    emit_line(emitter, "const long long parts_ = %s > 0 ? akg_parts[0].i : 0;", emit_cuda_total(cuda, chain));
    emit_cuda_begin_sums(cuda, &sums);
    emit_line(emitter, "for (long long part_ = threadIdx.x; part_ < parts_; part_ += blockDim.x) {");
    emitter->indent++;
    for (int k = 0; k < sums.count; k++) {
        const struct ir_symbol *symbol = sums.items[k]->symbol;
        const char *name = emitter->symbols[symbol->slot].name, *type = emit_type(symbol->dtype);
        struct emit_value operands[2] = {emit_name(name),
                                         emit_name(arena_format(&emitter->arena, "%s_part_", name))};
        emit_line(emitter, "const %s %s = (%s)%s;", type, operands[1].text, type,
                  part_text(cuda, &sums, k, "part_"));
        akg_dtype dtype = emit_cuda_part_dtype(cuda, symbol->dtype);
        emit_line(emitter, "%s = %s;", name,
                  emit_combined(emitter, sums.items[k]->reduction, dtype, operands).text);
    }
    emitter->indent--;
    emit_line(emitter, "}");
    emit_cuda_end_sums(cuda, &sums);
    emitter->indent--;
    emit_line(emitter, "}");
}

/* ---- elements ---------------------------------------------------------------------------------------- */

const char *emit_cuda_combining_name(enum operation operation)
{
    return combining[operation];
}

/* What lies `target` in from the beginning of its tensor also lies so in the copy that a block has. */
static void emit_in_copy(struct cuda_emitter *cuda, const struct ir_stmt *stmt, const char *function,
                         const char *target, const char *value)
{
    struct emitter *emitter = &cuda->emitter;
    emit_line(emitter, "%s *const target_ = &%s;", dtype_table[stmt->access.buffer->dtype].c_storage, target);
    emit_line(emitter, "const %s addend_ = %s;", dtype_table[stmt->access.buffer->dtype].c_storage, value);
    emit_statement_line(emitter, stmt, "if (is_counted_)");
    emit_line(emitter, "    %s(&akg_counts[target_ - %s], addend_);", function,
              emitter->buffers[stmt->access.buffer->index]);
    emit_line(emitter, "else");
    emit_line(emitter, "    %s(target_, addend_);", function);
}

void emit_cuda_atomic(struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    struct emitter *emitter = &cuda->emitter;
    struct cuda_add add;
    cuda_add_of(stmt, &add);
    const char *target = emit_access(emitter, &stmt->access).text;
    const char *value = emit_shallow(emitter, add.value).text;
    const char *function =
        arena_format(&emitter->arena, "akg_atomic_%s_%s", add.negative ? "sub" : combining[add.operation],
                     dtype_table[stmt->access.buffer->dtype].name);
    if (cuda->counted == stmt->access.buffer) {
        emit_line(emitter, "{");
        emitter->indent++;
        emit_in_copy(cuda, stmt, function, target, value);
        emitter->indent--;
        emit_line(emitter, "}");
        return;
    }
    emit_statement_line(emitter, stmt,
                        arena_format(&emitter->arena, "%s(&%s, %s);", function, target, value));
}
