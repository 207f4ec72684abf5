/*
 * shared_object.c: see shared_object.h.
 *
 * The loader of the C library takes a file at its word: parts that it is promised and that are not there end
 * the process. So the table of parts is compared with the size first.
 */
#define _GNU_SOURCE /* memfd_create */
#include "shared_object.h"
#include "../base/memory.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool lies_within(uint64_t offset, uint64_t length, uint64_t size)
{
    return offset <= size && length <= size - offset;
}

static bool is_whole(const unsigned char *bytes, size_t size)
{
    Elf64_Ehdr head;
    bool dynamic = false;
    if (size < sizeof head)
        return false;
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_type != ET_DYN || head.e_phentsize != sizeof(Elf64_Phdr) ||
        !lies_within(head.e_phoff, (uint64_t)head.e_phnum * sizeof(Elf64_Phdr), size))
        return false;
    for (int k = 0; k < head.e_phnum; k++) {
        Elf64_Phdr part;
        memcpy(&part, bytes + head.e_phoff + (size_t)k * sizeof part, sizeof part);
        if (!lies_within(part.p_offset, part.p_filesz, size) || part.p_filesz > part.p_memsz)
            return false;
        dynamic |= part.p_type == PT_DYNAMIC;
    }
    return dynamic && lies_within(head.e_shoff, (uint64_t)head.e_shnum * sizeof(Elf64_Shdr), size);
}

static bool write_all(int descriptor, const char *bytes, size_t size)
{
    while (size) {
        ssize_t count = memory_fail_here() ? -1 : write(descriptor, bytes, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        bytes += count;
        size -= (size_t)count;
    }
    return true;
}

bool shared_object_load(struct shared_object *object, const void *bytes, size_t size)
{
    char path[40];
    *object = (struct shared_object){NULL, -1};
    if (!is_whole(bytes, size) || memory_fail_here())
        return false;
    object->descriptor = memfd_create("akg-kernel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (object->descriptor >= 0 && write_all(object->descriptor, bytes, size) &&
        fcntl(object->descriptor, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) ==
            0) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", object->descriptor);
        object->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (!object->handle)
        shared_object_free(object);
    return object->handle != NULL;
}

void *shared_object_symbol(const struct shared_object *object, const char *name)
{
    return dlsym(object->handle, name);
}

/* The loader knows an object by its path: the descriptor is kept as long as the object, so that no other gets
 * the same. */
void shared_object_free(struct shared_object *object)
{
    if (object->handle)
        dlclose(object->handle);
    if (object->descriptor >= 0)
        close(object->descriptor);
    *object = (struct shared_object){NULL, -1};
}
