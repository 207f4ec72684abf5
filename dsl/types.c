/*
 * types.c: type variables by union-find over sets of dtypes. The larger tree stays on top, so that a root is
 * never more than a logarithm of the number of variables away.
 */
#include "types.h"

akg_dtype type_fresh(struct types *types, unsigned allowed, bool generic)
{
    struct type_variable variable = {-1, 1, allowed, generic, false};
    list_push(types->arena, &types->variables, variable);
    return (akg_dtype)(TYPE_FIRST_VARIABLE + types->variables.count - 1);
}

static int type_root(const struct types *types, akg_dtype type)
{
    int index = (int)type - TYPE_FIRST_VARIABLE;
    while (types->variables.items[index].parent >= 0)
        index = types->variables.items[index].parent;
    return index;
}

static akg_dtype type_only(unsigned allowed)
{
    return allowed && (allowed & (allowed - 1)) == 0 ? (akg_dtype)__builtin_ctz(allowed) : AKG_DTYPE_COUNT;
}

akg_dtype type_find(const struct types *types, akg_dtype type)
{
    int root;
    akg_dtype only;

    if (!type_is_variable(type))
        return type;
    root = type_root(types, type);
    only = type_only(types->variables.items[root].allowed);
    return only != AKG_DTYPE_COUNT ? only : (akg_dtype)(TYPE_FIRST_VARIABLE + root);
}

unsigned type_allowed(const struct types *types, akg_dtype type)
{
    return type_is_variable(type) ? types->variables.items[type_root(types, type)].allowed : 1u << type;
}

bool type_restrict(struct types *types, akg_dtype type, unsigned allowed)
{
    unsigned left = type_allowed(types, type) & allowed;
    if (!left)
        return false;
    if (type_is_variable(type))
        types->variables.items[type_root(types, type)].allowed = left;
    return true;
}

bool type_unify(struct types *types, akg_dtype a, akg_dtype b)
{
    struct type_variable *first, *second;
    int root, other;

    if (!type_is_variable(a))
        return type_restrict(types, b, 1u << a);
    if (!type_is_variable(b))
        return type_restrict(types, a, 1u << b);
    root = type_root(types, a);
    other = type_root(types, b);
    if (root == other)
        return true;
    if (types->variables.items[root].size < types->variables.items[other].size) {
        int swapped = root;
        root = other;
        other = swapped;
    }
    first = &types->variables.items[root];
    second = &types->variables.items[other];
    if (!(first->allowed & second->allowed))
        return false;
    first->size += second->size;
    first->allowed &= second->allowed;
    first->generic |= second->generic;
    first->as_index |= second->as_index;
    second->parent = root;
    return true;
}

void type_mark_index(struct types *types, akg_dtype type)
{
    if (type_is_variable(type))
        types->variables.items[type_root(types, type)].as_index = true;
}

akg_dtype type_decide(const struct types *types, akg_dtype type)
{
    static const akg_dtype order[] = {AKG_INT32, AKG_FLOAT32, AKG_INT64};
    static const akg_dtype generic_order[] = {AKG_FLOAT32, AKG_INT32, AKG_INT64};
    const struct type_variable *variable;

    type = type_find(types, type);
    if (!type_is_variable(type))
        return type;
    variable = &types->variables.items[type_root(types, type)];
    if (variable->as_index && !variable->generic && (variable->allowed & 1u << AKG_INT64))
        return AKG_INT64;
    for (int i = 0; i < 3; i++) {
        akg_dtype candidate = variable->generic ? generic_order[i] : order[i];
        if (variable->allowed & 1u << candidate)
            return candidate;
    }
    return (akg_dtype)__builtin_ctz(variable->allowed);
}

const char *type_text(const struct types *types, akg_dtype type)
{
    unsigned allowed = type_allowed(types, type);
    akg_dtype only = type_only(allowed);

    if (only != AKG_DTYPE_COUNT)
        return dtype_table[only].name;
    if (!(allowed & ~TYPES_FLOAT))
        return "a float";
    if (!(allowed & ~TYPES_INTEGER))
        return "an integer";
    return allowed & TYPES_BOOL ? "any dtype" : "a number";
}
