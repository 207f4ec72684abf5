/*
 * native_operator.h: what the tests of operators written in C share: their registry, and inputs, outputs and
 * attributes to describe operators with.
 */
#ifndef TESTS_UNIT_NATIVE_OPERATOR_H
#define TESTS_UNIT_NATIVE_OPERATOR_H

#include "refused.h"

static akg_registry *registry;

static akg_operator *find(const char *name)
{
    akg_operator *found = NULL;

    CHECK_INT(akg_registry_find(registry, name, &found, NULL), AKG_OK);
    return found;
}

static akg_status call(const char *name, const akg_argument *arguments, size_t count, akg_tensor **outputs)
{
    return akg_call(NULL, find(name), arguments, count, outputs, &diagnostics);
}

static const akg_operand one_in[] = {{.name = "in"}}, one_out[] = {{.name = "out"}};

/* An attribute of each kind, all but the first with an initial value. */
static const akg_argument eleven = {.kind = AKG_ARGUMENT_INT, .as.integer = 11},
                          yes = {.kind = AKG_ARGUMENT_BOOL, .as.boolean = true},
                          sum = {.kind = AKG_ARGUMENT_STRING, .as.string = "sum"},
                          float64 = {.kind = AKG_ARGUMENT_DTYPE, .as.dtype = AKG_FLOAT64};
static const int64_t list[] = {10, 11, 12};
static const akg_argument ints = {.kind = AKG_ARGUMENT_INTS, .as.ints = {list, 3}},
                          none = {.kind = AKG_ARGUMENT_INTS};
static const akg_attribute all_attributes[] = {
    {"shape", AKG_ATTRIBUTE_SHAPE, NULL},     {"small", AKG_ATTRIBUTE_INT32, &eleven},
    {"large", AKG_ATTRIBUTE_INT64, &eleven},  {"flag", AKG_ATTRIBUTE_BOOL, &yes},
    {"single", AKG_ATTRIBUTE_FLOAT, &eleven}, {"real", AKG_ATTRIBUTE_DOUBLE, &eleven},
    {"mode", AKG_ATTRIBUTE_STRING, &sum},     {"dtype", AKG_ATTRIBUTE_DTYPE, &float64},
    {"smalls", AKG_ATTRIBUTE_INT32S, &none},  {"integers", AKG_ATTRIBUTE_INT64S, &ints},
    {"reals", AKG_ATTRIBUTE_FLOATS, &ints},
};

#endif
