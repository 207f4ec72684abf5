/*
 * machine.c: the machine's identity, what was measured of it, and the file that keeps it.
 *
 * The file "machine" in the cache directory has one line for each number of threads, in JSON. A line of
 * another processor, or one that cannot be right, is as good as none.
 */
#define _GNU_SOURCE
#include "machine.h"

#include "json.h"
#include "program_file.h"
#include "report.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- identity -------------------------------------------------------------------- */

static void read_cpu(char *name, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        const char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (!value)
            continue;
        snprintf(name, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
        break;
    }
    if (file)
        fclose(file);
}

bool machine_restrict(int threads, struct problem *problem)
{
    cpu_set_t set, chosen;
    int left = threads;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return true; /* more processors than the set holds: the system may do as it likes */
    if (threads > CPU_COUNT(&set))
        return problem_set(problem, AKG_ERROR_USAGE, "--threads %d: there are %d processors", threads,
                           CPU_COUNT(&set));
    CPU_ZERO(&chosen);
    /* the last ones: the first is where a system handles its interrupts */
    for (int k = CPU_SETSIZE - 1; k >= 0 && left > 0; k--)
        if (CPU_ISSET(k, &set)) {
            CPU_SET(k, &chosen);
            left--;
        }
    sched_setaffinity(0, sizeof chosen, &chosen);
    return true;
}

/* ---- the file ---------------------------------------------------------------------- */

char *machine_file(void)
{
    const char *own = getenv("AKG_CACHE_DIR"), *common = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *off = getenv("AKG_CACHE");
    char *folder = NULL, *path = NULL;
    if (off && strcmp(off, "off") == 0)
        return NULL;
    if (own && own[0] == '/')
        folder = string_format("%s", own);
    else if (common && common[0] == '/')
        folder = string_format("%s/akg", common);
    else if (home && home[0] == '/')
        folder = string_format("%s/.cache/akg", home);
    for (char *at = folder ? strchr(folder + 1, '/') : NULL; at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(folder, 0700);
        *at = '/';
    }
    if (folder) {
        mkdir(folder, 0700);
        path = string_format("%s/machine", folder);
    }
    free(folder);
    return path;
}

/* What was measured in another way is measured anew. */
enum { PROBE = 2 };

static bool is_same(const struct machine *machine, const struct json *row)
{
    const char *cpu = json_string(row, "cpu"), *vectors = json_string(row, "vectors");
    return cpu && strcmp(cpu, machine->cpu) == 0 && vectors && strcmp(vectors, machine->vectors) == 0 &&
           json_number(row, "probe", 1) == PROBE &&
           json_number(row, "processors", 0) == machine->processors &&
           json_number(row, "threads", 0) == machine->threads;
}

static bool take(const struct json *row, const char *key, double *number)
{
    *number = json_number(row, key, 0);
    return *number > 1e3 && *number < 1e18;
}

/* Finds the line of this machine in the text. */
static bool find(struct machine *machine, char *text)
{
    bool found = false;
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line && !found; line = strtok_r(NULL, "\n", &rest)) {
        struct problem ignored = {0};
        struct json *row = json_read(line, &ignored);
        found = row && is_same(machine, row) && take(row, "read_bandwidth", &machine->read) &&
                take(row, "triad_bandwidth", &machine->triad) &&
                take(row, "fma_peak_float32", &machine->peak32) &&
                take(row, "fma_peak_float64", &machine->peak64);
        json_free(row);
    }
    return found;
}

static bool load(struct machine *machine, const char *path)
{
    struct problem ignored = {0};
    char *text = NULL;
    size_t length;
    bool found =
        access(path, R_OK) == 0 && program_file_read(path, &text, &length, &ignored) && find(machine, text);
    free(text);
    problem_free(&ignored);
    return found;
}

/* One write at the end of the file: two programs may do it at once. */
static void keep(const struct machine *machine, const char *path)
{
    FILE *file = fopen(path, "a");
    if (!file)
        return;
    machine_print_json(machine, file);
    fprintf(file, "}\n");
    fclose(file);
}

/* ---- what it can do ------------------------------------------------------------------ */

static bool measure(struct machine *machine, struct problem *problem)
{
    bool on_terminal = isatty(STDERR_FILENO);
    if (on_terminal)
        fprintf(stderr, "measuring this machine ...");
    machine->read = machine_probe_read(machine->threads);
    machine->triad = machine_probe_triad(machine->threads);
    machine->peak32 = machine_probe_peak(machine->threads, false);
    machine->peak64 = machine_probe_peak(machine->threads, true);
    if (on_terminal)
        fprintf(stderr, "\r%27s\r", "");
    return (machine->read > 0 && machine->triad > 0 && machine->peak32 > 0 && machine->peak64 > 0) ||
           problem_memory(problem);
}

bool machine_know(const char *path, int threads, struct machine *machine, struct problem *problem)
{
    memset(machine, 0, sizeof *machine);
    read_cpu(machine->cpu, sizeof machine->cpu);
    snprintf(machine->vectors, sizeof machine->vectors, "%s", machine_probe_vectors());
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    machine->processors = processors > 0 ? (int)processors : 1;
    machine->threads = threads;
    bool known = path && load(machine, path);
    bool good = known || measure(machine, problem);
    if (good && !known && path)
        keep(machine, path);
    return good;
}

double machine_memory_seconds(const struct machine *machine, double bytes_read, double bytes_written)
{
    /* a triad reads two bytes for each that it writes */
    double write_seconds = 3 / machine->triad - 2 / machine->read;
    if (write_seconds < 1 / machine->triad)
        write_seconds = 1 / machine->triad;
    return bytes_read / machine->read + bytes_written * write_seconds;
}

void machine_print_json(const struct machine *machine, FILE *stream)
{
    fprintf(stream, "{\"cpu\": ");
    report_json_string(stream, machine->cpu);
    fprintf(stream,
            ", \"vectors\": \"%s\", \"processors\": %d, \"threads\": %d, \"probe\": %d, "
            "\"read_bandwidth\": %.6g, \"triad_bandwidth\": %.6g, \"fma_peak_float32\": %.6g, "
            "\"fma_peak_float64\": %.6g",
            machine->vectors, machine->processors, machine->threads, PROBE, machine->read, machine->triad,
            machine->peak32, machine->peak64);
}
