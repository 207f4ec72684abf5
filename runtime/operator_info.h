/*
 * operator_info.h: operator information: the combinations of dtypes and formats that a target takes.
 */
#ifndef RUNTIME_OPERATOR_INFO_H
#define RUNTIME_OPERATOR_INFO_H

#include "operator.h"

struct operator_info {
    _Atomic(const struct operator_info *) next;
    enum device_kind device;
    akg_operator_info about;
};

/* Whether there are a target and every list, none with more than CALL_MAX_ITEMS entries: the items of all
 * combinations can be counted. */
bool operator_info_is_there(const akg_operator_info *info);

/* For commits. */
bool info_targets_differ(const akg_operator *callee, const struct operator_info *first,
                         const struct operator_info *second, akg_diagnostics *list);
bool info_is_free(const akg_operator *callee, const struct operator_info *info, akg_diagnostics *list);
void info_append(akg_operator *callee, struct operator_info *info);

/* A call that is to be held against it. */
struct info_call {
    const akg_operator *callee;
    enum device_kind device;
    const akg_operator_info *given; /* with the call; NULL: what is registered counts */
    /* Tensor `index` of an operand, inputs and outputs numbered in one row; false past the last. The tensor
     * itself where there is one, else NULL. */
    bool (*describe)(const void *context, int operand, size_t index, akg_description *description,
                     const akg_tensor **tensor);
    const void *context;
};

/* Whether there is no information to hold it against. */
bool info_is_silent(const struct info_call *call);
/* AKG_OK, or AKG_ERROR_CALL with messages. */
akg_status info_check(const struct info_call *call, akg_diagnostics *list);

#endif
