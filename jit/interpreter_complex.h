/*
 * interpreter_complex.h: the interpreter in complex numbers, for derivatives without a difference: if f is
 * made of analytic functions, the imaginary part of f(x + ih) is h f'(x), to rounding, where h is tiny.
 */
#ifndef JIT_INTERPRETER_COMPLEX_H
#define JIT_INTERPRETER_COMPLEX_H

#include "interpreter.h"

struct interpreter_complex {
    /* Per buffer of the kernel, in order: the imaginary parts by place in memory, counted in elements; NULL:
     * zeros that stay. Inputs as they are handed in; what the kernel makes is to be zero. */
    double **imaginary;
    const int64_t *counts; /* of each */
    int64_t steps;         /* how many statements and iterations may run; what is left of them afterwards */
    bool refused;          /* the run stopped since an operation is none that is known for complex numbers */
};

/*
 * As interpreter_run, and keeps the imaginary parts of all floats beside them; real parts are what they are
 * without. Comparisons, choices, roundings and conversions to integers go by the real part, and lose the
 * imaginary one: their derivative is zero where they have one. With `refused`, or when the steps do not
 * suffice, it gives 1 with a trap of site 0.
 */
int interpreter_run_complex(const struct ir_kernel *kernel, const struct jit_frame *frame,
                            struct interpreter_complex *parts);

#endif
