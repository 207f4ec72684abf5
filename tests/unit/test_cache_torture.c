/*
 * test_cache_torture.c: 32 processes that compile the same kernels and different ones through one small cache
 * on disk, while some are killed at random moments, and entries are damaged, cut and removed under them.
 * Whoever lives gets right results, and nobody hangs.
 *
 * Arguments: how many times some are killed (6), and the seed of the moments.
 */
#include "api_support.h"
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 32, KILLED = 10, KERNELS = 12, LENGTH = 37 };

static char directory[] = "/tmp/akg-torture-XXXXXX";
static uint64_t state = 1;

static unsigned next_random(unsigned limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % limit;
}

/* Shared: processes end when it is set. */
static atomic_bool *over;

/* ---- a process ---------------------------------------------------------------------------------- */

/* Compiles kernel number `kernel`, calls it once, and compares. */
static bool use_kernel(int kernel)
{
    char text[400];
    int length = snprintf(text, sizeof text,
                          "def f(x):\n"
                          "    y = output_tensor(x.shape, x.dtype)\n"
                          "    last = 0.0\n"
                          "    for i in range(x.shape[0]):\n"
                          "        if x[i] > %d.0:\n"
                          "            last = abs(x[i])\n"
                          "        y[i] = x[i] * %d.0 + last\n"
                          "    return y\n",
                          kernel, kernel);
    jit_source source = {.name = "f.akg", .text = text, .length = (size_t)length};
    jit_options options = {.cache = directory};
    akg_tensor *x = api_vector(AKG_FLOAT64, LENGTH, 0, 1), *y = NULL;
    akg_argument argument = api_tensor(NULL, x);
    akg_module *module = NULL;
    bool good = jit_compile(&source, &options, &module, NULL) == AKG_OK &&
                akg_kernel_call(akg_module_kernel(module, "f"), &argument, 1, NULL, &y, NULL) == AKG_OK;
    for (int64_t i = 0; good && i < LENGTH; i++)
        good = api_element(y, i) == (double)(i * kernel + (i > kernel ? i : 0));
    akg_tensor_release(x);
    akg_tensor_release(y);
    akg_module_release(module);
    return good;
}

static _Noreturn void process(int number)
{
    int kernel = number;
    while (!atomic_load(over)) {
        if (!use_kernel(number % 2 ? number % KERNELS : kernel++ % KERNELS))
            _exit(1);
    }
    _exit(0);
}

static pid_t start(int number)
{
    pid_t child = fork();
    if (child == 0) {
        if (nice(10) < 0) /* whoever kills comes first */
            _exit(1);
        process(number);
    }
    return child;
}

/* ---- what is done to them -------------------------------------------------------------------------- */

/* A random file of the directory is removed, cut, or has a byte changed. */
static void damage(void)
{
    char path[300];
    DIR *stream = opendir(directory);
    const struct dirent *row;
    unsigned skip = next_random(20);
    while (stream && (row = readdir(stream)) != NULL) {
        if (row->d_name[0] == '.' || skip-- > 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, row->d_name);
        int descriptor = open(path, O_WRONLY);
        unsigned what = next_random(3);
        if (what == 0)
            unlink(path);
        else if (what == 1 && descriptor >= 0 && ftruncate(descriptor, next_random(2000)) != 0)
            perror(path);
        else if (descriptor >= 0 && pwrite(descriptor, "x", 1, next_random(1500)) != 1)
            perror(path);
        if (descriptor >= 0)
            close(descriptor);
        break;
    }
    if (stream)
        closedir(stream);
}

static void torture(int rounds)
{
    pid_t processes[PROCESSES];
    int wrong = 0, status;
    for (int k = 0; k < PROCESSES; k++)
        processes[k] = start(k);
    for (int round = 0; round < rounds; round++) {
        int first = (int)next_random(PROCESSES);
        for (int k = first; k < first + KILLED; k++) {
            usleep(next_random(3000));
            kill(processes[k % PROCESSES], SIGKILL);
        }
        for (int k = first; k < first + KILLED; k++) {
            CHECK(waitpid(processes[k % PROCESSES], &status, 0) == processes[k % PROCESSES]);
            wrong += !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
            damage();
            processes[k % PROCESSES] = start(k % PROCESSES);
        }
    }
    atomic_store(over, true);
    alarm(60); /* whoever hangs now fails the test */
    for (int k = 0; k < PROCESSES; k++) {
        CHECK(waitpid(processes[k], &status, 0) == processes[k]);
        wrong += !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    alarm(0);
    CHECK_INT(wrong, 0);
}

/* ---- what is left ------------------------------------------------------------------------------------- */

/* Files of those that were killed while they wrote, which go, and sound entries. */
static void check_rest(void)
{
    akg_cache *cache = NULL;
    uint64_t removed, bytes = 0;
    CHECK_INT(akg_cache_open(directory, &cache, NULL), AKG_OK);
    CHECK_INT(akg_cache_remove(cache, AKG_CACHE_REFUSE, &removed), AKG_OK);
    akg_cache_close(cache);
    CHECK_INT(akg_cache_open(directory, &cache, NULL), AKG_OK);
    for (size_t k = 0; k < akg_cache_entry_count(cache); k++) {
        CHECK(!akg_cache_entry_at(cache, k)->problem);
        bytes += akg_cache_entry_at(cache, k)->bytes;
    }
    CHECK(bytes <= akg_cache_limit(cache));
    for (int kernel = 0; kernel < KERNELS; kernel++)
        CHECK(use_kernel(kernel));
    akg_cache_close(cache);
    CHECK_INT(akg_cache_open(directory, &cache, NULL), AKG_OK);
    CHECK_INT(akg_cache_remove(cache, AKG_CACHE_ALL, &removed), AKG_OK);
    akg_cache_close(cache);
    DIR *stream = opendir(directory);
    const struct dirent *row;
    while (stream && (row = readdir(stream)) != NULL)
        CHECK(row->d_name[0] == '.' || strcmp(row->d_name, "state") == 0);
    if (stream)
        closedir(stream);
}

int main(int argc, char **argv)
{
    char state_file[60];
    if (argc > 2)
        state = (uint64_t)atoll(argv[2]);
    over = mmap(NULL, sizeof *over, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (over == MAP_FAILED || !mkdtemp(directory) || setenv("AKG_CACHE_SIZE", "24K", 1) != 0)
        return 1;
    torture(argc > 1 ? atoi(argv[1]) : 6);
    check_rest();
    snprintf(state_file, sizeof state_file, "%s/state", directory);
    unlink(state_file);
    CHECK(rmdir(directory) == 0);
    return check_done();
}
