/*
 * nvrtc.c: CUDA C++ to machine code by libnvrtc, opened at run time.
 *
 * Consumes AKG_NVRTC_LIBRARY, the path of another library to open. Without it, the names under which
 * toolkits install theirs are tried: in the toolkit's own folder (CUDA_HOME, CUDA_PATH), in LD_LIBRARY_PATH,
 * in /usr/local/cuda and the system's folders, and then wherever the loader looks. Files are tried before
 * names, since the library is large: to open it takes 5 ms, and 50 when it has to come from the disk. So the
 * file is found first, and with code from the cache on disk it is never opened.
 */
#include "nvrtc.h"

#include "../base/memory.h"

#include <dlfcn.h>
#include <nvrtc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NVRTC_SYMBOLS(X)                                                                                     \
    X(nvrtcVersion)                                                                                          \
    X(nvrtcGetErrorString)                                                                                   \
    X(nvrtcGetNumSupportedArchs)                                                                             \
    X(nvrtcGetSupportedArchs)                                                                                \
    X(nvrtcCreateProgram)                                                                                    \
    X(nvrtcDestroyProgram)                                                                                   \
    X(nvrtcCompileProgram)                                                                                   \
    X(nvrtcGetProgramLogSize)                                                                                \
    X(nvrtcGetProgramLog)                                                                                    \
    X(nvrtcGetCUBINSize)                                                                                     \
    X(nvrtcGetCUBIN)                                                                                         \
    X(nvrtcGetPTXSize)                                                                                       \
    X(nvrtcGetPTX)

enum { ARCHITECTURES_MOST = 64, LOG_LINES_MOST = 20, IDENTITY_MOST = 1200 };

/* The library, opened once in the life of the process. */
static struct {
    pthread_once_t once;
#define X(name) __typeof__(&name) name;
    NVRTC_SYMBOLS(X)
#undef X
    atomic_bool tried; /* what stands here stays */
    bool good;
    int version;
    char identity[IDENTITY_MOST];
    int architectures[ARCHITECTURES_MOST], architecture_count; /* 75, 80, ... rising */
    char why[256];
} opened = {.once = PTHREAD_ONCE_INIT};

/* ---- opening ---------------------------------------------------------------------------------------------
 */

enum { PATH_MOST = 1024 };

static const char *const library_names[] = {"libnvrtc.so",    "libnvrtc.so.14",   "libnvrtc.so.13",
                                            "libnvrtc.so.12", "libnvrtc.so.11.2", NULL};
/* The toolkit's own, which is likelier to know new devices, and the system's. */
static const char *const usual_folders[] = {"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu",
                                            "/usr/lib64", "/usr/lib", NULL};

/* Whether that is the library; one of those below. */
typedef bool path_visitor(const char *path, void *context);

static bool visit_folder(const char *folder, size_t length, const char *below, path_visitor *visit,
                         void *context)
{
    char path[PATH_MOST];

    for (int k = 0; length && library_names[k]; k++)
        if ((size_t)snprintf(path, sizeof path, "%.*s%s/%s", (int)length, folder, below, library_names[k]) <
                sizeof path &&
            visit(path, context))
            return true;
    return false;
}

/* Files in the order in which they are tried, until one is taken. */
static bool visit_files(path_visitor *visit, void *context)
{
    static const char *const roots[] = {"CUDA_HOME", "CUDA_PATH"}, *const below[] = {"/lib64", "/lib"};
    const char *wanted = getenv("AKG_NVRTC_LIBRARY"), *folders = getenv("LD_LIBRARY_PATH");

    if (wanted)
        return strchr(wanted, '/') && visit(wanted, context);
    for (int k = 0; k < 4; k++) {
        const char *root = getenv(roots[k / 2]);
        if (root && visit_folder(root, strlen(root), below[k % 2], visit, context))
            return true;
    }
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        if (visit_folder(folders, length, "", visit, context))
            return true;
        folders += length + (folders[length] == ':');
    }
    for (int k = 0; usual_folders[k]; k++)
        if (visit_folder(usual_folders[k], strlen(usual_folders[k]), "", visit, context))
            return true;
    return false;
}

/* What a file is told by: whatever changes what is in it changes the time of its last change as well. */
static bool identify(const char *path, void *context)
{
    struct stat file;

    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode))
        return false;
    snprintf(context, IDENTITY_MOST, "%s, %lld bytes, file %llu, changed at %lld.%09ld", path,
             (long long)file.st_size, (unsigned long long)file.st_ino, (long long)file.st_ctim.tv_sec,
             file.st_ctim.tv_nsec);
    for (char *at = context; *at; at++) /* for the key is made of lines */
        *at = (unsigned char)*at < ' ' ? '?' : *at;
    return true;
}

static bool open_file(const char *path, void *context)
{
    void **library = context;

    opened.identity[0] = '\0';
    identify(path, opened.identity); /* before it is opened: what is newer has another one */
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return *library != NULL;
}

/* Last, by name alone: what the loader knows besides, or the process has opened before. */
static void *open_library(void)
{
    const char *wanted = getenv("AKG_NVRTC_LIBRARY");
    void *library = NULL;

    if (visit_files(open_file, &library))
        return library;
    opened.identity[0] = '\0';
    if (wanted)
        return dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
    for (int k = 0; !library && library_names[k]; k++)
        library = dlopen(library_names[k], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static bool find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, sizeof found);
    if (!found)
        snprintf(opened.why, sizeof opened.why, "libnvrtc has no function %s", name);
    return found != NULL;
}

static bool start(void)
{
    int major = 0, minor = 0;

    if (opened.nvrtcVersion(&major, &minor) != NVRTC_SUCCESS ||
        opened.nvrtcGetNumSupportedArchs(&opened.architecture_count) != NVRTC_SUCCESS ||
        opened.architecture_count < 1 || opened.architecture_count > ARCHITECTURES_MOST ||
        opened.nvrtcGetSupportedArchs(opened.architectures) != NVRTC_SUCCESS) {
        snprintf(opened.why, sizeof opened.why, "libnvrtc does not tell its version");
        return false;
    }
    opened.version = major * 1000 + minor * 10;
    if (!opened.identity[0])
        snprintf(opened.identity, sizeof opened.identity, "%d.%d", major, minor);
    return true;
}

static bool open_all(void)
{
    void *library = open_library();
    bool good = true;

    if (!library) {
        const char *why = dlerror();
        snprintf(opened.why, sizeof opened.why, "its compiler libnvrtc is not there: %s",
                 why ? why : "it cannot be opened");
        return false;
    }
#define X(name) good = good && find(library, #name, &opened.name);
    NVRTC_SYMBOLS(X)
#undef X
    return good && start();
}

static void open_compiler(void)
{
    opened.good = open_all();
    if (!opened.good)
        snprintf(opened.identity, sizeof opened.identity, "none");
    atomic_store_explicit(&opened.tried, true, memory_order_release);
}

int nvrtc_version(void)
{
    pthread_once(&opened.once, open_compiler);
    return opened.good ? opened.version : 0;
}

void nvrtc_identity(struct text *text)
{
    char guess[IDENTITY_MOST];

    if (!atomic_load_explicit(&opened.tried, memory_order_acquire)) {
        if (visit_files(identify, guess)) {
            text_string(text, guess);
            return;
        }
        nvrtc_version();
    }
    text_string(text, opened.identity);
}

/* ---- what to compile for
 * ------------------------------------------------------------------------------------ */

/* The best architecture the compiler has for a device, in *chosen; false for one that it has forgotten.
 * Machine code serves later minor versions too, not a later major one: that gets PTX, from which the driver
 * goes on. */
static bool choose(const struct nvrtc_request *request, int *chosen, bool *is_ptx)
{
    int wanted = request->major * 10 + request->minor;

    *chosen = 0;
    for (int k = 0; k < opened.architecture_count; k++)
        if (!wanted || opened.architectures[k] <= wanted)
            *chosen = opened.architectures[k];
    *is_ptx = request->ptx || (wanted && *chosen / 10 != request->major);
    return *chosen != 0;
}

/* ---- compiling
 * ------------------------------------------------------------------------------------------------ */

/* The log, line by line, as notes. */
static void tell_log(nvrtcProgram program, struct diagnostic_entry *entry)
{
    size_t size = 0;
    char *log, *line, *rest;

    if (opened.nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS || size < 2)
        return;
    log = memory_zeroed(1, size + 1);
    if (log && opened.nvrtcGetProgramLog(program, log) == NVRTC_SUCCESS) {
        line = strtok_r(log, "\n", &rest);
        for (int k = 0; line && k < LOG_LINES_MOST; k++, line = strtok_r(NULL, "\n", &rest))
            diagnostic_note(entry, "note: %s", line);
    }
    memory_free(log);
}

static akg_status refuse(const struct nvrtc_request *request, nvrtcProgram program, nvrtcResult result,
                         akg_diagnostics *diagnostics)
{
    struct diagnostic_entry *entry = diagnostic_add(diagnostics, MSG_INTERNAL, (struct span){0},
                                                    "CUDA's compiler refuses what was made of the kernel");

    diagnostic_note(entry, "note: of '%s': %s", request->name, opened.nvrtcGetErrorString(result));
    tell_log(program, entry);
    diagnostic_note(entry, "help: please report this with the source text");
    return AKG_ERROR_INTERNAL;
}

static akg_status take(nvrtcProgram program, struct nvrtc_code *code)
{
    size_t size = 0;
    nvrtcResult result =
        code->is_ptx ? opened.nvrtcGetPTXSize(program, &size) : opened.nvrtcGetCUBINSize(program, &size);
    char *image = result == NVRTC_SUCCESS ? memory_zeroed(1, size + 1) : NULL;

    if (!image)
        return result == NVRTC_SUCCESS ? AKG_ERROR_MEMORY : AKG_ERROR_INTERNAL;
    result = code->is_ptx ? opened.nvrtcGetPTX(program, image) : opened.nvrtcGetCUBIN(program, image);
    if (result == NVRTC_SUCCESS)
        text_append(&code->image, image, size - code->is_ptx); /* whose 0 at the end counts there */
    memory_free(image);
    if (result != NVRTC_SUCCESS)
        return AKG_ERROR_INTERNAL;
    return code->image.failed ? AKG_ERROR_MEMORY : AKG_OK;
}

static akg_status compile(const struct nvrtc_request *request, int architecture, nvrtcProgram program,
                          struct nvrtc_code *code, akg_diagnostics *diagnostics)
{
    char target[48];
    const char *options[] = {target, "--std=c++17", "-default-device",
                             request->strict ? "--fmad=false" : "--fmad=true", "--Ofast-compile=max"};
    int count = sizeof options / sizeof *options;
    nvrtcResult result;
    akg_status status;
    bool specific;

    /* with what later architectures do not have */
    specific = !code->is_ptx && architecture == 90 && opened.version >= 12000;
    snprintf(target, sizeof target, "--gpu-architecture=%s_%d%s", code->is_ptx ? "compute" : "sm",
             architecture, specific ? "a" : "");
    if (!request->quick || opened.version < 12090) /* which refuse the last one */
        count--;
    result = opened.nvrtcCompileProgram(program, count, options);
    if (result != NVRTC_SUCCESS)
        return refuse(request, program, result, diagnostics);
    status = take(program, code);
    if (status == AKG_ERROR_INTERNAL)
        diagnostic_add(diagnostics, MSG_INTERNAL, (struct span){0}, "CUDA's compiler gave no code");
    return status;
}

static akg_status absent(const char *why, akg_diagnostics *diagnostics)
{
    char text[320];
    struct diagnostic_entry *entry;

    snprintf(text, sizeof text, "cannot be used: %s", why);
    entry = diagnostic_add(diagnostics, MSG_CUDA_ABSENT, (struct span){0}, "CUDA", text);
    diagnostic_note(entry, "help: install CUDA's toolkit; AKG_NVRTC_LIBRARY names another file");
    return AKG_ERROR_USAGE;
}

akg_status nvrtc_compile(const struct nvrtc_request *request, struct nvrtc_code *code,
                         akg_diagnostics *diagnostics)
{
    nvrtcProgram program;
    int architecture;
    akg_status status;

    *code = (struct nvrtc_code){.is_ptx = false};
    if (nvrtc_version() == 0)
        return absent(opened.why, diagnostics);
    if (!choose(request, &architecture, &code->is_ptx))
        return absent("the compiler knows the device no more; an older toolkit does", diagnostics);
    text_init(&code->image);
    if (opened.nvrtcCreateProgram(&program, request->text, request->name, 0, NULL, NULL) != NVRTC_SUCCESS)
        return AKG_ERROR_MEMORY;
    status = compile(request, architecture, program, code, diagnostics);
    opened.nvrtcDestroyProgram(&program);
    if (status != AKG_OK)
        nvrtc_free(code);
    return status;
}

void nvrtc_free(struct nvrtc_code *code)
{
    text_free(&code->image);
}
