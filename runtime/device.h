/*
 * device.h: the devices an operator can be written for, by name.
 */
#ifndef RUNTIME_DEVICE_H
#define RUNTIME_DEVICE_H

#include <stdbool.h>

/*  enumerator     name      target of operator information  */
#define DEVICE_TABLE(X)                                                                                      \
    X(DEVICE_CPU, "cpu", "CPU")                                                                              \
    X(DEVICE_CUDA, "cuda", "GPU")                                                                            \
    X(DEVICE_ASCEND, "ascend", "Ascend")

enum device_kind {
#define X(kind, name, target) kind,
    DEVICE_TABLE(X)
#undef X
        DEVICE_KIND_COUNT
};

struct device {
    enum device_kind kind;
    int index;
};

/* "cpu", "cuda", "cuda:1" */
bool device_parse(const char *text, struct device *device);
const char *device_name(enum device_kind kind);
/* The device of a name, or of a target; DEVICE_KIND_COUNT when there is none. */
enum device_kind device_of_name(const char *name);
enum device_kind device_of_target(const char *target);
const char *device_target(enum device_kind kind);

#endif
