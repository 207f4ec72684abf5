/*
 * debug_image.c: see debug_image.h.
 *
 * The interface is gdb's ("JIT Compilation Interface" in its manual), which lldb has too: object files in
 * memory, in a list with a known name, and a function with a known name that the debugger stops in to see
 * that the list has changed. Both names are local to this library, where debuggers find them unless it was
 * stripped. An object file here is a head and the sections below; the code itself is not in it, only its
 * address.
 */
#include "debug_image.h"
#include "../base/memory.h"

#include <elf.h>
#include <pthread.h>
#include <string.h>

/* ---- the list, as gdb has it --------------------------------------------------------------------------- */

enum { JIT_NO_ACTION, JIT_REGISTER, JIT_UNREGISTER };

struct jit_code_entry {
    struct jit_code_entry *next, *previous;
    const char *file;
    uint64_t size;
};

struct jit_descriptor {
    uint32_t version, action;
    struct jit_code_entry *relevant, *first;
};

struct jit_descriptor __jit_debug_descriptor = {.version = 1};

void __attribute__((noinline)) __jit_debug_register_code(void);
void __attribute__((noinline)) __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct debug_image {
    struct jit_code_entry entry;
    struct text file;
};

static void tell(struct debug_image *image, uint32_t action)
{
    __jit_debug_descriptor.relevant = &image->entry;
    __jit_debug_descriptor.action = action;
    __jit_debug_register_code();
    __jit_debug_descriptor.action = JIT_NO_ACTION;
}

/* ---- the object file -------------------------------------------------------------------------------------
 */

#define SECTION_TABLE(X)                                                                                     \
    X(NONE, "", SHT_NULL, 0, 0)                                                                              \
    X(CODE, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 16)                                              \
    X(FRAMES, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 8)                                                       \
    X(SYMBOLS, ".symtab", SHT_SYMTAB, 0, 8)                                                                  \
    X(NAMES, ".strtab", SHT_STRTAB, 0, 1)

enum {
#define X(id, name, type, flags, alignment) SECTION_##id,
    SECTION_TABLE(X)
#undef X
        SECTIONS
};

static void append_name(struct text *names, const char *name)
{
    text_append(names, name, strlen(name) + 1);
}

static void align(struct text *file)
{
    while (file->length % 8 && !file->failed)
        text_char(file, 0);
}

static void append_symbols(struct text *file, struct text *names, const struct code_function *functions,
                           int count)
{
    Elf64_Sym symbol = {0};
    text_append(file, (const char *)&symbol, sizeof symbol);
    for (int k = 0; k < count; k++) {
        symbol = (Elf64_Sym){.st_name = (Elf64_Word)names->length,
                             .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                             .st_shndx = SECTION_CODE,
                             .st_value = (uintptr_t)functions[k].code - (uintptr_t)functions[0].code,
                             .st_size = functions[k].size};
        append_name(names, functions[k].name);
        text_append(file, (const char *)&symbol, sizeof symbol);
    }
}

/* Where the part that begins at `start` is in the file. */
static void place(Elf64_Shdr *section, size_t start, size_t end)
{
    section->sh_offset = start;
    section->sh_size = end - start;
}

static void make_file(struct text *file, const struct code_function *functions, int count)
{
    const struct code_function *last = &functions[count - 1];
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                       .e_type = ET_REL,
                       .e_machine = EM_X86_64,
                       .e_version = EV_CURRENT,
                       .e_ehsize = sizeof head,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = SECTIONS,
                       .e_shoff = sizeof head,
                       .e_shstrndx = SECTION_NAMES};
    Elf64_Shdr sections[SECTIONS] = {
#define X(id, name, type, flags, alignment)                                                                  \
    {.sh_type = (type), .sh_flags = (flags), .sh_addralign = (alignment)},
        SECTION_TABLE(X)
#undef X
    };
    struct text names;
    int row = 0;

    text_init(&names);
#define X(id, name, type, flags, alignment)                                                                  \
    sections[row++].sh_name = (Elf64_Word)names.length;                                                      \
    append_name(&names, name);
    SECTION_TABLE(X)
#undef X
    text_append(file, (const char *)&head, sizeof head);
    text_append(file, (const char *)sections, sizeof sections); /* again at the end, when they are known */
    sections[SECTION_CODE].sh_addr = (uintptr_t)functions[0].code;
    sections[SECTION_CODE].sh_size = (uintptr_t)last->code + last->size - (uintptr_t)functions[0].code;
    size_t start = file->length;
    unwind_append(file, functions, count);
    place(&sections[SECTION_FRAMES], start, file->length);
    align(file);
    start = file->length;
    append_symbols(file, &names, functions, count);
    place(&sections[SECTION_SYMBOLS], start, file->length);
    sections[SECTION_SYMBOLS].sh_link = SECTION_NAMES;
    sections[SECTION_SYMBOLS].sh_info = 1; /* local ones */
    sections[SECTION_SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
    start = file->length;
    text_append(file, names.data, names.length);
    place(&sections[SECTION_NAMES], start, file->length);
    file->failed |= names.failed;
    if (!file->failed)
        memcpy(file->data + sizeof head, sections, sizeof sections);
    text_free(&names);
}

struct debug_image *debug_image_add(const struct code_function *functions, int count)
{
    struct debug_image *image = count ? memory_zeroed(1, sizeof *image) : NULL;
    if (!image)
        return NULL;
    text_init(&image->file);
    make_file(&image->file, functions, count);
    if (image->file.failed) {
        text_free(&image->file);
        memory_free(image);
        return NULL;
    }
    image->entry = (struct jit_code_entry){.file = image->file.data, .size = image->file.length};
    pthread_mutex_lock(&lock);
    image->entry.next = __jit_debug_descriptor.first;
    if (image->entry.next)
        image->entry.next->previous = &image->entry;
    __jit_debug_descriptor.first = &image->entry;
    tell(image, JIT_REGISTER);
    pthread_mutex_unlock(&lock);
    return image;
}

void debug_image_remove(struct debug_image *image)
{
    if (!image)
        return;
    pthread_mutex_lock(&lock);
    if (image->entry.next)
        image->entry.next->previous = image->entry.previous;
    if (image->entry.previous)
        image->entry.previous->next = image->entry.next;
    else
        __jit_debug_descriptor.first = image->entry.next;
    tell(image, JIT_UNREGISTER);
    pthread_mutex_unlock(&lock);
    text_free(&image->file);
    memory_free(image);
}
