/*
 * shared_object.h: a shared object in memory, loaded.
 *
 * Its bytes go into a file that exists in memory only, is sealed, and is loaded from there: nobody can change
 * it after it was looked at, and no file of the disk is executed.
 */
#ifndef JIT_SHARED_OBJECT_H
#define JIT_SHARED_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

struct shared_object {
    void *handle; /* NULL: none */
    int descriptor;
};

/* Loads it. False where it is none, was cut, or needs what is not there. */
bool shared_object_load(struct shared_object *object, const void *bytes, size_t size);
void *shared_object_symbol(const struct shared_object *object, const char *name);
void shared_object_free(struct shared_object *object);

#endif
