/*
 * x86_cpu.c: see x86_cpu.h. On other processors than x86-64 there is no target.
 */
#include "x86_cpu.h"

#include <stdatomic.h>
#include <string.h>

enum { USUAL_NEAREST = 32 << 10 };

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

enum maker { MAKER_OTHER, MAKER_AMD, MAKER_INTEL };

static enum maker find_maker(void)
{
    static const struct {
        char name[13];
        enum maker maker;
    } makers[] = {{"AuthenticAMD", MAKER_AMD}, {"HygonGenuine", MAKER_AMD}, {"GenuineIntel", MAKER_INTEL}};
    unsigned a, name[3];
    if (!__get_cpuid(0, &a, &name[0], &name[2], &name[1]))
        return MAKER_OTHER;
    for (size_t k = 0; k < sizeof makers / sizeof *makers; k++)
        if (memcmp(name, makers[k].name, sizeof name) == 0)
            return makers[k].maker;
    return MAKER_OTHER;
}

/* The family, as "AMD64 Architecture Programmer's Manual, volume 3: CPUID Fn0000_0001_EAX" puts it together.
 */
static unsigned family(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return 0;
    return (a >> 8 & 0xf) + (a >> 20 & 0xff);
}

/* What the questions below answer. In a virtual machine asking the processor takes some microseconds. */
enum { KNOWN = 1, STREAMS = 2, SPLITS = 4, PERMUTES = 8, SLOWS = 16, GATHERS_SLOWLY = 32, COUNTS_BITS = 64 };

/* Of what is for AVX-512 alone. */
static int find_extensions(void)
{
    unsigned a, b, c, d;
    if (x86_cpu_target() != X86_TARGET_AVX512 || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    return (c & bit_AVX512VBMI ? PERMUTES : 0) | (c & bit_AVX512VPOPCNTDQ ? COUNTS_BITS : 0);
}

/* Those of Intel before Sapphire Rapids, which was the first one to have AVX512_FP16, must not gather from
 * what they had loaded before, by a guess, for others (CVE-2022-40982, "Gather Data Sampling"); since the
 * microcode of 2023 a gather takes 28 cycles on Ice Lake, of 4 lanes as well as of 16. */
static bool guards_gathers(void)
{
    enum { AVX512_FP16 = 1 << 23 };
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && !(d & AVX512_FP16);
}

static int describe(void)
{
    enum { ZEN_4 = 0x19 }; /* that family with AVX-512: Zen 3, the same family, has none */
    static atomic_int known;
    int answer = atomic_load(&known);
    if (answer)
        return answer;
    answer = KNOWN;
    enum maker maker = find_maker();
    bool is_wide = x86_cpu_target() == X86_TARGET_AVX512;
    if (maker == MAKER_AMD)
        answer |= family() == ZEN_4 ? STREAMS | SPLITS : STREAMS;
    else if (maker == MAKER_INTEL && is_wide)
        answer |= guards_gathers() ? STREAMS | SLOWS | GATHERS_SLOWLY : STREAMS | SLOWS;
    answer |= find_extensions();
    atomic_store(&known, answer);
    return answer;
}

/* Three quarters of the last cache that the cores of a complex have in common, 32 MiB since Zen 3. There (Zen
 * 4, 2026-11-24) a square of 16 MiB takes 1.1 ms with lines fetched ahead or not, 0.65 with stores that pass
 * by the caches; of 8 MiB both take the same, and what reads the result next is slower. On Ice Lake with 48
 * MiB (2026-11-29) one of 16 MiB takes 1.56 ms with lines fetched ahead, and 0.94, of 32 MiB 4.5 and 2.1; a
 * transpose of 3000 x 2900 12.5 and 4.8. Intel's without AVX-512 have not been measured. */
int x86_cpu_stream_bytes(void)
{
    enum { BYTES = 24 << 20 };
    return describe() & STREAMS ? BYTES : 0;
}

/* The leaves that list caches, the nearest one for data first: lines of sets of ways. */
static int find_nearest_bytes(void)
{
    enum { INTEL_CACHES = 4 };
    const unsigned amd_caches = 0x8000001d;
    unsigned a, b, c, d, leaf = find_maker() == MAKER_AMD ? amd_caches : INTEL_CACHES;
    if (!__get_cpuid_count(leaf, 0, &a, &b, &c, &d) || (a & 0x1f) != 1 || (a >> 5 & 7) != 1)
        return 0;
    unsigned line = (b & 0xfff) + 1, parts = (b >> 12 & 0x3ff) + 1, ways = (b >> 22) + 1;
    return (int)(line * parts * ways * (c + 1));
}

int x86_cpu_nearest_bytes(void)
{
    static atomic_int known;
    int bytes = atomic_load(&known);
    if (!bytes) {
        bytes = find_nearest_bytes();
        atomic_store(&known, bytes = bytes > 0 ? bytes : USUAL_NEAREST);
    }
    return bytes;
}

bool x86_cpu_splits_vectors(void)
{
    return describe() & SPLITS;
}

bool x86_cpu_slows_for_vectors(void)
{
    return describe() & SLOWS;
}

bool x86_cpu_gathers_slowly(void)
{
    return describe() & GATHERS_SLOWLY;
}

bool x86_cpu_permutes_bytes(void)
{
    return describe() & PERMUTES;
}

bool x86_cpu_counts_bits(void)
{
    return describe() & COUNTS_BITS;
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
int x86_cpu_nearest_bytes(void)
{
    return USUAL_NEAREST;
}

int x86_cpu_stream_bytes(void)
{
    return 0;
}

bool x86_cpu_splits_vectors(void)
{
    return false;
}

bool x86_cpu_slows_for_vectors(void)
{
    return false;
}

bool x86_cpu_gathers_slowly(void)
{
    return false;
}

bool x86_cpu_permutes_bytes(void)
{
    return false;
}

bool x86_cpu_counts_bits(void)
{
    return false;
}

enum x86_target x86_cpu_target(void)
{
    return X86_TARGET_NONE;
}
#endif
