/*
 * test_x86_encode.c: every row of jit/x86_instructions.def against GNU as.
 *
 * Each instruction is printed and encoded; the text goes through as and objcopy, and the bytes must be the
 * same. Both sides pad each instruction to 16 bytes, so that the first one that differs is known. Where there
 * is no as, only the lengths are looked at, and the test says so.
 */
#include "../../jit/x86_encode.h"
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

enum { SLOT = 16 }; /* no instruction is longer than 15 bytes */

static struct arena arena;
static jmp_buf escape;
static struct x86_code code;
static struct text listing;
static LIST(const char *) lines;

static void add(const struct x86_instruction *instruction)
{
    struct text line;
    text_init(&line);
    x86_print(&line, instruction);
    const char *text = text_into_arena(&line, &arena);
    list_push(&arena, &lines, text);
    /* of two encodings as would take the other one */
    const char *choice = x86_is_general(instruction->form)                ? "{load} "
                         : x86_rows[instruction->form].prefix == X86_EVEX ? "{evex} "
                                                                          : "";
    text_format(&listing, ".balign 16, 0xcc\n%s%s\n", choice, text);
    x86_encode(&code, instruction);
    CHECK(code.bytes.count % SLOT != 0 && code.bytes.count <= lines.count * SLOT);
    while (code.bytes.count < lines.count * SLOT)
        list_push(&arena, &code.bytes, 0xcc);
}

/* ---- vectors ----------------------------------------------------------------------------- */

static bool is_scalar(const struct x86_row *row)
{
    return row->reg == X86_S || row->reg == X86_T || row->reg == X86_X || row->prefix == X86_L0 ||
           row->prefix == X86_L1;
}

static int register_limit(const struct x86_row *row, enum x86_class class)
{
    if (class == X86_K)
        return 8;
    if (class == X86_D || class == X86_G)
        return 16;
    return row->prefix == X86_EVEX || row->prefix == X86_BOTH ? 32 : 16;
}

static bool is_vsib(const struct x86_row *row)
{
    return row->shape == X86_GATHER || row->shape == X86_GATHER_V || row->shape == X86_SCATTER;
}

static bool has_length(const struct x86_row *row, int bits)
{
    bool uses_y = row->reg == X86_Y || row->rm == X86_Y, uses_x = row->rm == X86_X;
    if (is_scalar(row))
        return bits == 128;
    if (row->prefix == X86_VEX && bits == 512)
        return false;
    /* parts of a vector are taken from longer ones; the lower element of a double has no ymm of its own */
    if (uses_y)
        return bits == (row->prefix == X86_VEX ? 256 : 512);
    if (uses_x)
        return bits > 128;
    if (row->map == 3 && row->opcode == 0x23)
        return bits > 128; /* quarters change places */
    if (row->map == 2 && row->opcode == 0x16)
        return bits > 128; /* vpermps: so do lanes of all of it */
    return !((row->opcode == 0x19 || (row->opcode == 0x01 && row->wide == 1)) && bits == 128);
}

static struct x86_instruction instruction_of(int form, int bits, int seed)
{
    const struct x86_row *row = &x86_rows[form];
    struct x86_instruction instruction = {.form = (enum x86_form)form, .bits = bits};
    instruction.reg = (seed * 5 + 3) % register_limit(row, (enum x86_class)row->reg);
    instruction.vvvv = (seed * 7 + 2) % register_limit(row, (enum x86_class)row->vvvv);
    instruction.rm = (seed * 11 + 1) % register_limit(row, (enum x86_class)row->rm);
    instruction.fourth = (seed * 3 + 1) % 16;
    instruction.immediate = seed * 13 % 8;
    return instruction;
}

/* as puts the operands of what commutes in the order that gives the shorter prefix, and moves as well. What
 * it would shorten so is left out: the other order of registers is there too. */
static bool as_would_swap(const struct x86_instruction *instruction)
{
    const struct x86_row *row = &x86_rows[instruction->form];
    return row->map == 1 && row->wide != 1 && row->prefix != X86_EVEX && !instruction->has_memory &&
           instruction->bits < 512 && instruction->rm > 7 && instruction->rm < 16 &&
           ((row->shape == X86_RVM && instruction->vvvv < 8) || instruction->reg < 8);
}

static void add_memory(struct x86_instruction *instruction, int seed)
{
    static const int displacements[] = {0, 1, 64, 127, -128, 128, 256, 8128, -8192, 8192, 4, 100000, -33};
    const struct x86_row *row = &x86_rows[instruction->form];
    instruction->has_memory = true;
    instruction->memory.base = seed % 16;
    instruction->memory.index = X86_NONE;
    instruction->memory.scale = 1;
    instruction->memory.displacement = displacements[seed % 13];
    if (is_vsib(row)) {
        instruction->memory.index = (seed * 3 + 4) % register_limit(row, X86_V);
        instruction->memory.scale = 1 << seed % 4;
        /* the three registers of a gather must differ */
        while (instruction->memory.index == instruction->reg ||
               instruction->memory.index == instruction->vvvv)
            instruction->memory.index = (instruction->memory.index + 1) % register_limit(row, X86_V);
        if (row->shape == X86_GATHER_V && instruction->vvvv == instruction->reg)
            instruction->vvvv = (instruction->reg + 9) % 16;
        while (row->shape == X86_GATHER_V && (instruction->memory.index == instruction->reg ||
                                              instruction->memory.index == instruction->vvvv))
            instruction->memory.index = (instruction->memory.index + 1) % 16;
        instruction->mask = row->shape == X86_GATHER_V ? 0 : seed % 7 + 1;
    } else if (seed % 3 && (seed * 5 + 1) % 16 != X86_RSP) {
        instruction->memory.index = (seed * 5 + 1) % 16;
        instruction->memory.scale = 1 << seed % 4;
    }
}

/* It sets flags, and reads registers too. */
static bool is_comparison(int form)
{
    return form == X86_VUCOMISS || form == X86_VUCOMISD;
}

static bool takes_memory(const struct x86_row *row, int form)
{
    /* as has a shorter vmovq of memory; what spreads a general register takes no memory */
    return row->rm != X86_K && form != X86_KMOVW_TO && form != X86_KMOVQ_TO && form != X86_VMOVQ_TO &&
           form != X86_VMOVQ_FROM && form != X86_VPBROADCASTD_GENERAL && form != X86_VPBROADCASTQ_GENERAL &&
           form != X86_VPCOMPRESSD && form != X86_VPCOMPRESSQ && /* which is never asked to store */
           form != X86_VMOVMSKPS && form != X86_VMOVMSKPD && form != X86_VMOVAPS && form != X86_VMOVAPD &&
           !(row->prefix == X86_VEX && row->shape == X86_VMI);
}

static bool takes_registers(const struct x86_row *row, int form)
{
    return !is_vsib(row) && form != X86_VMOVSS_LOAD && form != X86_VMOVSD_LOAD && form != X86_VMOVSS_STORE &&
           form != X86_VMOVSD_STORE && (row->role != X86_R || is_comparison(form)) &&
           form != X86_VMASKMOVPS_LOAD && form != X86_VMASKMOVPD_LOAD && form != X86_VBROADCASTF32X4 &&
           form != X86_VBROADCASTF64X2 && form != X86_VBROADCASTF64X4 && form != X86_VMOVHPD_LOAD &&
           form != X86_VPINSRB && form != X86_VPINSRW;
}

static void add_masked(struct x86_instruction instruction, const struct x86_row *row, int seed)
{
    bool evex = row->prefix == X86_EVEX || row->prefix == X86_BOTH;
    bool maskable = instruction.form != X86_VMOVNTPS && instruction.form != X86_VPSADBW &&
                    !is_comparison((int)instruction.form) && row->reg != X86_D && row->reg != X86_G &&
                    row->rm != X86_D && row->rm != X86_G && row->reg != X86_X;
    if (!evex || !maskable || is_vsib(row))
        return;
    instruction.mask = seed % 7 + 1;
    add(&instruction);
    bool store = instruction.has_memory && (row->shape == X86_MR || row->shape == X86_MRI);
    if (row->reg != X86_K && !store) {
        instruction.zeroing = true;
        add(&instruction);
    }
}

static void add_form(int form, int bits)
{
    const struct x86_row *row = &x86_rows[form];
    for (int seed = 0; seed < 32; seed++) {
        struct x86_instruction instruction = instruction_of(form, bits, seed);
        if (takes_registers(row, form)) {
            if (!as_would_swap(&instruction))
                add(&instruction);
            add_masked(instruction, row, seed);
        }
        if (!takes_memory(row, form))
            continue;
        add_memory(&instruction, seed);
        add(&instruction);
        add_masked(instruction, row, seed);
        if (row->broadcast) {
            instruction.broadcast = true;
            add(&instruction);
            add_masked(instruction, row, seed);
        }
    }
}

/* ---- general registers -------------------------------------------------------------------- */

static bool is_store(int shape)
{
    return shape == X86_RM_R || shape == X86_RM_R32 || shape == X86_RM_R16 || shape == X86_RM_R8;
}

static void add_general(int form)
{
    static const int64_t immediates[] = {1, 5, -1, 127, 128, -128, -129, 100000, -100000, 63, 0, INT32_MAX};
    int shape = x86_general_rows[form - X86_GENERAL_FIRST].shape;
    for (int seed = 0; seed < 32; seed++) {
        struct x86_instruction instruction = {.form = (enum x86_form)form};
        instruction.reg = seed % 16;
        instruction.rm = (seed * 7 + 3) % 16;
        instruction.immediate = immediates[seed % 12];
        if (shape == X86_RM_I8)
            instruction.immediate = seed * 2 + 1;
        if (shape == X86_R_I && seed % 4 == 0)
            instruction.immediate = seed % 8 ? INT64_MIN + seed : UINT32_MAX - seed;
        bool memory_only = form == X86_LEA || is_store(shape) || shape == X86_R_RM8 || shape == X86_R_RM16 ||
                           shape == X86_R_RM8_W || shape == X86_R_RM16_W || shape == X86_M_0F;
        if (!memory_only)
            add(&instruction);
        if (shape == X86_R_I || shape == X86_R_IN_OPCODE || shape == X86_ALONE || shape == X86_ALONE_VEX ||
            shape == X86_ALONE_0F)
            continue;
        instruction.has_memory = true;
        instruction.memory = (struct x86_memory){seed % 16, X86_NONE, 1, seed * 37 - 200};
        if (seed % 2) {
            instruction.memory.index = (seed * 5 + 1) % 16 == X86_RSP ? X86_RAX : (seed * 5 + 1) % 16;
            instruction.memory.scale = 1 << seed % 4;
        }
        add(&instruction);
    }
}

/* ---- comparing ----------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    long end = -1;
    if (file && fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0)
        bytes = malloc((size_t)end + 1);
    *size = bytes ? fread(bytes, 1, (size_t)end, file) : 0;
    if (file)
        fclose(file);
    return bytes;
}

static bool assemble(const char *folder)
{
    char path[200], command[600];
    snprintf(path, sizeof path, "%s/all.s", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file, ".intel_syntax noprefix\n%s.balign 16, 0xcc\n", listing.data);
    fclose(file);
    snprintf(command, sizeof command,
             "cd %s && as --64 all.s -o all.o && objcopy -O binary -j .text all.o all.bin", folder);
    return system(command) == 0;
}

static void print_bytes(const char *side, const unsigned char *bytes)
{
    fprintf(stderr, "    %s", side);
    for (int k = 0; k < SLOT; k++)
        fprintf(stderr, " %02x", bytes[k]);
    fputc('\n', stderr);
}

static void compare(const char *folder)
{
    char path[200];
    size_t size;
    snprintf(path, sizeof path, "%s/all.bin", folder);
    unsigned char *bytes = (unsigned char *)read_file(path, &size);
    CHECK_INT(size, code.bytes.count);
    for (int k = 0; bytes && k < lines.count && (size_t)(k + 1) * SLOT <= size; k++) {
        const unsigned char *ours = code.bytes.items + k * SLOT, *theirs = bytes + k * SLOT;
        if (CHECK(memcmp(ours, theirs, SLOT) == 0))
            continue;
        fprintf(stderr, "    %s\n", lines.items[k]);
        print_bytes("is     ", ours);
        print_bytes("should ", theirs);
    }
    free(bytes);
}

static void compare_with_as(void)
{
    char folder[] = "/tmp/akg-x86-XXXXXX", command[100];
    if (system("as --version >/dev/null 2>&1 && objcopy --version >/dev/null 2>&1") != 0) {
        puts("skipped: there is no GNU as");
        return;
    }
    if (!CHECK(mkdtemp(folder) != NULL))
        return;
    if (CHECK(assemble(folder)))
        compare(folder);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

/* ---- labels -------------------------------------------------------------------------------- */

/* Back by a few bytes, back by many, forward, and to data. */
static void test_labels(void)
{
    static const unsigned char should[] = {0x90, 0x75, 0xfd, 0xeb, 0xfb, 0x0f, 0x84, 0x05, 0,
                                           0,    0,    0xe9, 0,    0,    0,    0,    0xc3};
    struct x86_code jumps;
    struct x86_instruction jump = {.form = X86_JNE};
    x86_code_init(&jumps, &arena);
    int back = x86_new_label(&jumps), ahead = x86_new_label(&jumps), data = x86_new_label(&jumps);
    x86_place_label(&jumps, back);
    list_push(&arena, &jumps.bytes, 0x90);
    jump.label = back;
    x86_encode(&jumps, &jump);
    jump.form = X86_JMP;
    x86_encode(&jumps, &jump);
    jump.form = X86_JE;
    jump.label = ahead;
    x86_encode(&jumps, &jump);
    jump.form = X86_JMP;
    x86_encode(&jumps, &jump);
    x86_place_label(&jumps, ahead);
    jump.form = X86_RET;
    x86_encode(&jumps, &jump);
    struct x86_instruction load = {.form = X86_VBROADCASTSS, .bits = 256, .has_memory = true, .label = data};
    load.memory = (struct x86_memory){X86_RIP, X86_NONE, 1, 0};
    int at = jumps.bytes.count;
    x86_encode(&jumps, &load);
    for (int k = 0; k < 200; k++)
        list_push(&arena, &jumps.bytes, 0x90);
    jump.form = X86_JB;
    jump.label = back;
    x86_encode(&jumps, &jump);
    x86_place_data(&jumps, data, "\0\0\200\77", 4);
    x86_finish(&jumps);
    CHECK(memcmp(jumps.bytes.items, should, sizeof should) == 0);
    CHECK(memcmp(jumps.bytes.items + at, "\xc4\xe2\x7d\x18\x05", 5) == 0);
    CHECK_INT(jumps.labels.items[data] % 4, 0);
    CHECK_INT(at + 9 + jumps.bytes.items[at + 5], jumps.labels.items[data]);
    CHECK_INT(jumps.bytes.items[at + 9 + 201], 0x82);
}

int main(void)
{
    arena_init(&arena, &escape);
    text_init(&listing);
    if (setjmp(escape))
        return 5;
    x86_code_init(&code, &arena);
    for (int form = 0; form < X86_GENERAL_FIRST; form++)
        for (int bits = 128; bits <= 512; bits *= 2)
            if (has_length(&x86_rows[form], bits))
                add_form(form, bits);
    for (int form = X86_GENERAL_FIRST; form < X86_FORM_COUNT; form++)
        if (x86_general_rows[form - X86_GENERAL_FIRST].shape != X86_JUMP)
            add_general(form);
    compare_with_as();
    test_labels();
    text_free(&listing);
    arena_free(&arena);
    return check_done();
}
