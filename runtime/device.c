/*
 * device.c: names of devices.
 */
#include "device.h"

#include <string.h>

static const struct {
    const char *name, *target;
} device_table[DEVICE_KIND_COUNT] = {
#define X(kind, name, target) [kind] = {name, target},
    DEVICE_TABLE(X)
#undef X
};

const char *device_name(enum device_kind kind)
{
    return device_table[kind].name;
}

const char *device_target(enum device_kind kind)
{
    return device_table[kind].target;
}

enum device_kind device_of_name(const char *name)
{
    enum device_kind kind = 0;

    while (kind < DEVICE_KIND_COUNT && strcmp(device_table[kind].name, name) != 0)
        kind++;
    return kind;
}

enum device_kind device_of_target(const char *target)
{
    enum device_kind kind = 0;

    while (kind < DEVICE_KIND_COUNT && strcmp(device_table[kind].target, target) != 0)
        kind++;
    return kind;
}

/* "", or ":" and a small number. */
static bool device_parse_index(const char *text, int *index)
{
    int value = 0;

    *index = 0;
    if (!*text)
        return true;
    if (*text++ != ':' || !*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > 999)
            return false;
        value = value * 10 + (*text - '0');
    }
    *index = value;
    return true;
}

bool device_parse(const char *text, struct device *device)
{
    for (enum device_kind kind = 0; kind < DEVICE_KIND_COUNT; kind++) {
        size_t length = strlen(device_table[kind].name);
        if (strncmp(text, device_table[kind].name, length) == 0 &&
            device_parse_index(text + length, &device->index)) {
            device->kind = kind;
            return true;
        }
    }
    return false;
}
