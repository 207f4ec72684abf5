/*
 * x86_cpu.c: see x86_cpu.h. On other processors than x86-64 there is no target.
 */
#include "x86_cpu.h"

#include <stdatomic.h>
#include <string.h>

static const char *const names[] = {
    [X86_TARGET_NONE] = "none", [X86_TARGET_AVX2] = "avx2", [X86_TARGET_AVX512] = "avx512"};

const char *x86_target_name(enum x86_target target)
{
    return names[target];
}

bool x86_target_from_name(const char *name, enum x86_target *target)
{
    for (int k = X86_TARGET_NONE; k <= X86_TARGET_AVX512; k++)
        if (strcmp(name, names[k]) == 0) {
            *target = (enum x86_target)k;
            return true;
        }
    return false;
}

#if defined(__x86_64__)
#include <cpuid.h>

/* The register states that the operating system saves: bits of XCR0. */
static unsigned saved_state(void)
{
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static enum x86_target find_target(void)
{
    enum { AVX_STATE = 6, AVX512_STATE = 0xe6 }; /* xmm and ymm; also masks and the rest of zmm */
    const unsigned first = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C;
    const unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    unsigned a, b, c, d, state;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & first) != first)
        return X86_TARGET_NONE;
    state = saved_state();
    if ((state & AVX_STATE) != AVX_STATE || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2) ||
        !(b & bit_BMI2))
        return X86_TARGET_NONE;
    bool wide = (b & avx512) == avx512 && (state & AVX512_STATE) == AVX512_STATE;
    return wide ? X86_TARGET_AVX512 : X86_TARGET_AVX2;
}

/* Three quarters of the last cache that the cores of a complex have in common, 32 MiB since Zen 3. There (Zen
 * 4, 2026-11-24) a square of 16 MiB takes 1.1 ms with lines fetched ahead or not, 0.65 with stores that pass
 * by the caches; of 8 MiB both take the same, and what reads the result next is slower. Intel's fetch ahead
 * well (vector_x86_far.c); such stores have not been measured there. */
int x86_cpu_stream_bytes(void)
{
    static const char *const makers[] = {"AuthenticAMD", "HygonGenuine"};
    enum { BYTES = 24 << 20 };
    static atomic_int known; /* + 1 */
    int bytes = atomic_load(&known) - 1;
    unsigned a, name[3];
    if (bytes >= 0)
        return bytes;
    bytes = 0;
    if (__get_cpuid(0, &a, &name[0], &name[2], &name[1]))
        for (size_t k = 0; k < sizeof makers / sizeof *makers; k++)
            bytes = memcmp(name, makers[k], sizeof name) == 0 ? BYTES : bytes;
    atomic_store(&known, bytes + 1);
    return bytes;
}

enum x86_target x86_cpu_target(void)
{
    static atomic_int known; /* + 1; in a virtual machine the question takes some microseconds */
    int target = atomic_load(&known);

    if (!target)
        atomic_store(&known, target = (int)find_target() + 1);
    return (enum x86_target)(target - 1);
}
#else
int x86_cpu_stream_bytes(void)
{
    return 0;
}

enum x86_target x86_cpu_target(void)
{
    return X86_TARGET_NONE;
}
#endif
