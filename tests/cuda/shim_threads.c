/*
 * shim_threads.c: the threads of a block as fibres, and what they do together.
 *
 * A fibre is a stack and the place where it stopped. Whatever runs on one is not instrumented by sanitizers,
 * which do not know of such stacks. A fault in compiled text ends the fibre, not the process.
 */
#define _GNU_SOURCE /* the registers of a signal's context */
#include "shim_private.h"

#include "../../base/dtype.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if !defined __x86_64__
#error the switch between fibres is written for x86-64
#endif

enum { THREADS = 1024, WARP = 32, STACK = 64 * 1024 };

enum state { READY, AT_BARRIER, AT_EXCHANGE, AT_MATRICES, DONE };

/* A thread's part of what its warp does with matrices. */
struct product {
    void (*work)(int first);
    float *sums[2];
    const uint32_t *a, *b;
    uint32_t *to;
    float (*widen)(uint16_t bits);
};

/* A copy on its way. */
struct copy {
    uint32_t *to;
    const void *from;
    int bytes, group;
};
enum { COPIES = 64 };

/* A thread's part of a product of four warps, from shared memory, on its way. */
struct group_product {
    float *sums; /* of two rows */
    const unsigned char *sides[2];
    bool turned[2]; /* depths do not run along its lines */
    float (*widen)(uint16_t bits);
    int group;
};
enum { GROUP_PRODUCTS = 16 };

struct fibre {
    void *stack; /* where it stopped */
    enum state state;
    int line;       /* of the barrier */
    int lane;       /* how far off the one with whom it exchanges */
    uint64_t value; /* what it gives, and then what it got */
    struct product product;
    struct copy copies[COPIES]; /* oldest first */
    int copy_count, group;
    struct group_product products[GROUP_PRODUCTS]; /* oldest first */
    int product_count, product_group;
};

static struct {
    pthread_mutex_t lock; /* one launch at a time */
    char *stacks;
    struct fibre fibres[THREADS];
    void *scheduler; /* its stack, while a fibre runs */
    int current;
    struct shim_index indices[4];
    jit_entry entry;
    struct shim_call *call;
    bool stopped; /* a thread told of a stop: then threads may leave before a barrier */
    bool faulted;
    unsigned order;
} shim = {.lock = PTHREAD_MUTEX_INITIALIZER};

void shim_set_order(unsigned order)
{
    shim.order = order;
}

/* ---- switching ---------------------------------------------------------------------------- */

void shim_switch(void **from, void *to);
__asm__(".text\n"
        ".type shim_switch, @function\n"
        "shim_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size shim_switch, . - shim_switch\n");

/* Back to the scheduler. */
ON_FIBRE static void wait_as(enum state state)
{
    struct fibre *fibre = &shim.fibres[shim.current];
    fibre->state = state;
    shim_switch(&fibre->stack, shim.scheduler);
}

ON_FIBRE static void run_fibre(void)
{
    shim.entry((const struct jit_frame *)(const void *)shim.call);
    wait_as(DONE);
    __builtin_unreachable();
}

/* Where a fibre goes on after a fault. */
ON_FIBRE void shim_leave_after_fault(void)
{
    shim.faulted = true;
    wait_as(DONE);
    __builtin_unreachable();
}

ON_FIBRE static void on_fault(int number, siginfo_t *info, void *context_pointer)
{
    ucontext_t *context = context_pointer;
    (void)number;
    (void)info;
    /* the stack as a call would leave it */
    context->uc_mcontext.gregs[REG_RSP] = (context->uc_mcontext.gregs[REG_RSP] - 256) / 16 * 16 - 8;
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)shim_leave_after_fault;
}

static void begin_fibre(int number)
{
    uint64_t *top = (uint64_t *)(void *)(shim.stacks + (size_t)(number + 1) * STACK);
    *--top = 0; /* keeps the stack as a call leaves it: 8 off a multiple of 16 behind the return address */
    *--top = (uint64_t)(uintptr_t)run_fibre;
    for (int k = 0; k < 6; k++)
        *--top = 0;
    shim.fibres[number] = (struct fibre){.stack = top, .state = READY};
}

/* Until it waits. */
static void resume(int number)
{
    shim.current = number;
    shim.indices[0].x = (unsigned)number;
    shim_switch(&shim.scheduler, shim.fibres[number].stack);
}

/* ---- what compiled text calls ----------------------------------------------------------------- */

ON_FIBRE static void barrier(int line)
{
    shim.fibres[shim.current].line = line;
    wait_as(AT_BARRIER);
}

ON_FIBRE static uint64_t exchange(uint64_t value, int lane)
{
    struct fibre *fibre = &shim.fibres[shim.current];
    fibre->value = value;
    fibre->lane = lane;
    wait_as(AT_EXCHANGE);
    return fibre->value;
}

ON_FIBRE static float exchange_float32(float value, int lane)
{
    union {
        float f;
        uint64_t bits;
    } both = {.bits = 0};
    both.f = value;
    both.bits = exchange(both.bits, lane);
    return both.f;
}

ON_FIBRE static double exchange_float64(double value, int lane)
{
    union {
        double d;
        uint64_t bits;
    } both = {.d = value};
    both.bits = exchange(both.bits, lane);
    return both.d;
}

ON_FIBRE static long long exchange_int64(long long value, int lane)
{
    return (long long)exchange((uint64_t)value, lane);
}

ON_FIBRE static unsigned long long exchange_uint64(unsigned long long value, int lane)
{
    return exchange(value, lane);
}

ON_FIBRE static unsigned swap32(unsigned *at, unsigned before, unsigned after)
{
    unsigned found = *at;
    if (found == before)
        *at = after;
    return found;
}

ON_FIBRE static unsigned long long swap64(unsigned long long *at, unsigned long long before,
                                          unsigned long long after)
{
    unsigned long long found = *at;
    if (found == before)
        *at = after;
    return found;
}

/* What emitted text swaps is the lock of the trap, when it told of a stop. */
ON_FIBRE static unsigned long long atomic_swap(unsigned long long *at, unsigned long long value)
{
    unsigned long long found = *at;
    *at = value;
    shim.stopped = true;
    return found;
}

ON_FIBRE bool shim_is_shared(const void *memory)
{
    return (const char *)memory - shim.call->shared >= 0 &&
           (const char *)memory - shim.call->shared < (ptrdiff_t)shim.call->shared_bytes;
}

ON_FIBRE bool shim_is_own(const void *memory)
{
    return (const char *)memory - shim.stacks >= 0 &&
           (const char *)memory - shim.stacks < (ptrdiff_t)THREADS * STACK;
}

static void multiply(int first);
static void multiply_rounded(int first);
static void hand_out(int first);
static void hand_out_turned(int first);

ON_FIBRE static void product(float *upper, float *lower, const uint32_t *a, const uint32_t *b,
                             float (*widen)(uint16_t bits))
{
    shim.fibres[shim.current].product =
        (struct product){.work = multiply, .sums = {upper, lower}, .a = a, .b = b, .widen = widen};
    wait_as(AT_MATRICES);
}

ON_FIBRE static void matrices(uint32_t *to, const uint32_t *from)
{
    if ((uintptr_t)from % 16 != 0 || !shim_is_shared(from))
        shim_leave_after_fault();
    shim.fibres[shim.current].product = (struct product){.work = hand_out, .to = to, .a = from};
    wait_as(AT_MATRICES);
}

ON_FIBRE static void matrices_turned(uint32_t *to, const uint32_t *from)
{
    if ((uintptr_t)from % 16 != 0 || !shim_is_shared(from))
        shim_leave_after_fault();
    shim.fibres[shim.current].product = (struct product){.work = hand_out_turned, .to = to, .a = from};
    wait_as(AT_MATRICES);
}

/* As late as can be: what does not wait for it finds what was there before. */
ON_FIBRE static void bring(uint32_t *to, const void *from, int bytes)
{
    struct fibre *fibre = &shim.fibres[shim.current];
    if ((uintptr_t)to % 16 != 0 || (uintptr_t)from % 16 != 0 || !shim_is_shared(to) || shim_is_shared(from) ||
        fibre->copy_count == COPIES)
        shim_leave_after_fault();
    fibre->copies[fibre->copy_count++] = (struct copy){to, from, bytes, fibre->group};
}

ON_FIBRE static void end_group(void)
{
    shim.fibres[shim.current].group++;
}

ON_FIBRE static void wait_but_one(void)
{
    struct fibre *fibre = &shim.fibres[shim.current];
    int done = 0;
    for (; done < fibre->copy_count && fibre->copies[done].group < fibre->group - 1; done++)
        for (int k = 0; k < 16; k++)
            ((volatile char *)fibre->copies[done].to)[k] =
                k < fibre->copies[done].bytes ? ((const char *)fibre->copies[done].from)[k] : 0;
    for (int k = done; k < fibre->copy_count; k++)
        fibre->copies[k - done] = fibre->copies[k];
    fibre->copy_count -= done;
}

ON_FIBRE static void product_float16(float *upper, float *lower, const uint32_t *a, const uint32_t *b)
{
    product(upper, lower, a, b, half_to_float);
}

ON_FIBRE static void product_bfloat16(float *upper, float *lower, const uint32_t *a, const uint32_t *b)
{
    product(upper, lower, a, b, bfloat_to_float);
}

ON_FIBRE static void product_tf32(float *upper, float *lower, const uint32_t *a, const uint32_t *b)
{
    shim.fibres[shim.current].product =
        (struct product){.work = multiply_rounded, .sums = {upper, lower}, .a = a, .b = b};
    wait_as(AT_MATRICES);
}

/* Blocks run one after the other: what one waits for is there, or never comes. */
ON_FIBRE static void tell(volatile long long *flag)
{
    *flag = 1;
}

ON_FIBRE static void wait_for(volatile long long *flag)
{
    if (*flag == 0)
        shim_leave_after_fault();
}

ON_FIBRE static void say(volatile long long *word, unsigned bits)
{
    *word = 1ll << 32 | bits;
}

ON_FIBRE static unsigned hear(volatile long long *word)
{
    wait_for(word);
    return (unsigned)*word;
}

ON_FIBRE static long long take_ticket(volatile long long *next)
{
    return (*next)++;
}

/* ---- products of four warps -------------------------------------------------------------- */

enum { GROUP_DEPTHS = 16, GROUP_COLUMNS = 256 };

/* The half of a row, or column, at a depth, where the PTX manual has it with its "128-byte swizzle": lines of
 * 128 bytes in blocks of eight, 8192 bytes from 64 rows to the next where depths do not run along. */
ON_FIBRE static float group_half(const struct group_product *product, int which, int row, int depth)
{
    int line = product->turned[which] ? depth : row, in = product->turned[which] ? row % 64 : depth;
    uintptr_t at = (uintptr_t)product->sides[which] + (uintptr_t)(line / 8 * 1024 + line % 8 * 128 + in * 2);
    if (product->turned[which])
        at += (uintptr_t)(row / 64 * 8192);
    return product->widen(*(const uint16_t *)(at ^ (at >> 7 & 7) << 4));
}

ON_FIBRE static void group_multiply(const struct group_product *product)
{
    int lane = shim.current % WARP, warp = shim.current / WARP % 4;
    for (int k = 0; k < 2; k++)
        for (int depth = 0; depth < GROUP_DEPTHS; depth++) {
            float left = group_half(product, 0, warp * 16 + lane / 4 + k * 8, depth);
            for (int column = 0; column < GROUP_COLUMNS / 4; column++)
                product->sums[k * (GROUP_COLUMNS / 4) + column] +=
                    left * group_half(product, 1, column / 2 * 8 + lane % 4 * 2 + column % 2, depth);
        }
}

/* As late as can be, as with copies. */
ON_FIBRE static void group_wait(int but)
{
    struct fibre *fibre = &shim.fibres[shim.current];
    int done = 0;
    for (; done < fibre->product_count && fibre->products[done].group < fibre->product_group - but; done++)
        group_multiply(&fibre->products[done]);
    for (int k = done; k < fibre->product_count; k++)
        fibre->products[k - done] = fibre->products[k];
    fibre->product_count -= done;
}

ON_FIBRE static void group_wait_but_one(void)
{
    group_wait(1);
}

ON_FIBRE static void group_wait_for_all(void)
{
    group_wait(0);
}

ON_FIBRE static void group_end(void)
{
    shim.fibres[shim.current].product_group++;
}

ON_FIBRE static void nothing(void)
{
}

ON_FIBRE static void group_product(float *sums, const unsigned char *a, const unsigned char *b, int turned,
                                   float (*widen)(uint16_t bits))
{
    struct fibre *fibre = &shim.fibres[shim.current];
    if ((uintptr_t)a % 16 != 0 || (uintptr_t)b % 16 != 0 || !shim_is_shared(a) || !shim_is_shared(b) ||
        fibre->product_count == GROUP_PRODUCTS)
        shim_leave_after_fault();
    fibre->products[fibre->product_count++] = (struct group_product){
        sums, {a, b}, {(turned & 2) != 0, (turned & 1) != 0}, widen, fibre->product_group};
}

#define GROUP(dtype, widen, turned, name)                                                                    \
    ON_FIBRE static void group_##dtype##_##name(float *sums, const unsigned char *a, const unsigned char *b) \
    {                                                                                                        \
        group_product(sums, a, b, turned, widen);                                                            \
    }
#define GROUPS(X)                                                                                            \
    X(float16, half_to_float, 0, 00)                                                                         \
    X(float16, half_to_float, 1, 01)                                                                         \
    X(float16, half_to_float, 2, 10)                                                                         \
    X(float16, half_to_float, 3, 11)                                                                         \
    X(bfloat16, bfloat_to_float, 0, 00)                                                                      \
    X(bfloat16, bfloat_to_float, 1, 01)                                                                      \
    X(bfloat16, bfloat_to_float, 2, 10)                                                                      \
    X(bfloat16, bfloat_to_float, 3, 11)
GROUPS(GROUP)

/* ---- rounding ---------------------------------------------------------------------------- */

/* To the nearest one, away from zero in the middle. */
ON_FIBRE static float round_tf32(float value)
{
    union {
        float f;
        uint32_t bits;
    } both = {.f = value};
    if ((both.bits >> 23 & 0xff) != 0xff)
        both.bits = (both.bits + 0x1000) & ~0x1fffu;
    return both.f;
}

const struct shim_symbol shim_symbols[] = {
#define GROUP_SYMBOL(dtype, widen, turned, name)                                                             \
    {"akg_group_" #dtype "_" #name,                                                                          \
     "void akg_group_" #dtype "_" #name "(float *sums, const unsigned char *a, const unsigned char *b);",    \
     group_##dtype##_##name},
    GROUPS(GROUP_SYMBOL){"akg_group_begin", "void akg_group_begin(void);", nothing},
    {"akg_group_end", "void akg_group_end(void);", group_end},
    {"akg_group_wait_1", "void akg_group_wait_1(void);", group_wait_but_one},
    {"akg_group_wait_0", "void akg_group_wait_0(void);", group_wait_for_all},
    {"akg_show_cores", "void akg_show_cores(void);", nothing},
    {"akg_tf32", "float akg_tf32(float value);", round_tf32},
    {"akg_product_tf32", "void akg_product_tf32(float *upper, float *lower, const float *a, const float *b);",
     product_tf32},
    {"akg_matrices", "void akg_matrices(unsigned int *to, const unsigned int *from);", matrices},
    {"akg_matrices_turned", "void akg_matrices_turned(unsigned int *to, const unsigned int *from);",
     matrices_turned},
    {"akg_bring", "void akg_bring(unsigned int *to, const void *from, int bytes);", bring},
    {"akg_group", "void akg_group(void);", end_group},
    {"akg_wait_1", "void akg_wait_1(void);", wait_but_one},
    {"akg_product_float16",
     "void akg_product_float16(float *upper, float *lower, const unsigned int *a, const unsigned int *b);",
     product_float16},
    {"akg_product_bfloat16",
     "void akg_product_bfloat16(float *upper, float *lower, const unsigned int *a, const unsigned int *b);",
     product_bfloat16},
    {"akg_shim_barrier", "", barrier},
    {"akg_exchange_float32", "float akg_exchange_float32(float value, int lane);", exchange_float32},
    {"akg_exchange_float64", "double akg_exchange_float64(double value, int lane);", exchange_float64},
    {"akg_exchange_int64", "long long akg_exchange_int64(long long value, int lane);", exchange_int64},
    {"akg_exchange_uint64", "unsigned long long akg_exchange_uint64(unsigned long long value, int lane);",
     exchange_uint64},
    {"akg_swap32", "unsigned int akg_swap32(unsigned int *at, unsigned int before, unsigned int after);",
     swap32},
    {"akg_swap64",
     "unsigned long long akg_swap64(unsigned long long *at, unsigned long long before, unsigned long long "
     "after);",
     swap64},
    {"akg_tell", "void akg_tell(volatile long long *flag);", tell},
    {"akg_wait_for", "void akg_wait_for(volatile long long *flag);", wait_for},
    {"akg_say", "void akg_say(volatile long long *word, unsigned int bits);", say},
    {"akg_hear", "unsigned int akg_hear(volatile long long *word);", hear},
    {"akg_ticket", "long long akg_ticket(volatile long long *next);", take_ticket},
    {"atomicExch", "unsigned long long atomicExch(unsigned long long *at, unsigned long long value);",
     atomic_swap},
    {"fmodf", "float fmodf(float a, float b);", fmodf},
    {"fmod", "double fmod(double a, double b);", fmod},
    {"powf", "float powf(float a, float b);", powf},
    {"pow", "double pow(double a, double b);", pow},
    {"copysignf", "float copysignf(float a, float b);", copysignf},
    {"copysign", "double copysign(double a, double b);", copysign},
    {NULL, NULL, NULL}};

/* ---- one block ------------------------------------------------------------------------------------ */

static int turn(unsigned block, unsigned k)
{
    if (shim.order == 0)
        return (int)k;
    if (shim.order == 1)
        return (int)(block - 1 - k);
    return (int)((k * (2 * (shim.order % 977) + 1) + shim.order) % block); /* block is a power of two */
}

/* A warp whose threads that are still there all wait to exchange does so. */
static bool exchange_warp(int first, int end)
{
    uint64_t values[WARP] = {0};
    for (int k = first; k < end; k++) {
        if (shim.fibres[k].state != AT_EXCHANGE && shim.fibres[k].state != DONE)
            return false;
        values[k - first] = shim.fibres[k].value;
    }
    bool any = false;
    for (int k = first; k < end; k++)
        if (shim.fibres[k].state == AT_EXCHANGE) {
            shim.fibres[k].value = values[((k - first) ^ shim.fibres[k].lane) % WARP];
            shim.fibres[k].state = READY;
            any = true;
        }
    return any;
}

/* A half of the 16 by 16 matrix, and of the 16 by 8 one, from the registers of the thread that has it: words
 * hold two depths, those of a lane's words 2 and 3 (1) are 8 further on, rows of words 1 and 3 are. */
static float left_of(int first, int row, int depth)
{
    const struct fibre *fibre = &shim.fibres[first + row % 8 * 4 + depth % 8 / 2];
    return fibre->product.widen((uint16_t)(fibre->product.a[depth / 8 * 2 + row / 8] >> 16 * (depth % 2)));
}

static float right_of(int first, int depth, int column)
{
    const struct fibre *fibre = &shim.fibres[first + column * 4 + depth % 8 / 2];
    return fibre->product.widen((uint16_t)(fibre->product.b[depth / 8] >> 16 * (depth % 2)));
}

static void multiply(int first)
{
    float left[16][16], right[16][8];
    for (int depth = 0; depth < 16; depth++) {
        for (int row = 0; row < 16; row++)
            left[row][depth] = left_of(first, row, depth);
        for (int column = 0; column < 8; column++)
            right[depth][column] = right_of(first, depth, column);
    }
    for (int lane = 0; lane < WARP; lane++)
        for (int k = 0; k < 4; k++)
            for (int depth = 0; depth < 16; depth++)
                shim.fibres[first + lane].product.sums[k / 2][k % 2] +=
                    left[lane / 4 + k / 2 * 8][depth] * right[depth][lane % 4 * 2 + k % 2];
}

/* The bits that do not count are left out. */
static float tf32_of(uint32_t bits)
{
    union {
        uint32_t bits;
        float f;
    } both = {.bits = bits & ~0x1fffu};
    return both.f;
}

/* A word holds one number; a lane's words 2 and 3 (1) are four depths further on, rows of words 1 and 3 eight
 * rows. */
static void multiply_rounded(int first)
{
    for (int lane = 0; lane < WARP; lane++)
        for (int k = 0; k < 4; k++)
            for (int depth = 0; depth < 8; depth++) {
                int row = lane / 4, column = lane % 4 * 2 + k % 2;
                const struct fibre *left = &shim.fibres[first + row * 4 + depth % 4];
                const struct fibre *right = &shim.fibres[first + column * 4 + depth % 4];
                shim.fibres[first + lane].product.sums[k / 2][k % 2] +=
                    tf32_of(left->product.a[depth / 4 * 2 + k / 2]) * tf32_of(right->product.b[depth / 4]);
            }
}

/* Half `column` of row `row` of a matrix: that of lanes 8 * matrix and on. */
static uint32_t half_of(int first, int matrix, int row, int column)
{
    return shim.fibres[first + matrix * 8 + row].product.a[column / 2] >> 16 * (column % 2) & 0xffff;
}

static void hand_out(int first)
{
    for (int lane = 0; lane < WARP; lane++)
        for (int k = 0; k < 4; k++)
            shim.fibres[first + lane].product.to[k] = half_of(first, k, lane / 4, lane % 4 * 2) |
                                                      half_of(first, k, lane / 4, lane % 4 * 2 + 1) << 16;
}

static void hand_out_turned(int first)
{
    for (int lane = 0; lane < WARP; lane++)
        for (int k = 0; k < 4; k++)
            shim.fibres[first + lane].product.to[k] = half_of(first, k, lane % 4 * 2, lane / 4) |
                                                      half_of(first, k, lane % 4 * 2 + 1, lane / 4) << 16;
}

/* A warp all of whose threads wait for the same work does it. */
static bool work_warp(int first)
{
    for (int k = first; k < first + WARP; k++)
        if (shim.fibres[k].state != AT_MATRICES ||
            shim.fibres[k].product.work != shim.fibres[first].product.work)
            return false;
    shim.fibres[first].product.work(first);
    for (int k = first; k < first + WARP; k++)
        shim.fibres[k].state = READY;
    return true;
}

/* What all threads wait for, or the reason why that will never be. */
static bool release(int block, char *reason, size_t size)
{
    bool any = false;
    for (int k = 0; k < block; k += WARP)
        any |= exchange_warp(k, k + WARP < block ? k + WARP : block) || (k + WARP <= block && work_warp(k));
    if (any)
        return true;
    int waiting = -1, gone = -1;
    for (int k = 0; k < block; k++) {
        if (shim.fibres[k].state == DONE)
            gone = k;
        else if (waiting >= 0 && (shim.fibres[k].state != shim.fibres[waiting].state ||
                                  shim.fibres[k].line != shim.fibres[waiting].line)) {
            snprintf(reason, size, "threads %d and %d wait for different things, at lines %d and %d", waiting,
                     k, shim.fibres[waiting].line, shim.fibres[k].line);
            return false;
        } else {
            waiting = k;
        }
    }
    if (gone >= 0 && !shim.stopped) {
        snprintf(reason, size, "thread %d waits at line %d for thread %d, which is through", waiting,
                 shim.fibres[waiting].line, gone);
        return false;
    }
    for (int k = 0; k < block; k++)
        if (shim.fibres[k].state == AT_BARRIER)
            shim.fibres[k].state = READY;
    return true;
}

static bool run_block(int block, char *reason, size_t size)
{
    for (int k = 0; k < block; k++)
        begin_fibre(k);
    for (;;) {
        bool left = false;
        for (unsigned k = 0; k < (unsigned)block; k++) {
            int number = turn((unsigned)block, k);
            if (shim.fibres[number].state == READY)
                resume(number);
            if (shim.faulted) {
                snprintf(reason, size, "thread %d of block %u touched what is no memory of the launch",
                         number, shim.indices[1].x);
                return false;
            }
            left |= shim.fibres[number].state != DONE;
        }
        if (!left)
            return true;
        if (!release(block, reason, size))
            return false;
    }
}

static bool run_blocks(unsigned grid, unsigned block, char *reason, size_t size)
{
    struct sigaction action, segv, bus;
    bool good = true;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &segv);
    sigaction(SIGBUS, &action, &bus);
    for (unsigned k = 0; k < grid && good; k++) {
        shim.indices[1].x = k;
        good = run_block((int)block, reason, size);
    }
    sigaction(SIGSEGV, &segv, NULL);
    sigaction(SIGBUS, &bus, NULL);
    return good;
}

bool shim_run(jit_entry entry, struct shim_call *call, unsigned grid, unsigned block, char *reason,
              size_t size)
{
    bool good = false;
    if (block == 0 || block > THREADS || call->number < 0) {
        snprintf(reason, size, "there is no such launch");
        return false;
    }
    pthread_mutex_lock(&shim.lock);
    if (!shim.stacks) {
        void *stacks = mmap(NULL, (size_t)THREADS * STACK, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        shim.stacks = stacks == MAP_FAILED ? NULL : stacks;
    }
    if (shim.stacks) {
        shim.entry = entry;
        shim.call = call;
        call->indices = shim.indices;
        shim.indices[2] = (struct shim_index){block, 1, 1};
        shim.indices[3] = (struct shim_index){grid, 1, 1};
        shim.stopped = shim.faulted = false;
        good = run_blocks(grid, block, reason, size);
    } else {
        snprintf(reason, size, "out of memory");
    }
    pthread_mutex_unlock(&shim.lock);
    return good;
}
