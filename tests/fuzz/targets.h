/*
 * targets.h: what is fuzzed byte by byte. Each takes any bytes, returns 0, and aborts where something is
 * wrong that no sanitizer sees. entry.c makes a libFuzzer program of one (`make fuzz`); replay.c runs all
 * over the kept inputs
 * (`make check`).
 */
#ifndef TESTS_FUZZ_TARGETS_H
#define TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

/* Words, layout, grammar; the tree is printed. */
int target_parse(const uint8_t *data, size_t size);
/* jit_compile, and the calls that lines with #@ ask for (oracle.h). */
int target_frontend(const uint8_t *data, size_t size);
/* The reader of IR text; what it takes is printed and read again, analysed and emitted as C. */
int target_ir(const uint8_t *data, size_t size);
/* A .npy file, or an .npz file if it begins like one. */
int target_npy(const uint8_t *data, size_t size);
/* An .npz archive whose members are pieces of the bytes. */
int target_npz(const uint8_t *data, size_t size);
/* A kernel made of the bytes (decode.h), analysed, compiled and run. */
int target_backend(const uint8_t *data, size_t size);
/* A kernel made of the bytes, with constants from all of int64, through everything that is computed of one
 * without running it: certificates, passes, vector code, CUDA, plain C, costs. */
int target_compile(const uint8_t *data, size_t size);
/* Repairs (check --fix) and the canonical form (fmt) of a program. */
int target_rewrite(const uint8_t *data, size_t size);
/* akgrun's words, one a line. */
int target_command(const uint8_t *data, size_t size);
/* A VALUE of the command line, for each kind of parameter. */
int target_value(const uint8_t *data, size_t size);

#endif
