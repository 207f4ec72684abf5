/*
 * test_debug_image.c: what debuggers are told about generated code: that the list is kept, and that at every
 * instruction of a kernel the way out is known.
 *
 * The object files are read from the list that gdb reads. Their call frame information is given to the
 * unwinder of the C++ runtime, which is not ours; then the kernel runs with the processor's trap flag set,
 * and after each of its instructions the stack must lead back to the function here that called it.
 */
#define _GNU_SOURCE
#include "check.h"
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"

#include <elf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unwind.h>

#if defined(__SANITIZE_THREAD__)
#define WITHOUT_SIGNALS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITHOUT_SIGNALS 1
#endif
#endif
#ifndef WITHOUT_SIGNALS
#define WITHOUT_SIGNALS 0
#endif

struct jit_code_entry {
    struct jit_code_entry *next, *previous;
    const char *file;
    uint64_t size;
};

extern struct {
    uint32_t version, action;
    struct jit_code_entry *relevant, *first;
} __jit_debug_descriptor;

void __register_frame(void *);
void __deregister_frame(void *);

static const char source[] = "def curve(x):\n"
                             "    y = output_tensor(x.shape, x.dtype)\n"
                             "    z = output_tensor(x.shape, x.dtype)\n"
                             "    w = output_tensor(x.shape, int64)\n"
                             "    for i in range(x.shape[0]):\n"
                             "        y[i] = cosh(x[i]) + pow(x[i], 1.5) * tanh(x[i])\n"
                             "    for i in range(x.shape[0]):\n"
                             "        z[i] = y[x.shape[0] - 1 - i] * 2.0\n"
                             "    for i in range(x.shape[0]):\n"
                             "        a = i + 6\n"
                             "        b = 4\n"
                             "        while b > 0:\n"
                             "            rest = a % b\n"
                             "            a = b\n"
                             "            b = rest\n"
                             "        w[i] = a\n"
                             "    return y, z, w\n";
/* What runs in a call of a few elements: parts are for the while, of which nobody knows how long it takes,
 * and where vector loops are long enough for several threads. */
static bool runs(const char *function)
{
    const char *part = strstr(function, ":part_");
    return !part || strcmp(part, ":part_2") == 0 || x86_cpu_target() == X86_TARGET_NONE;
}
enum { OUTPUTS = 3 };

/* ---- the list ---------------------------------------------------------------------------------------------
 */

static int list_count(void)
{
    int count = 0;
    const struct jit_code_entry *previous = NULL;
    for (const struct jit_code_entry *at = __jit_debug_descriptor.first; at; at = at->next) {
        CHECK(at->previous == previous);
        previous = at;
        count++;
    }
    return count;
}

static const Elf64_Shdr *section_of(const struct jit_code_entry *entry, const char *name)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)entry->file;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(entry->file + head->e_shoff);
    const char *names = entry->file + sections[head->e_shstrndx].sh_offset;
    for (int k = 0; k < head->e_shnum; k++)
        if (strcmp(names + sections[k].sh_name, name) == 0)
            return &sections[k];
    return NULL;
}

struct function {
    char name[100];
    uintptr_t start, end;
    int steps;
};

static struct function functions[40];
static int function_count;

static void read_functions(const struct jit_code_entry *entry)
{
    const Elf64_Shdr *text = section_of(entry, ".text"), *table = section_of(entry, ".symtab");
    const Elf64_Shdr *names = section_of(entry, ".strtab");
    CHECK(memcmp(entry->file, ELFMAG, SELFMAG) == 0 && text && table && names);
    const Elf64_Sym *symbols = (const Elf64_Sym *)(entry->file + table->sh_offset);
    for (size_t k = 1; k < table->sh_size / sizeof *symbols && function_count < 40; k++) {
        struct function *function = &functions[function_count++];
        snprintf(function->name, sizeof function->name, "%s",
                 entry->file + names->sh_offset + symbols[k].st_name);
        function->start = text->sh_addr + symbols[k].st_value;
        function->end = function->start + symbols[k].st_size;
        CHECK(symbols[k].st_value + symbols[k].st_size <= text->sh_size);
    }
}

static struct function *function_at(uintptr_t address)
{
    for (int k = 0; k < function_count; k++)
        if (address >= functions[k].start && address < functions[k].end)
            return &functions[k];
    return NULL;
}

/* ---- step by step
 * ------------------------------------------------------------------------------------------- */

static volatile int steps, lost;
static void *calling; /* the function below */

struct walk {
    bool inside, found;
    int frames;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *given)
{
    struct walk *walk = given;
    uintptr_t address = _Unwind_GetIP(context);
    walk->inside |= function_at(address) != NULL;
    walk->found |= walk->inside && _Unwind_FindEnclosingFunction((void *)address) == calling;
    return walk->found || ++walk->frames > 60 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static void on_trap(int number, siginfo_t *information, void *given)
{
    const ucontext_t *context = given;
    struct function *function = function_at((uintptr_t)context->uc_mcontext.gregs[REG_RIP]);
    (void)number;
    (void)information;
    if (!function)
        return;
    struct walk walk = {.found = false};
    function->steps++;
    steps++;
    _Unwind_Backtrace(visit, &walk);
    if (!walk.found && lost++ < 5)
        fprintf(stderr, "no way out of %s at +%#zx\n", function->name,
                (size_t)context->uc_mcontext.gregs[REG_RIP] - function->start);
}

static void set_trap_flag(bool set)
{
    uint64_t flags = __builtin_ia32_readeflags_u64();
    __builtin_ia32_writeeflags_u64(set ? flags | 0x100 : flags & ~(uint64_t)0x100);
}

static __attribute__((noinline)) akg_status call(akg_kernel *kernel, const akg_argument *argument,
                                                 akg_tensor **outputs, bool stepwise)
{
    if (stepwise)
        set_trap_flag(true);
    akg_status status = akg_kernel_call(kernel, argument, 1, NULL, outputs, NULL);
    set_trap_flag(false);
    return status;
}

static void test_steps(akg_kernel *kernel)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, before;
    int64_t dims[] = {37};
    akg_tensor *x = NULL, *expected[OUTPUTS] = {NULL}, *outputs[OUTPUTS] = {NULL};
    CHECK_INT(akg_tensor_create(AKG_FLOAT32, 1, dims, &x), AKG_OK);
    for (int k = 0; k < 37; k++)
        ((float *)akg_tensor_data(x))[k] = (float)k / 20;
    akg_argument argument = {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = x};
    CHECK_INT(call(kernel, &argument, expected, false), AKG_OK);
    bool has_vectors = x86_cpu_target() != X86_TARGET_NONE;
    CHECK(list_count() == 1 + has_vectors); /* of the C, of the vector loops */
    void *frames[2];
    int count = 0;
    for (struct jit_code_entry *at = __jit_debug_descriptor.first; at && count < 2; at = at->next) {
        read_functions(at);
        frames[count] = (void *)(uintptr_t)(at->file + section_of(at, ".eh_frame")->sh_offset);
        __register_frame(frames[count++]);
    }
    CHECK(function_count >= 4 + 2 * has_vectors); /* the entry, parts of it, two vector loops */
    memcpy(&calling, &(akg_status(*)(akg_kernel *, const akg_argument *, akg_tensor **, bool)){call},
           sizeof calling);
    sigaction(SIGTRAP, &action, &before);
    CHECK_INT(call(kernel, &argument, outputs, true), AKG_OK);
    sigaction(SIGTRAP, &before, NULL);
    for (int k = 0; k < count; k++)
        __deregister_frame(frames[k]);
    CHECK(steps > 100);
    CHECK_INT(lost, 0);
    for (int k = 0; k < function_count; k++)
        if (!CHECK(functions[k].steps > 0 || !runs(functions[k].name)))
            fprintf(stderr, "    %s did not run\n", functions[k].name);
    for (int k = 0; k < OUTPUTS; k++) {
        size_t size = k == OUTPUTS - 1 ? sizeof(int64_t) : sizeof(float);
        CHECK(memcmp(akg_tensor_data(expected[k]), akg_tensor_data(outputs[k]), 37 * size) == 0);
        akg_tensor_release(expected[k]);
        akg_tensor_release(outputs[k]);
    }
    akg_tensor_release(x);
}

int main(void)
{
    akg_module *module = NULL;
    akg_kernel *kernel = NULL;
    if (WITHOUT_SIGNALS) {
        printf("skipped: steps through generated code: the thread sanitizer takes no unwinder in a signal "
               "handler\n");
        return check_done();
    }
    CHECK_INT(list_count(), 0);
    setenv("AKG_CACHE", "off", 1);
    akg_set_threads(1);
    jit_source text = {.text = source, .length = sizeof source - 1, .name = "curve.akg"};
    CHECK_INT(jit_compile(&text, &(jit_options){.any_shape = true}, &module, NULL), AKG_OK);
    kernel = akg_module_kernel(module, "curve");
    test_steps(kernel);
    akg_module_release(module);
    CHECK_INT(list_count(), 0);
    return check_done();
}
