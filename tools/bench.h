/*
 * bench.h: what `akgrun bench` has found out, and the forms in which it is told.
 */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

#include "arguments.h"
#include "machine.h"
#include "program.h"
#include "statistics.h"

enum { BENCH_MOST_ROWS = 8, BENCH_MOST_STAGES = 8 };

/* What became of the optimising tier. */
enum bench_optimised { BENCH_NOT_ASKED, BENCH_OPTIMISED, BENCH_NOT_BETTER };

/* One way to run the kernel. */
struct bench_row {
    const char *tier;     /* "instant", "optimised", "cc"; "device" */
    const char *compiler; /* of "cc" */
    struct spread seconds;
    int samples;
    double compile_seconds;
    double bandwidth_share, compute_share; /* of the machine's; 0: it moves or computes nothing, or the
                                              machine's is not known */
};

struct bench_stage {
    const char *name;
    double seconds;
};

struct bench {
    const char *file, *kernel;
    struct machine machine;
    akg_cost cost;
    bool is_float64; /* which of the machine's peaks it is compared with */
    struct bench_row rows[BENCH_MOST_ROWS];
    int row_count;
    struct bench_stage stages[BENCH_MOST_STAGES];
    int stage_count;
    enum bench_optimised optimised;
    char refused[BENCH_MOST_ROWS][320]; /* of several compilers, why one has no row */
    int refused_count;
    double difference; /* largest between the results of two rows, relative; negative: none were compared */
};

/* Shares from seconds, cost and machine. */
void bench_find_shares(struct bench *bench);

/* For people, on standard output. */
void bench_print_table(const struct bench *bench);
/* {"rows": [...], "machine": {...}} */
void bench_print_json(const struct bench *bench, FILE *stream);
/* A page with the table and a roofline (bench_page.c). */
void bench_print_page(const struct bench *bench, FILE *stream);

/* "1.23 ms", "45.6 GB/s" */
void bench_format_seconds(char *text, size_t size, double seconds);
void bench_format_amount(char *text, size_t size, double amount, const char *unit);

/* `akgrun bench --compare A B` (bench_compare.c): prints what is faster and slower beyond doubt. */
bool bench_compare(const char *before, const char *after, struct problem *problem);

/* What a kernel on a device is measured against (bench_device.c): a copy of half of the bytes that it moves,
 * for a copy moves each twice. Starts zeroed. */
struct bench_copy {
    akg_device device;
    akg_tensor *source;
    double bytes;
};
bool bench_device_begin(struct bench_copy *copy, akg_device device, const akg_cost *cost,
                        struct problem *problem);
/* As the `run` of a contestant; `context` is the copy. */
bool bench_device_copy(void *context, long repeats, struct problem *problem);
bool bench_device_wait(akg_device device, struct problem *problem);
/* The device with the bandwidth of copies that took so long; what it can compute is not known. */
bool bench_device_know(const struct bench_copy *copy, const struct spread *seconds, struct machine *machine,
                       struct problem *problem);
void bench_device_end(struct bench_copy *copy);

/* One tensor of the plain C, in the order of akg_plain_run. */
struct bench_tensor {
    const akg_tensor *tensor; /* what it holds before a run */
    bool is_output;           /* nothing yet */
    bool changes;             /* it is written in place */
};

/* `akgrun bench --emit DIR` (bench_emit.c): a C program, its data and Makefile, in a folder that may be
 * there; nothing in it is overwritten. `text` is the kernel's plain C. */
bool bench_emit(const char *folder, const struct bench *bench, const char *text,
                const struct bench_tensor *tensors, size_t count, struct problem *problem);

#endif
