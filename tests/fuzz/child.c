/*
 * child.c: see child.h. The clock counts processor time, so a busy machine makes no hang; a deadlock is seen
 * by a slower one that counts real time.
 */
#define _GNU_SOURCE
#include "child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHILD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHILD_SANITIZED 1
#endif
#endif
#ifndef CHILD_SANITIZED
#define CHILD_SANITIZED 0
#endif

enum {
    CHILD_TICK_MS = 250,
    CHILD_COMPILE_TICKS = 20 * (1 + 4 * CHILD_SANITIZED), /* 5 s */
    CHILD_RUN_TICKS = 8 * (1 + 4 * CHILD_SANITIZED),
    CHILD_REAL_SECONDS = 120,
    CHILD_FAULT = 50,
    CHILD_SLOW = 51,
    CHILD_HANG = 52
};

static struct child_shared *child_seen; /* of a signal handler */

/* Memory that cannot be had is an answer, not the end. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}

/* The leak sanitizer looks by itself only where a process ends by exit; this asks it, where it is there. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static bool child_leaks(void)
{
    return __lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check() != 0;
}

bool child_is_sanitized(void)
{
    return CHILD_SANITIZED;
}

struct child_shared *child_share(void)
{
    void *memory =
        mmap(NULL, sizeof(struct child_shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void child_tick(int signal)
{
    if (signal == SIGALRM)
        _exit(CHILD_HANG);
    child_seen->ticks++;
    if (child_seen->running && child_seen->ticks >= CHILD_RUN_TICKS)
        _exit(CHILD_SLOW);
    if (child_seen->ticks >= CHILD_COMPILE_TICKS)
        _exit(CHILD_HANG);
}

static void child_limit(struct child_shared *shared)
{
    struct itimerval every = {{0, CHILD_TICK_MS * 1000}, {0, CHILD_TICK_MS * 1000}};
    struct rlimit memory = {(rlim_t)2 << 30, (rlim_t)2 << 30}, core = {0, 0};

    child_seen = shared;
    shared->ticks = 0;
    shared->running = 0;
    signal(SIGPROF, child_tick);
    signal(SIGALRM, child_tick);
    setitimer(ITIMER_PROF, &every, NULL);
    setrlimit(RLIMIT_CORE, &core);
    if (!CHILD_SANITIZED)
        setrlimit(RLIMIT_AS, &memory);
}

static enum oracle_fault child_judge(struct child_shared *shared, struct oracle_request *request)
{
    struct text detail;
    enum oracle_fault fault;

    text_init(&detail);
    shared->ticks = 0;
    shared->running = 0;
    alarm(CHILD_REAL_SECONDS);
    request->running = &shared->running;
    fault = oracle_check(request, &detail);
    if (!fault && child_leaks()) {
        fault = ORACLE_LEAK;
        text_format(&detail, "%s\n", oracle_fault_name(fault));
    }
    if (fault)
        snprintf(shared->detail, sizeof shared->detail, "%s", detail.data ? detail.data : "");
    text_free(&detail);
    return fault;
}

static void child_work(struct child_shared *shared, long first, long end, child_source source, void *context)
{
    child_limit(shared);
    for (long number = first; number < end; number++) {
        struct oracle_request request = {.counts = &shared->counts};
        struct text text;
        text_init(&text);
        shared->current = number;
        if (!source(context, number, &text, &request))
            break;
        request.text = text.data ? text.data : "";
        request.length = text.length;
        shared->fault = child_judge(shared, &request);
        text_free(&text);
        if (shared->fault)
            _exit(CHILD_FAULT);
    }
    _exit(0);
}

/* Waits; false: the child ended well. What else it came to is in shared->fault; RIGHT for a run that took too
 * long. */
static bool child_wait(struct child_shared *shared, pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_FAULT)
        return true;
    shared->fault = ORACLE_CRASH;
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SLOW)
        shared->fault = ORACLE_RIGHT;
    else if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_HANG)
        shared->fault = ORACLE_HANG;
    snprintf(shared->detail, sizeof shared->detail, "%s: %s %d\n", oracle_fault_name(shared->fault),
             WIFSIGNALED(status) ? "signal" : "exit",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return true;
}

bool child_check(struct child_shared *shared, long first, long end, child_source source, void *context)
{
    while (first < end) {
        pid_t child;
        fflush(NULL);
        child = fork();
        if (child == 0)
            child_work(shared, first, end, source, context);
        if (child < 0 || !child_wait(shared, child))
            return false;
        if (shared->fault)
            return true;
        shared->counts.slow++;
        first = shared->current + 1;
    }
    return false;
}

enum oracle_fault child_check_one(struct child_shared *shared, const struct oracle_request *request)
{
    pid_t child;

    fflush(NULL);
    shared->fault = ORACLE_RIGHT;
    child = fork();
    if (child == 0) {
        struct oracle_request copy = *request;
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        dup2(null, 2);
        child_limit(shared);
        shared->fault = child_judge(shared, &copy);
        _exit(shared->fault ? CHILD_FAULT : 0);
    }
    if (child < 0 || !child_wait(shared, child))
        return ORACLE_RIGHT;
    return shared->fault;
}
