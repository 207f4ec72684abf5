/*
 * callee.h: what a command line calls: a function of a program, or an operator of the libraries that --load
 * names.
 */
#ifndef TOOLS_CALLEE_H
#define TOOLS_CALLEE_H

#include "arguments.h"
#include "program.h"

/* Starts zeroed. */
struct callee {
    akg_kernel *kernel;       /* of the program; NULL: an operator of a library */
    akg_registry *registry;   /* a reference; holds the operator */
    akg_operator *operation;  /* NULL until it is asked for, where there is a kernel */
    akg_operation *performed; /* the last call of the operator of a library */
    char **output_names;      /* of its outputs, tensor by tensor */
    size_t output_count;
};

/* The program compiled and its kernel, or the libraries loaded and their operator: what the words name.
 * Libraries are loaded where --load stands on the command line. */
bool callee_open(const struct options *options, struct program *program, struct callee *callee,
                 struct problem *problem);
/* A registry with what the libraries have, which is given to `registry`. */
bool callee_load(const struct options *options, akg_registry **registry, struct problem *problem);
/* Says that the libraries have no operator of that name; false. */
bool callee_unknown_operator(const struct callee *callee, const char *name, struct problem *problem);
/* Makes an operator of the program's kernel too. */
bool callee_register(struct callee *callee, const struct program *program, struct problem *problem);
void callee_close(struct callee *callee);

const char *callee_name(const struct callee *callee);
/* arguments_bind for it. A number given under the name of an output of a library's operator says how many
 * tensors that is to hold. */
bool callee_bind(const struct callee *callee, const struct program *program, uint64_t seed,
                 struct arguments *arguments, struct problem *problem);
/* The name of an output; of an operator of a library, after its call. */
const char *callee_output_name(const struct callee *callee, size_t index);

/* Calls the operator, recorded on the tape unless that is NULL. *outputs is an array for free(), of new
 * references.
 */
bool callee_call(struct callee *callee, akg_tape *tape, const akg_argument *arguments, size_t count,
                 akg_tensor ***outputs, size_t *output_count, struct problem *problem);

#endif
