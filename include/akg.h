/*
 * akg.h: the public interface of akg, a JIT compiler for tensor kernels.
 *
 * jit_compile turns the text of an .akg file into a module; a module's kernels
 * are looked up by name and called on tensors.
 *
 * Conventions of every function here:
 *   - It never exits, aborts or prints. It returns a status (or a value that
 *     cannot fail) and, where it takes `akg_diagnostics **`, a list that says
 *     what happened. That pointer may be NULL; otherwise it receives NULL when
 *     there is nothing to say, or a list the caller frees.
 *   - Objects are opaque and reference counted where the text says so;
 *     `akg_x_release(NULL)` does nothing.
 *   - Shapes and strides count elements, not bytes. Sizes are int64_t.
 *   - NULL where an object or a place for a result is needed is AKG_ERROR_USAGE; a
 *     function without a status then answers NULL, 0 or false, or does nothing.
 *     So are an enum value that does not exist and an argument that points nowhere.
 *     AKG_ERROR_USAGE comes with a message only where the text says so.
 *   - A function that compiles, and a call that is the first of its kind, take up to 2 MiB of the stack for
 *     expressions and blocks as deep as they may be (AKG0112), mostly less than 128 KiB.
 *   - Distinct objects may be used from distinct threads at once; what may be
 *     shared is said at each type. There is no library-wide state.
 */
#ifndef AKG_H
#define AKG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define AKG_API __attribute__((visibility("default")))
#else
#define AKG_API
#endif

/* ---- status and version ------------------------------------------------ */

/* What a call came to. The values are also the exit statuses of akgrun. */
typedef enum akg_status {
    AKG_OK = 0,
    AKG_ERROR_PROGRAM = 1,  /* the .akg text is wrong */
    AKG_ERROR_USAGE = 2,    /* an argument of the C call (or command line) is wrong */
    AKG_ERROR_CALL = 3,     /* the kernel call is wrong: shape, dtype, precondition, index */
    AKG_ERROR_INTERNAL = 4, /* a bug in akg; the diagnostic says what to report */
    AKG_ERROR_MEMORY = 5,   /* out of memory; nothing was changed */
    AKG_ERROR_IO = 6,       /* a file could not be read or written */
    AKG_ERROR_DEVICE = 7    /* a device failed */
} akg_status;

/* One English phrase for a status; static storage. */
AKG_API const char *akg_status_text(akg_status status);

/* The library's version, "MAJOR.MINOR.PATCH"; static storage. */
AKG_API const char *akg_version(void);

/* ---- dtypes ------------------------------------------------------------ */

typedef enum akg_dtype {
    AKG_BOOL = 0, /* one byte, 0 or 1 */
    AKG_INT8,
    AKG_INT16,
    AKG_INT32,
    AKG_INT64,
    AKG_UINT8,
    AKG_UINT16,
    AKG_UINT32,
    AKG_UINT64,
    AKG_FLOAT16,
    AKG_BFLOAT16,
    AKG_FLOAT32,
    AKG_FLOAT64,
    AKG_DTYPE_COUNT
} akg_dtype;

/* "float32" and so on; NULL for a value that is no dtype. */
AKG_API const char *akg_dtype_name(akg_dtype dtype);
/* The dtype of that name, or AKG_DTYPE_COUNT. */
AKG_API akg_dtype akg_dtype_from_name(const char *name);
/* Bytes of one element; 0 for a value that is no dtype. */
AKG_API size_t akg_dtype_size(akg_dtype dtype);

/* ---- diagnostics -------------------------------------------------------- */

/* A list of messages, owned by the caller. Not to be changed by two threads. */
typedef struct akg_diagnostics akg_diagnostics;

typedef enum akg_severity { AKG_SEVERITY_NOTE = 0, AKG_SEVERITY_WARNING, AKG_SEVERITY_ERROR } akg_severity;

/* One message. Lines and columns count from 1, columns in bytes; 0 where there
 * is no place. `end_column` is one past the last byte. Strings live as long as the list. */
typedef struct akg_diagnostic {
    akg_severity severity;
    const char *code; /* "AKG0123" */
    const char *name; /* "mixed-dtypes" */
    const char *file; /* name given to jit_compile, or "" */
    int line, column, end_line, end_column;
    const char *message;      /* one line, no final newline */
    const char *const *notes; /* `note_count` lines of help or context */
    size_t note_count;
    const char *fix; /* text to put in place of the span, or NULL */
} akg_diagnostic;

AKG_API size_t akg_diagnostics_count(const akg_diagnostics *diagnostics);
AKG_API size_t akg_diagnostics_error_count(const akg_diagnostics *diagnostics);
/* Message number `index`, or NULL past the end. */
AKG_API const akg_diagnostic *akg_diagnostics_at(const akg_diagnostics *diagnostics, size_t index);

typedef enum akg_format {
    AKG_FORMAT_TEXT = 0,
    AKG_FORMAT_COLOR,
    AKG_FORMAT_JSON, /* {"diagnostics": [...]}, columns in bytes */
    AKG_FORMAT_SARIF /* SARIF 2.1.0 with one run, columns in characters */
} akg_format;

/* Renders the list as compilers do, source line and caret included; *text is
 * freed with akg_free. */
AKG_API akg_status akg_diagnostics_render(const akg_diagnostics *diagnostics, akg_format format, char **text);
/* The same for several lists, each of which may be NULL, as one text. */
AKG_API akg_status akg_diagnostics_render_all(const akg_diagnostics *const *lists, size_t count,
                                              akg_format format, char **text);
AKG_API void akg_diagnostics_free(akg_diagnostics *diagnostics);

/* The explanation of a code ("AKG0123") or name, in Markdown with a wrong and a
 * right example; NULL for an unknown one. Static storage. */
AKG_API const char *akg_explain(const char *code_or_name);
/* Code number `index` of all ("AKG0101"), or NULL past the end. */
AKG_API const char *akg_explain_code(size_t index);

/* A row of the table of messages. */
typedef struct akg_message {
    akg_severity severity; /* unless options of the compile change it */
    const char *code;      /* "AKG0201" */
    const char *name;      /* "undefined-name" */
} akg_message;

/* The row of a code or a name; false for an unknown one. What it points to is static. */
AKG_API bool akg_explain_message(const char *code_or_name, akg_message *message);

/* Frees text that a function of this header returned. */
AKG_API void akg_free(void *text);

/* ---- devices ------------------------------------------------------------ */

/* Where tensors lie and kernels run: the processor and its memory, or an NVIDIA GPU. A device is opened when
 * it is first used, and stays open as long as the process. All that is done with the tensors of a GPU happens
 * in the order in which it was asked for, while the program goes on: only what brings elements to the host
 * waits, and tells of what failed in the meantime (AKG_ERROR_DEVICE, with a message; the device is lost then,
 * and whatever uses it from now on fails). When its memory runs out, that is AKG_ERROR_MEMORY, with a message
 * that says how much was asked for and how much is free; all tensors stay as they are. */
typedef enum akg_device_kind { AKG_DEVICE_CPU = 0, AKG_DEVICE_CUDA } akg_device_kind;

typedef struct akg_device {
    akg_device_kind kind;
    int index; /* which of them; of the CPU there is one, 0 */
} akg_device;

/* "cpu", "cuda", which is the first GPU, or "cuda:1"; false for anything else. Whether it is there is not
 * asked. */
AKG_API bool akg_device_parse(const char *text, akg_device *device);

typedef struct akg_device_info {
    char name[128];
    int major, minor; /* compute capability */
    int driver;       /* the version of CUDA that the driver speaks: 13000 is 13.0 */
    uint64_t memory;  /* bytes in all */
} akg_device_info;

/* How many GPUs there are. AKG_ERROR_USAGE, with a message that says why, when CUDA cannot be used: *count is
 * 0. */
AKG_API akg_status akg_device_count(int *count, akg_diagnostics **diagnostics);
/* AKG_ERROR_USAGE, with a message, for a GPU that is not there, or for the CPU. */
AKG_API akg_status akg_device_describe(akg_device device, akg_device_info *info,
                                       akg_diagnostics **diagnostics);
/* Waits until everything that was asked of the device is done. */
AKG_API akg_status akg_device_wait(akg_device device, akg_diagnostics **diagnostics);

/* ---- tensors ------------------------------------------------------------ */

/* A strided view of typed memory. Reference counted (atomically); the
 * description never changes once made, so threads may share it. The elements
 * are not locked, nor is what belongs to its gradient. */
typedef struct akg_tensor akg_tensor;

#define AKG_MAX_RANK 16

/* A new zero-filled C-contiguous tensor, data aligned to 64 bytes. rank 0 is a
 * scalar; a dim may be 0. AKG_ERROR_USAGE: a dim that is negative or over 2^40, rank
 * out of 0..AKG_MAX_RANK, bad dtype, or a size over PTRDIFF_MAX. */
AKG_API akg_status akg_tensor_create(akg_dtype dtype, int rank, const int64_t *shape, akg_tensor **tensor);

/* A tensor over the caller's memory, without a copy. `data` must be aligned to
 * the element size; `strides` counts elements (may be 0 or negative, and `data`
 * then still points at element [0, ..., 0]); NULL means C-contiguous. `release`, if
 * not NULL, is called with `owner` when the last reference goes. */
AKG_API akg_status akg_tensor_from_memory(void *data, akg_dtype dtype, int rank, const int64_t *shape,
                                          const int64_t *strides, void (*release)(void *owner), void *owner,
                                          akg_tensor **tensor);

/* A view into `base` with its own shape and strides, starting `offset` elements
 * after base's first; keeps `base` alive. AKG_ERROR_USAGE if any element would lie outside base's extent. */
AKG_API akg_status akg_tensor_view(akg_tensor *base, int rank, const int64_t *shape, const int64_t *strides,
                                   int64_t offset, akg_tensor **view);

/* The same on a device. Errors with messages: AKG_ERROR_USAGE for a device that is not there. */
AKG_API akg_status akg_tensor_create_on(akg_device device, akg_dtype dtype, int rank, const int64_t *shape,
                                        akg_tensor **tensor, akg_diagnostics **diagnostics);

/* A fresh C-contiguous copy of `source` on a device, be it the same or another one. No gradient flows through
 * it. Errors as of akg_tensor_create_on. */
AKG_API akg_status akg_tensor_to(const akg_tensor *source, akg_device device, akg_tensor **copy,
                                 akg_diagnostics **diagnostics);

/* A fresh C-contiguous copy of `source`, of the same dtype, on the same device. */
AKG_API akg_status akg_tensor_copy(const akg_tensor *source, akg_tensor **copy);

/* A fresh C-contiguous copy converted to `dtype` by the language's cast rules. */
AKG_API akg_status akg_tensor_cast(const akg_tensor *source, akg_dtype dtype, akg_tensor **copy);

AKG_API akg_tensor *akg_tensor_retain(akg_tensor *tensor);
AKG_API void akg_tensor_release(akg_tensor *tensor);

AKG_API akg_dtype akg_tensor_dtype(const akg_tensor *tensor);
AKG_API int akg_tensor_rank(const akg_tensor *tensor);
AKG_API const int64_t *akg_tensor_shape(const akg_tensor *tensor);
AKG_API const int64_t *akg_tensor_strides(const akg_tensor *tensor);
AKG_API int64_t akg_tensor_element_count(const akg_tensor *tensor);
AKG_API bool akg_tensor_is_contiguous(const akg_tensor *tensor);
AKG_API akg_device akg_tensor_device(const akg_tensor *tensor);
/* Address of element [0, ..., 0]; of a tensor on a GPU, its address there. */
AKG_API void *akg_tensor_data(const akg_tensor *tensor);

/* The element at a multi-index, as double (exact for all but 64-bit integers
 * beyond 2^53). Indices are not checked. On a GPU each call copies one element, and waits; 0 where that
 * fails. */
AKG_API double akg_tensor_get(const akg_tensor *tensor, const int64_t *index);
/* Sets one element, converted by the language's cast rules. */
AKG_API void akg_tensor_set(const akg_tensor *tensor, const int64_t *index, double value);

/* Fills every element: uniform on [0, 1), standard normal, or first + i * step. The same seed gives
 * the same numbers on every machine. Integer dtypes: uniform over -10..9 (0..9 unsigned, 0..1 bool).
 * Of a tensor on a GPU through a copy in memory of the host; nothing is filled where there is no room for
 * that. */
AKG_API void akg_tensor_fill_uniform(akg_tensor *tensor, uint64_t seed);
AKG_API void akg_tensor_fill_normal(akg_tensor *tensor, uint64_t seed);
/* Whole numbers from low up to, without it, high, each as likely: indices, labels, bytes. Nothing is filled
 * where there are none; who fills a dtype that does not hold them gets their last bits. */
AKG_API void akg_tensor_fill_integers(akg_tensor *tensor, int64_t low, int64_t high, uint64_t seed);
AKG_API void akg_tensor_fill_range(akg_tensor *tensor, double first, double step);
AKG_API void akg_tensor_fill(akg_tensor *tensor, double value);

/* "[1, 16, 81]": nested brackets as numpy prints them, long axes abbreviated.
 * *text is freed with akg_free. */
AKG_API akg_status akg_tensor_format(const akg_tensor *tensor, char **text);

/* DLPack (dlpack.h, DLManagedTensor). Import takes ownership of `managed` on
 * success and never copies; tensors of the CPU and of CUDA devices with one lane are taken. Export
 * shares the memory: the receiver calls managed->deleter. Work on the default stream of a GPU and ours wait
 * for each other; who uses another stream waits with akg_device_wait. */
struct DLManagedTensor;
AKG_API akg_status akg_tensor_from_dlpack(struct DLManagedTensor *managed, akg_tensor **tensor,
                                          akg_diagnostics **diagnostics);
AKG_API akg_status akg_tensor_to_dlpack(akg_tensor *tensor, struct DLManagedTensor **managed);

/* NumPy's .npy (format 1.0 to 3.0, either byte order, C or Fortran order) and
 * .npz files. bfloat16 is written as numpy writes ml_dtypes' (descr '<V2') and read back from that.
 * Writing is all or nothing: a new file is renamed over the old one. */
AKG_API akg_status akg_npy_read(const char *path, akg_tensor **tensor, akg_diagnostics **diagnostics);
AKG_API akg_status akg_npy_write(const char *path, const akg_tensor *tensor, akg_diagnostics **diagnostics);
/* The array `key` of an .npz file ("key" or "key.npy"); AKG_ERROR_USAGE, with a message, when there is none.
 */
AKG_API akg_status akg_npz_read(const char *path, const char *key, akg_tensor **tensor,
                                akg_diagnostics **diagnostics);
/* Writes `count` named arrays into one .npz file (stored, not deflated). */
AKG_API akg_status akg_npz_write(const char *path, const char *const *keys, akg_tensor *const *tensors,
                                 size_t count, akg_diagnostics **diagnostics);

/* ---- compiling ---------------------------------------------------------- */

/* The kernels of one source text. Reference counted (atomically); threads may
 * share a module and call its kernels at once. Machine code is compiled at the
 * first call of each signature and kept as long as the module. */
typedef struct akg_module akg_module;
typedef struct akg_kernel akg_kernel; /* lives as long as its module */

typedef enum jit_backend {
    JIT_BACKEND_DEFAULT = 0,
    JIT_BACKEND_TCC,        /* C through libtcc, in memory */
    JIT_BACKEND_INTERPRETER /* the reference interpreter: slow, every access checked */
} jit_backend;

/* Which code a kernel gets. */
typedef enum jit_tier {
    JIT_TIER_DEFAULT = 0, /* what AKG_TIER says: "auto", "optimised", else instant */
    JIT_TIER_INSTANT,     /* made in a millisecond at the first call; no other program is ever started */
    JIT_TIER_AUTO, /* and what is called much is made anew in the background by a C compiler, if there is one
                    */
    JIT_TIER_OPTIMISED /* and everything is, from its first call on */
} jit_tier;

typedef struct jit_source {
    /* File name, for messages; read from there when text is NULL. "std:softmax" is the file of the standard
     * library that defines softmax. */
    const char *name;
    const char *text; /* not necessarily ended by a NUL; may be NULL */
    size_t length;    /* bytes of text */
} jit_source;

typedef enum jit_warning_use {
    JIT_WARNING_SILENT = 0, /* not reported */
    JIT_WARNING_ERROR       /* an error */
} jit_warning_use;

/* What becomes of the warnings of one name. */
typedef struct jit_warning {
    const char *name; /* "read-before-write" */
    jit_warning_use use;
} jit_warning;

typedef struct jit_options {
    jit_backend backend;
    bool warnings_are_errors; /* all of them that are not silent */
    /* Exceptions by name, `warning_count` of them; of two for one name the later one counts. A name that no
     * warning has is AKG_ERROR_USAGE, with a message; so is the name of an error. */
    const jit_warning *warnings;
    size_t warning_count;
    /* Compiled code gives bitwise what the interpreter gives. Otherwise, in the loops that become vector
     * instructions, sums and products of floats are accumulated in several partial results, a product that is
     * only added to something is not rounded on its own, and functions such as exp may differ in the last
     * places. Which loops these are, and so the last places, depends on the processor, and on which of two
     * codes a call takes (see any_shape); else the result is always the same. */
    bool strict;
    /* The vector instructions to use: "avx512", "avx2" or "none"; NULL: the best of this processor. One that
     * it does not have is AKG_ERROR_USAGE. */
    const char *target;
    /* The directory where generated code is kept for other processes, or "off". NULL or "": $AKG_CACHE_DIR,
     * else akg in $XDG_CACHE_HOME or in ~/.cache; none where AKG_CACHE is "off" (docs/cache.md). */
    const char *cache;
    /* Code of a C compiler (those of AKG_CC, or what the library was configured with) takes the place of the
     * first only when it gave the same results on a copy of the inputs of a call (with `strict` the same
     * bits), in less time; that call takes longer by the copying, and no call waits (docs/tiers.md). */
    jit_tier tier;
    /* On a CUDA device that has tensor cores for it (compute capability 8.0 and later; others ignore it), the
     * factors of sums of products of float32, as in a product of matrices, are rounded to 11 bits (tf32; see
     * docs/cuda.md for what a result may differ by). Not with `strict`, which goes before. */
    bool tf32;
    /* Code for all extents at once. Without it the first code of a kernel (of a signature of it) is for the
     * extents of its first call, which takes less time to make, and to run; code for all of them is made when
     * a call comes with others. What the two give may differ in the last places where a result is not
     * `strict`; that then hangs on which call came first, and with any_shape on nothing but the call, as long
     * as a kernel has come with no more than 32 forms of arguments, of which extents from 1 to 4 are part. */
    bool any_shape;
} jit_options;

/*
 * Compiles source text: parses it, checks every function, and hands out a
 * module. `options` may be NULL. Returns AKG_ERROR_PROGRAM and the list of
 * errors when the text is wrong, AKG_ERROR_IO when the file cannot be read (no
 * larger than 64 MiB); *module is then NULL. Warnings come in
 * *diagnostics with AKG_OK. Nothing of `source` is kept. Machine code is made per call signature, later.
 */
AKG_API akg_status jit_compile(const jit_source *source, const jit_options *options, akg_module **module,
                               akg_diagnostics **diagnostics);

/* Name of operator number `index` of the standard library, or NULL past the end; static storage. */
AKG_API const char *akg_standard_name(size_t index);

AKG_API akg_module *akg_module_retain(akg_module *module);
AKG_API void akg_module_release(akg_module *module);
/* Waits until nothing of the module is compiled in the background. */
AKG_API void akg_module_finish(akg_module *module);
/* What is to be told although nothing failed, since the last time this was asked: warnings of a damaged entry
 * of the cache, which was made anew, of a directory for it that is not used, of a C compiler that does not
 * work. The caller's to free; NULL: nothing. */
AKG_API akg_diagnostics *akg_module_notes(akg_module *module);
AKG_API size_t akg_module_kernel_count(const akg_module *module);
/* Kernel number `index` in the order of the file, or NULL past the end. */
AKG_API akg_kernel *akg_module_kernel_at(const akg_module *module, size_t index);
/* The kernel of that name, or NULL. */
AKG_API akg_kernel *akg_module_kernel(const akg_module *module, const char *name);

AKG_API const char *akg_kernel_name(const akg_kernel *kernel);
/* The docstring, or "". */
AKG_API const char *akg_kernel_documentation(const akg_kernel *kernel);
/* True for a graph function: one whose body computes with whole tensors only. It is called like a kernel;
 * what it calls is inlined. */
AKG_API bool akg_kernel_is_graph(const akg_kernel *kernel);

typedef enum akg_parameter_kind {
    AKG_PARAMETER_TENSOR = 0,
    AKG_PARAMETER_ATTRIBUTE,
    AKG_PARAMETER_VARIADIC /* *xs: any number of tensors */
} akg_parameter_kind;

typedef struct akg_parameter {
    const char *name;
    akg_parameter_kind kind;
    bool optional;   /* has a default, None for tensors */
    akg_dtype dtype; /* the one dtype its annotation allows, else AKG_DTYPE_COUNT */
    int rank;        /* known rank, else -1 */
} akg_parameter;

/* Whether the code that was made last for the kernel has been replaced by that of the C compiler. */
AKG_API bool akg_kernel_is_optimised(const akg_kernel *kernel);
AKG_API size_t akg_kernel_parameter_count(const akg_kernel *kernel);
/* Fills *parameter; false past the end. */
AKG_API bool akg_kernel_parameter(const akg_kernel *kernel, size_t index, akg_parameter *parameter);
/* Whether tensors of that dtype may be handed to the parameter, as far as the kernel's text tells alone. */
AKG_API bool akg_kernel_takes(const akg_kernel *kernel, size_t parameter, akg_dtype dtype);
AKG_API size_t akg_kernel_output_count(const akg_kernel *kernel);
/* Name of output `index`, as the return statement names it; NULL past the end. */
AKG_API const char *akg_kernel_output_name(const akg_kernel *kernel, size_t index);

/* How long a stage of making code took. */
typedef struct akg_compile_stage {
    const char *name;    /* "specialise", "optimise", "generate"; static storage */
    int64_t nanoseconds; /* of the signature that was met last; 0: nothing was done */
} akg_compile_stage;

/* Fills *stage; false past the end, and where nothing of the kernel was compiled yet. */
AKG_API bool akg_kernel_compile_stage(const akg_kernel *kernel, size_t index, akg_compile_stage *stage);

/* The signature of one kernel with symbolic dims, and the preconditions of a call. *text is freed with
 * akg_free. */
AKG_API akg_status akg_kernel_report(akg_kernel *kernel, akg_format format, char **text);

typedef enum akg_detail {
    AKG_DETAIL_SIGNATURE = 0, /* as akg_kernel_report */
    AKG_DETAIL_SUMMARY,       /* and the certificate in a line: what `akgrun check` prints */
    AKG_DETAIL_PROOF          /* and the certificate in full: what `akgrun check --explain-proof` prints */
} akg_detail;

/* What is proved of a kernel (docs/certificate.md): of each access that it stays inside its tensor, of each
 * output that it is written before it is read, of each loop whether its iterations are independent. As JSON
 * the certificate is in full with both of the latter. The kernel is analysed anew. *text is freed with
 * akg_free. */
AKG_API akg_status akg_kernel_report_detail(akg_kernel *kernel, akg_format format, akg_detail detail,
                                            char **text);

/* ---- calling ------------------------------------------------------------ */

typedef enum akg_argument_kind {
    AKG_ARGUMENT_NONE = 0, /* None: an optional tensor left out */
    AKG_ARGUMENT_TENSOR,
    AKG_ARGUMENT_INT,
    AKG_ARGUMENT_FLOAT,
    AKG_ARGUMENT_BOOL,
    AKG_ARGUMENT_STRING,
    AKG_ARGUMENT_INTS,    /* tuple of ints */
    AKG_ARGUMENT_TENSORS, /* for a variadic parameter */
    AKG_ARGUMENT_FLOATS,  /* list of numbers, for an operator written in C */
    AKG_ARGUMENT_DTYPE    /* the same */
} akg_argument_kind;

/* One argument. Borrowed: the call keeps nothing of it. A tuple or list of tensors has at most a million
 * items. A scalar attribute also takes a tensor of rank 0. */
typedef struct akg_argument {
    const char *name; /* NULL: positional; positional ones come first */
    akg_argument_kind kind;
    union {
        akg_tensor *tensor;
        int64_t integer;
        double real;
        bool boolean;
        const char *string;
        struct {
            const int64_t *items;
            size_t count;
        } ints;
        struct {
            akg_tensor *const *items;
            size_t count;
        } tensors;
        struct {
            const double *items;
            size_t count;
        } floats;
        akg_dtype dtype;
    } as;
} akg_argument;

/*
 * How many threads share the loops of a kernel on the CPU, the caller's among them: for all calls from now
 * on, of all threads. 0 or less: one per processor that the process may use, which is also the start. Results
 * are the same to the bit for any number. Short loops stay with the caller, and so do those of a call that is
 * made while another one has the threads. Threads are started when they are first needed. Thread-safe.
 */
AKG_API void akg_set_threads(int count);
/* How many that is. */
AKG_API int akg_threads(void);

typedef struct akg_call_options {
    jit_backend backend; /* JIT_BACKEND_DEFAULT: the module's; for tensors of the CPU */
    bool trust_indices;  /* switch per-element checks off: the caller vouches for data-dependent indices */
    int64_t repeats;     /* how often the code is run, one time after the other, for measuring; 0: once */
} akg_call_options;

/*
 * Calls a kernel. `outputs` has akg_kernel_output_count entries: an entry that
 * is NULL receives a new tensor, C-contiguous and the caller's to release; one that
 * is not is written to, and must have the inferred dtype and shape, be
 * C-contiguous and share no memory with an argument or another output. An output
 * that is an input written in place must be NULL or that input; NULL receives a
 * new reference to it, and such an input may have any strides as long as its
 * elements are distinct. Inputs that are only read may overlap each other and
 * have any strides. Where an optional tensor that would be returned is left out, or the
 * arguments choose a return statement that gives fewer tensors, its entry stays as it is. All tensors lie on
 * one device: there the kernel runs, and new tensors are made; AKG_ERROR_CALL, with a message that names two,
 * where they do not.
 *
 * On error no entry is changed, and nothing was written where an argument or a
 * precondition was wrong (AKG_ERROR_CALL with the kernel not started) or memory
 * ran out (AKG_ERROR_MEMORY). A per-element check that fails stops the kernel
 * (AKG_ERROR_CALL, the message says where and in which iteration): in-place inputs
 * and given outputs may then be partly written. With trust_indices, an index that
 * is out of bounds after all is undefined behaviour.
 *
 * `arguments` may be NULL when there are none. The module must live until the call is over; the tensors that
 * it returned need it no more.
 */
AKG_API akg_status akg_kernel_call(akg_kernel *kernel, const akg_argument *arguments, size_t argument_count,
                                   const akg_call_options *options, akg_tensor **outputs,
                                   akg_diagnostics **diagnostics);

/* What one call of a kernel does, counted from its text (before any optimisation), not by running it. */
typedef struct akg_cost {
    int64_t bytes_read;    /* of inputs: each element that is read counts once, however often it is used */
    int64_t bytes_written; /* of outputs every element, of tensors written in place each that is stored to */
    int64_t flops; /* operations on floats, also +, min and exp each as one, fma as two; not comparisons,
                      signs and conversions */
    bool exact; /* nothing of it hangs on the elements of tensors. Else a condition on them counts its dearer
                   side, an index from them any element, a loop bounded by them (and every while) one
                   iteration, and a loop with a break all of its iterations */
} akg_cost;

/* Errors as of akg_kernel_call; nothing is computed, only the shapes of tensors are read. */
AKG_API akg_status akg_kernel_cost(akg_kernel *kernel, const akg_argument *arguments, size_t argument_count,
                                   akg_cost *cost, akg_diagnostics **diagnostics);

/*
 * The kernel as the C that a person would write: one file with plain loops over restrict pointers, before any
 * optimisation, and
 *     int akg_plain_run(void *const *tensors, long repeats);
 * which calls it for the extents and numbers of these arguments. `tensors` are the data of the tensors among
 * them, in the order of the parameters, then of the outputs, all contiguous (an input may be broadcast: what
 * it repeats is there once); it answers 1 without memory for temporaries. Nothing is tested in it: the call
 * must be one that akg_kernel_call takes. *text is freed with akg_free. Errors as of akg_kernel_call; and,
 * with a message, tensors that are not contiguous, and numbers in the place of tensors.
 */
AKG_API akg_status akg_kernel_plain_c(akg_kernel *kernel, const akg_argument *arguments,
                                      size_t argument_count, char **text, akg_diagnostics **diagnostics);

typedef enum akg_stage {
    AKG_STAGE_TOKENS = 0,
    AKG_STAGE_AST,
    AKG_STAGE_IR,
    AKG_STAGE_C,         /* as a first call has it: for its extents alone, where arguments are given */
    AKG_STAGE_CANONICAL, /* the program itself, canonically formatted; of the whole file only */
    AKG_STAGE_OPTIMISED, /* the loop IR after the optimising passes, which is what code is made of */
    AKG_STAGE_ASM,       /* the instructions of its vector loops, for this processor; likewise */
    AKG_STAGE_CUDA,      /* the CUDA C translation unit; nvcc compiles it as it is */
    AKG_STAGE_PTX /* what NVRTC makes of that, where it is installed, for the target or the newest GPU */
} akg_stage;

/* The text of one stage, for people: of one kernel (for that call if arguments
 * are given, else for its most general signature) or, with kernel_name NULL and
 * no arguments, of the whole file, but for functions of which only a call can tell what they come to: of
 * one of these alone AKG_ERROR_PROGRAM. Tokens and the canonical text are always of the whole file. The
 * source is compiled anew for ir and what comes after it; *text is freed with akg_free. Errors as of
 * jit_compile and akg_kernel_call; AKG_ERROR_USAGE when there is no kernel of that name. */
AKG_API akg_status jit_emit(const jit_source *source, akg_stage stage, const char *kernel_name,
                            const akg_argument *arguments, size_t argument_count, char **text,
                            akg_diagnostics **diagnostics);

/* The same of a module that is compiled with these options, which may be NULL: CUDA, PTX and the instructions
 * are other ones with `strict`, CUDA with `tf32`. The target of PTX is a GPU: "sm_" and 10 times its compute
 * capability, or NULL for the newest that NVRTC knows; of one that it knows not it is AKG_ERROR_USAGE with a
 * message. */
AKG_API akg_status jit_emit_with(const jit_source *source, const jit_options *options, akg_stage stage,
                                 const char *kernel_name, const akg_argument *arguments,
                                 size_t argument_count, char **text, akg_diagnostics **diagnostics);

/* The loop IR of one kernel, or of all, after each optimising pass that changed it, with the time the pass
 * took; of one pass only, or with `pass` NULL of all. Else as jit_emit; AKG_ERROR_USAGE also when there is no
 * such pass. */
AKG_API akg_status jit_emit_passes(const jit_source *source, const char *pass, const char *kernel_name,
                                   const akg_argument *arguments, size_t argument_count, char **text,
                                   akg_diagnostics **diagnostics);

/* The names of the optimising passes; NULL from their number on. */
AKG_API const char *akg_pass_name(size_t index);

/* ---- the cache on disk ---------------------------------------------------- */

/* What is kept on disk of generated code, as it was when it was opened (docs/cache.md). For one thread. */
typedef struct akg_cache akg_cache;

/* Strings live as long as the cache is open; what is not known is "". */
typedef struct akg_cache_entry {
    const char *name;   /* of its file */
    const char *kernel; /* whose code it is */
    const char *tier;   /* "instant" */
    const char *target, *signature;
    const char *build;   /* of the library that made it */
    const char *problem; /* NULL: none; else it is damaged, and what is wrong with it */
    uint64_t bytes;
    int64_t used; /* when it was last used, in seconds since 1970 */
} akg_cache_entry;

/* Opens the cache in a directory, or the one that jit_options.cache means with that value, and reads every
 * entry in full. A directory that is not there is an empty cache; one that cannot be used is AKG_ERROR_IO. */
AKG_API akg_status akg_cache_open(const char *directory, akg_cache **cache, akg_diagnostics **diagnostics);
AKG_API void akg_cache_close(akg_cache *cache);
/* Its directory, or NULL where it is off. */
AKG_API const char *akg_cache_directory(const akg_cache *cache);
/* The bytes that all entries may have together. */
AKG_API uint64_t akg_cache_limit(const akg_cache *cache);
AKG_API size_t akg_cache_entry_count(const akg_cache *cache);
/* Entry number `index`, or NULL past the end; the one that was not used for longest comes first. */
AKG_API const akg_cache_entry *akg_cache_entry_at(const akg_cache *cache, size_t index);

typedef enum akg_cache_removal {
    AKG_CACHE_REFUSE =
        0, /* what is damaged or was left half-written, and the oldest entries beyond the limit */
    AKG_CACHE_ALL
} akg_cache_removal;

/* Removes files of the cache; *removed (or NULL) is how many. What others use meanwhile stays with them. */
AKG_API akg_status akg_cache_remove(akg_cache *cache, akg_cache_removal removal, uint64_t *removed);

/* Whether the code of a call is in the cache, and if not, in which part of the key the nearest entry differs,
 * or what is wrong with the call's own entry, or with the directory. As text or JSON; *text is freed with
 * akg_free. Errors as of jit_compile and akg_kernel_call; AKG_ERROR_USAGE when there is no kernel of that
 * name. Nothing is kept. */
AKG_API akg_status akg_cache_explain(const jit_source *source, const jit_options *options,
                                     const char *kernel_name, const akg_argument *arguments,
                                     size_t argument_count, bool trust_indices, akg_format format,
                                     char **text, akg_diagnostics **diagnostics);

/* ---- operators ---------------------------------------------------------- */

/* Operators by name, with their kernels and gradients. Reference counted (atomically); threads may share a
 * registry, look up and register at once. What is registered stays as it is until the last reference goes. */
typedef struct akg_registry akg_registry;
typedef struct akg_operator akg_operator; /* lives as long as its registry */
typedef struct akg_tape akg_tape;         /* see "gradients" */

AKG_API akg_status akg_registry_create(akg_registry **registry);
AKG_API akg_registry *akg_registry_retain(akg_registry *registry);
AKG_API void akg_registry_release(akg_registry *registry);

/* Every kernel of the module becomes an operator of its name; the functions that its @bprop decorators name
 * become their gradients. All or none: AKG_ERROR_USAGE, with a message that names the first, when a name is
 * taken. The registry keeps the module alive. */
AKG_API akg_status akg_registry_add_module(akg_registry *registry, akg_module *module,
                                           akg_diagnostics **diagnostics);

/* The operator of that name: the user's, else the standard library's; "std:softmax" is the library's only.
 * AKG_ERROR_USAGE, with a message, when there is none. */
AKG_API akg_status akg_registry_find(akg_registry *registry, const char *name, akg_operator **found,
                                     akg_diagnostics **diagnostics);

/* Compiles all of the standard library, so that it is among the operators below. */
AKG_API akg_status akg_registry_add_standard(akg_registry *registry, akg_diagnostics **diagnostics);
/* The registered operators, in order of registration; of the standard library, what was asked for so far. */
AKG_API size_t akg_registry_operator_count(akg_registry *registry);
AKG_API akg_operator *akg_registry_operator_at(akg_registry *registry, size_t index);

AKG_API const char *akg_operator_name(const akg_operator *callee);
/* What it is for, or "". */
AKG_API const char *akg_operator_documentation(const akg_operator *callee);
/* Where it comes from: "examples/square.akg:3", the path of a library, or "the program". */
AKG_API const char *akg_operator_origin(const akg_operator *callee);
AKG_API bool akg_operator_has_gradient(const akg_operator *callee);
/* What `akgrun ops` prints of it: its signature on a line, then the kernels of an operator written in C with
 * their conditions, or what akg_kernel_report tells. *text is freed with akg_free. */
AKG_API akg_status akg_operator_report(const akg_operator *callee, char **text);
/* The kernel that it is, or NULL for an operator written in C. */
AKG_API akg_kernel *akg_operator_kernel(const akg_operator *callee);
AKG_API size_t akg_operator_parameter_count(const akg_operator *callee);
/* Fills *parameter; false past the end. Inputs of an operator written in C that are not just one tensor are
 * AKG_PARAMETER_VARIADIC. */
AKG_API bool akg_operator_parameter(const akg_operator *callee, size_t index, akg_parameter *parameter);
/* Outputs by name: one that holds several tensors counts once. */
AKG_API size_t akg_operator_output_count(const akg_operator *callee);
AKG_API const char *akg_operator_output_name(const akg_operator *callee, size_t index);

/*
 * Calls an operator, with the conventions of akg_kernel_call. For one written in C, `outputs` has an entry
 * for each tensor of each output, in order, and positional arguments are its inputs and then its attributes.
 * An output that may hold several tensors is told how many by an integer argument of its name (else it has
 * its least count, an optional one none). Given tensors for outputs may share no memory with an input.
 *
 * `tape` records the call for gradients where an input needs one; NULL records nothing.
 */
AKG_API akg_status akg_call(akg_tape *tape, akg_operator *callee, const akg_argument *arguments,
                            size_t argument_count, akg_tensor **outputs, akg_diagnostics **diagnostics);

/* ---- operators written in C ---------------------------------------------- */

/*
 * The structures below describe an operator. A registration copies them, so that they may live on the stack;
 * functions and `data` that they point to must stay as long as the registry. A registration that is wrong in
 * itself is AKG_ERROR_USAGE with a message, and nothing is registered then.
 *
 * An akg_invocation is one call, and what the functions of the operator see of it. Names are those of the
 * description; a name that it does not have, an index past the end, or an attribute of another kind gives
 * NULL, 0 or false.
 */
typedef struct akg_invocation akg_invocation;

/* Tensors of the input or output of that name: 0 for an optional one left out. */
AKG_API size_t akg_invocation_count(const akg_invocation *invocation, const char *name);
/* Number `index` of them. Outputs are there in compute only. */
AKG_API akg_tensor *akg_invocation_input(const akg_invocation *invocation, const char *name, size_t index);
AKG_API akg_tensor *akg_invocation_output(const akg_invocation *invocation, const char *name, size_t index);

/* What is known of a tensor before it is there. */
typedef struct akg_description {
    akg_dtype dtype;
    int rank;
    int64_t shape[AKG_MAX_RANK];
} akg_description;

/* Of an input or output; false in infer for an output that was not described yet. */
AKG_API bool akg_invocation_describe(const akg_invocation *invocation, const char *name, size_t index,
                                     akg_description *description);
/* For infer: says what an output will be. */
AKG_API akg_status akg_invocation_set_output(akg_invocation *invocation, const char *name, size_t index,
                                             const akg_description *description);

/* Attributes: int32, int64 and bool; float and double; string; dtype; shape and lists of integers; lists of
 * floats. Lists and strings live as long as the invocation. */
AKG_API int64_t akg_invocation_integer(const akg_invocation *invocation, const char *name);
AKG_API double akg_invocation_real(const akg_invocation *invocation, const char *name);
AKG_API const char *akg_invocation_string(const akg_invocation *invocation, const char *name);
AKG_API akg_dtype akg_invocation_dtype(const akg_invocation *invocation, const char *name);
AKG_API const int64_t *akg_invocation_integers(const akg_invocation *invocation, const char *name,
                                               size_t *count);
AKG_API const double *akg_invocation_reals(const akg_invocation *invocation, const char *name, size_t *count);

/* The kernel's scratch memory, where its tensors lie, aligned to 64 bytes and not cleared; NULL without
 * scratch_size.
 */
AKG_API void *akg_invocation_scratch(const akg_invocation *invocation);
/* `data` of the description. */
AKG_API void *akg_invocation_data(const akg_invocation *invocation);
/* Refuses the call with that reason, one line. Gives AKG_ERROR_CALL, for the function to return. */
AKG_API akg_status akg_invocation_refuse(akg_invocation *invocation, const char *reason);

/* An input or an output. */
typedef struct akg_operand {
    const char *name;
    size_t count;  /* how many tensors it is; 0 stands for 1 */
    bool at_least; /* that many or more */
    bool optional; /* or none at all */
} akg_operand;

typedef enum akg_attribute_kind {
    AKG_ATTRIBUTE_INT32 = 0,
    AKG_ATTRIBUTE_INT64,
    AKG_ATTRIBUTE_BOOL,
    AKG_ATTRIBUTE_FLOAT, /* a double rounded to float32 */
    AKG_ATTRIBUTE_DOUBLE,
    AKG_ATTRIBUTE_STRING,
    AKG_ATTRIBUTE_DTYPE, /* also takes its name as a string */
    AKG_ATTRIBUTE_SHAPE, /* extents of a tensor: none negative */
    AKG_ATTRIBUTE_INT32S,
    AKG_ATTRIBUTE_INT64S,
    AKG_ATTRIBUTE_FLOATS
} akg_attribute_kind;

typedef struct akg_attribute {
    const char *name;
    akg_attribute_kind kind;
    const akg_argument *initial; /* its default; NULL: it must be given */
} akg_attribute;

/*
 * One implementation. Of those whose condition holds, the one with the highest priority runs.
 * A condition is text:
 *
 *     dtype(out) == float32 and device == cpu and not (rank(in) > 2 or mode == 'sum')
 *
 * Its terms are `device`, `dtype(NAME)`, `rank(NAME)`, `format(NAME)`, each also with an index, `dtype(in,
 * 1)`, and the names of attributes of one value (a bool may stand alone); they are compared by == != < <= >
 * >=, or `in` with a list: `dtype(out) in (float32, float64)`. A comparison that names a tensor left out is
 * false. A kernel whose condition does not name `device` is for tensors of the CPU. A format is `default`
 * (any), `contiguous`, or the order of the axes in memory: NCHW, NHWC, NCDHW, NDHWC.
 */
typedef struct akg_kernel_definition {
    const char *name;      /* for messages; unique in its operator */
    const char *condition; /* NULL: always */
    int priority;
    bool always_compute; /* runs also when every output is empty */
    bool strided;        /* takes inputs of any strides; else it gets C-contiguous ones, copied if need be */
    akg_status (*compute)(akg_invocation *invocation);        /* outputs come C-contiguous and not cleared */
    size_t (*scratch_size)(const akg_invocation *invocation); /* bytes; may be NULL */
} akg_kernel_definition;

typedef struct akg_operator_definition {
    const char *name; /* letters, digits, '_', not starting with a digit */
    const char *documentation;
    const akg_operand *inputs, *outputs;
    size_t input_count, output_count;
    const akg_attribute *attributes;
    size_t attribute_count;
    /* Looks at the attributes and inputs before anything else does. May be NULL. */
    akg_status (*check)(akg_invocation *invocation);
    /* Describes every output. NULL: each is as the first tensor of the input `like`, by default the first. */
    akg_status (*infer)(akg_invocation *invocation);
    const char *like;
    const akg_kernel_definition *kernels; /* more may come with akg_registry_add_kernel */
    size_t kernel_count;
    void *data;
} akg_operator_definition;

AKG_API akg_status akg_registry_add_operator(akg_registry *registry,
                                             const akg_operator_definition *definition,
                                             akg_diagnostics **diagnostics);
/* One more kernel for an operator written in C. */
AKG_API akg_status akg_registry_add_kernel(akg_registry *registry, const char *name,
                                           const akg_kernel_definition *kernel,
                                           akg_diagnostics **diagnostics);

/*
 * Operator information: what dtypes and formats an operator takes on a target. An operator without is judged
 * by its kernels and its arguments alone; with it, a call must fit one of the combinations for its target.
 * Inputs, outputs and attributes must be those of the operator, by name and in order: AKG_ERROR_USAGE
 * otherwise, and when the target has information already (the message names the first).
 */
typedef struct akg_dtype_format {
    akg_dtype dtype;    /* AKG_DTYPE_COUNT: any */
    const char *format; /* as in a condition; NULL: default */
} akg_dtype_format;

typedef struct akg_operator_info {
    const char *target; /* "CPU", "GPU" or "Ascend" */
    const char *const *inputs, *const *outputs, *const *attributes;
    size_t input_count, output_count, attribute_count;
    const akg_dtype_format *combinations; /* each input_count + output_count long */
    size_t combination_count;
} akg_operator_info;

AKG_API akg_status akg_registry_add_info(akg_registry *registry, const char *name,
                                         const akg_operator_info *info, akg_diagnostics **diagnostics);

/* ---- gradients of operators, given from C ------------------------------------ */

/*
 * As a function, by the convention of @bprop: it gets the inputs, the outputs and the gradients of the
 * outputs, in this order, and gives one gradient for each input. An input or output of several tensors is a
 * row of them; what was left out is NULL.
 */
typedef struct akg_bprop_call {
    akg_tape *tape; /* for akg_call */
    akg_operator *callee;
    akg_tensor *const *inputs, *const *outputs, *const *output_gradients; /* zeros where none came */
    size_t input_count, output_count;                                     /* tensors */
    const bool *needed;             /* per input tensor: whether its gradient is wanted */
    const akg_argument *attributes; /* by name, defaults included */
    size_t attribute_count;
    void *data;
} akg_bprop_call;

typedef struct akg_bprop {
    size_t parameter_count; /* what the function is written for: the inputs, then outputs and gradients as one
                               each */
    size_t result_count;    /* the inputs */
    /* Puts new references into `gradients`, one per input tensor, NULL before; NULL is zero. */
    akg_status (*function)(const akg_bprop_call *call, akg_tensor **gradients, akg_diagnostics **diagnostics);
    bool on_tape; /* it computes by akg_call on call->tape only, so its gradients can be differentiated again
                   */
    void *data;
} akg_bprop;

/* Makes it the gradient of an operator of any kind. AKG_ERROR_USAGE, with a message, when it is written for
 * another number of inputs, or the operator has a gradient already. */
AKG_API akg_status akg_operator_set_bprop(akg_registry *registry, const char *name, const akg_bprop *bprop,
                                          akg_diagnostics **diagnostics);

/*
 * As a graph of operators: `build` says for each input how its gradient is computed from the call's inputs,
 * outputs and the gradients of its outputs. Nothing that only serves gradients which nobody needs is built or
 * run.
 *
 *     static void build_grad(akg_gradient *gradient, akg_gradient_node *node)
 *     {
 *         akg_gradient_node_operator(node, "myrelu_grad");
 *         akg_gradient_node_input(node, "y", akg_gradient_output(gradient, "out", 0));
 *         akg_gradient_node_input(node, "dy", akg_gradient_output_gradient(gradient, "out", 0));
 *     }
 *     static const akg_gradient_value *in_gradient(akg_gradient *gradient, const char *input, size_t index)
 *     {
 *         return akg_gradient_get(gradient, "grad", "dx", 0);
 *     }
 *     static void build(akg_gradient *gradient)
 *     {
 *         akg_gradient_define(gradient, "grad", build_grad);
 *         akg_gradient_bind(gradient, "in", 0, in_gradient);
 *     }
 *
 * It runs at each call that is recorded. What goes wrong is told by that call; functions that give a value
 * give NULL then, and take NULL.
 */
typedef struct akg_gradient akg_gradient;
typedef struct akg_gradient_node akg_gradient_node;   /* a call of the graph */
typedef struct akg_gradient_value akg_gradient_value; /* a tensor that will be there when the graph runs */

AKG_API akg_status akg_operator_set_gradient(akg_registry *registry, const char *name,
                                             void (*build)(akg_gradient *gradient), void *data,
                                             akg_diagnostics **diagnostics);

/* Names a call; `build` describes it when akg_gradient_get first asks for it. */
AKG_API void akg_gradient_define(akg_gradient *gradient, const char *name,
                                 void (*build)(akg_gradient *gradient, akg_gradient_node *node));
AKG_API void akg_gradient_node_operator(akg_gradient_node *node, const char *name);
/* Called again for the same input, it adds another tensor. */
AKG_API void akg_gradient_node_input(akg_gradient_node *node, const char *name,
                                     const akg_gradient_value *value);
/* How many tensors an output is to hold. Those that are fixed need not be named. */
AKG_API void akg_gradient_node_output(akg_gradient_node *node, const char *name, size_t count);
/* The attribute that `value` names, which is copied; no tensor. */
AKG_API void akg_gradient_node_attribute(akg_gradient_node *node, const akg_argument *value);
/* An output of the call of that name, which is built now if it was not yet. */
AKG_API const akg_gradient_value *akg_gradient_get(akg_gradient *gradient, const char *name,
                                                   const char *output, size_t index);
/* Says how an input's gradient comes about: `value` is asked if the gradient is needed. */
AKG_API void akg_gradient_bind(akg_gradient *gradient, const char *input, size_t index,
                               const akg_gradient_value *(*value)(akg_gradient *gradient, const char *input,
                                                                  size_t index));
/* Of the call that is differentiated: */
AKG_API const akg_gradient_value *akg_gradient_input(akg_gradient *gradient, const char *name, size_t index);
AKG_API const akg_gradient_value *akg_gradient_output(akg_gradient *gradient, const char *name, size_t index);
AKG_API const akg_gradient_value *akg_gradient_output_gradient(akg_gradient *gradient, const char *name,
                                                               size_t index);
AKG_API const akg_argument *akg_gradient_attribute(akg_gradient *gradient, const char *name);
AKG_API bool akg_gradient_describe(akg_gradient *gradient, const char *name, size_t index,
                                   akg_description *description);
AKG_API void *akg_gradient_data(akg_gradient *gradient);

/* ---- operations: a call put together piece by piece ------------------------ */

/*
 * One use of an operator, by the names of its inputs, outputs and attributes:
 *
 *     akg_operation_create(registry, "myrelu", &operation, &diagnostics);
 *     akg_operation_input(operation, "in", &x, 1);
 *     akg_operation_output(operation, "out", 1);
 *     akg_operation_run(operation, NULL, &diagnostics);
 *     akg_operation_sole_output(operation, &y, &diagnostics);
 *
 * Pieces are kept (tensors by reference) until the release; what is wrong with them is told by run. Used by
 * one thread at a time. AKG_ERROR_MEMORY of a piece is told again by run.
 */
typedef struct akg_operation akg_operation;

AKG_API akg_status akg_operation_create(akg_registry *registry, const char *name, akg_operation **operation,
                                        akg_diagnostics **diagnostics);
AKG_API void akg_operation_release(akg_operation *operation);
AKG_API akg_status akg_operation_input(akg_operation *operation, const char *name, akg_tensor *const *tensors,
                                       size_t count);
/* An output, and how many tensors it is to hold. Those that are fixed need not be named. */
AKG_API akg_status akg_operation_output(akg_operation *operation, const char *name, size_t count);
/* The attribute that `value` names. */
AKG_API akg_status akg_operation_attribute(akg_operation *operation, const akg_argument *value);
/* Operator information for this use, in place of what is registered for its target; NULL: none. Borrowed
 * until the release. AKG_ERROR_USAGE where it has no target, or NULL for a list that is not empty. */
AKG_API akg_status akg_operation_info(akg_operation *operation, const akg_operator_info *info);
/* Where it is to run: "cpu", "cuda:0". It runs where its tensors lie: run refuses it where that is another
 * place. */
AKG_API akg_status akg_operation_device(akg_operation *operation, const char *device);
/* Infers and runs; an operation can run many times. */
AKG_API akg_status akg_operation_run(akg_operation *operation, akg_tape *tape, akg_diagnostics **diagnostics);
/* The outputs of the last run, in order; borrowed. */
AKG_API size_t akg_operation_output_count(const akg_operation *operation);
AKG_API akg_tensor *akg_operation_output_at(const akg_operation *operation, size_t index);
/* The name of the output that this tensor belongs to, and in *item which of its tensors it is (-1: it is just
 * that one). NULL past the end. */
AKG_API const char *akg_operation_output_name(const akg_operation *operation, size_t index, int64_t *item);
/* The one output there is, borrowed; AKG_ERROR_USAGE, with a message, when there are more or none. */
AKG_API akg_status akg_operation_sole_output(const akg_operation *operation, akg_tensor **output,
                                             akg_diagnostics **diagnostics);

/* ---- libraries of operators -------------------------------------------------- */

/* Grows when this header changes in a way that compiled libraries notice. */
#define AKG_ABI 1

/*
 * A library is a shared object that defines two symbols, akg_library_abi and akg_library_register:
 *
 *     AKG_LIBRARY
 *     akg_status akg_library_register(akg_registry *registry, akg_diagnostics **diagnostics) { ... }
 *
 * akg_load_library calls the function with a registry that takes what it registers: if the function gives
 * AKG_OK, everything in it goes to `registry` at once; else nothing does. The object stays loaded as long as
 * the registry. A path without a slash is a file of the current folder. AKG_ERROR_IO when the object cannot
 * be loaded, AKG_ERROR_USAGE when it is no library or one of another AKG_ABI; each with a message.
 */
#ifdef __cplusplus
#define AKG_LIBRARY_SYMBOL extern "C" AKG_API
#else
#define AKG_LIBRARY_SYMBOL AKG_API
#endif
#define AKG_LIBRARY                                                                                          \
    AKG_LIBRARY_SYMBOL const unsigned akg_library_abi = AKG_ABI;                                             \
    AKG_LIBRARY_SYMBOL akg_status akg_library_register(akg_registry *registry, akg_diagnostics **diagnostics);
AKG_API akg_status akg_load_library(akg_registry *registry, const char *path, akg_diagnostics **diagnostics);

/* ---- gradients ---------------------------------------------------------- */

/*
 * What calls are recorded on. While a tape records, a call with an input that requires a gradient leaves
 * a node behind, which hangs on the outputs and goes with them; the tape itself keeps nothing. Used by one
 * thread at a time. Several tapes may be used at once. A tensor that requires a gradient belongs to one of
 * them; threads that share its elements each take an akg_tensor_detach of it.
 */
struct akg_tape;

/* A tape that records. `registry` is where operators are looked up by name, and is retained; NULL where none
 * are. */
AKG_API akg_status akg_tape_create(akg_registry *registry, akg_tape **tape);
AKG_API void akg_tape_release(akg_tape *tape);
AKG_API akg_registry *akg_tape_registry(const akg_tape *tape);
/* Switches recording and answers what it was before, so that uses nest:
 *     bool before = akg_tape_set_recording(tape, false);
 *     ...
 *     akg_tape_set_recording(tape, before); */
AKG_API bool akg_tape_set_recording(akg_tape *tape, bool recording);
AKG_API bool akg_tape_is_recording(const akg_tape *tape);

/* Whether gradients flow to the tensor: akg_tensor_set_requires_grad said so, or a recorded call made it. */
AKG_API bool akg_tensor_requires_grad(const akg_tensor *tensor);
/* Makes a tensor one to which akg_backward leads, or no longer (its gradient is then dropped).
 * AKG_ERROR_USAGE, with a message, for a tensor that a recorded call made and for dtypes that are not float.
 */
AKG_API akg_status akg_tensor_set_requires_grad(akg_tensor *tensor, bool requires_grad,
                                                akg_diagnostics **diagnostics);
/* True for a tensor that no recorded call made. */
AKG_API bool akg_tensor_is_leaf(const akg_tensor *tensor);
/* The sum of all gradients that akg_backward brought since the last akg_tensor_clear_grad; NULL before the
 * first. Of a leaf only. Borrowed, until the next akg_backward; who retains it keeps its values as they are.
 */
AKG_API akg_tensor *akg_tensor_grad(const akg_tensor *tensor);
AKG_API void akg_tensor_clear_grad(akg_tensor *tensor);
/* The same elements without history: a view that requires no gradient. (So has a view made by
 * akg_tensor_view, and a copy made by akg_tensor_copy or akg_tensor_cast.) */
AKG_API akg_status akg_tensor_detach(akg_tensor *tensor, akg_tensor **detached);
/* How often the elements were written in place: by a call, akg_tensor_set or akg_tensor_fill*. Views count
 * with their base. Tensors of akg_tensor_from_memory count for themselves, even where they share memory. */
AKG_API uint64_t akg_tensor_version(const akg_tensor *tensor);
/* Says that they were written through akg_tensor_data. */
AKG_API void akg_tensor_mark_written(akg_tensor *tensor);

/*
 * Adds to the gradient of every leaf that the roots depend on. `root_gradients` has the gradient of each
 * root; NULL, or an entry that is NULL, stands for ones. What was recorded is freed node by node as soon as
 * it has been passed, unless `retain_graph`; a second pass is then AKG_ERROR_CALL with a message.
 *
 * Gradients have the dtype and shape of their tensor: of an operand that was broadcast they are summed. They
 * are the same to the bit on every run. On error no gradient is changed; what was recorded may be used up.
 * AKG_ERROR_USAGE, with a message: a root that requires no gradient, a root gradient of another shape or
 * dtype.
 */
AKG_API akg_status akg_backward(akg_tape *tape, akg_tensor *const *roots, akg_tensor *const *root_gradients,
                                size_t root_count, bool retain_graph, akg_diagnostics **diagnostics);

typedef struct akg_gradient_options {
    bool retain_graph;
    bool create_graph; /* the gradients can be differentiated again; retains the graph */
} akg_gradient_options;

/*
 * The gradients of the roots with respect to chosen tensors, leaves or not; akg_tensor_grad stays as it is.
 * `gradients` has `count` entries and receives new references, NULL where no root depends on the tensor. Only
 * what lies between is computed. Errors as of akg_backward; and a tensor of `with_respect_to` that requires
 * no gradient. On error all entries are NULL.
 */
AKG_API akg_status akg_gradients(akg_tape *tape, akg_tensor *const *roots, akg_tensor *const *root_gradients,
                                 size_t root_count, akg_tensor *const *with_respect_to, size_t count,
                                 const akg_gradient_options *options, akg_tensor **gradients,
                                 akg_diagnostics **diagnostics);

/* A computation on a tape: new references into `outputs`, whose entries are NULL before. */
typedef akg_status (*akg_net)(akg_tape *tape, void *user, akg_tensor *const *inputs, size_t input_count,
                              akg_tensor **outputs, akg_diagnostics **diagnostics);

typedef struct akg_value_and_grad_request {
    akg_net net;
    void *user;
    akg_tensor *const *inputs;
    size_t input_count;
    size_t output_count;
    const size_t *positions; /* the inputs to differentiate by */
    size_t position_count;
    akg_tensor *const *parameters; /* tensors that the net uses besides; each must require a gradient */
    size_t parameter_count;
} akg_value_and_grad_request;

/*
 * Runs the net and differentiates the sum of all its outputs. `values` (output_count entries) receives the
 * outputs, `input_gradients` (position_count) and `parameter_gradients` (parameter_count) new tensors, zeros
 * where nothing depends on them. The inputs need not require a gradient, and neither they nor the parameters
 * are changed. On error all entries are NULL.
 */
AKG_API akg_status akg_value_and_grad(akg_tape *tape, const akg_value_and_grad_request *request,
                                      akg_tensor **values, akg_tensor **input_gradients,
                                      akg_tensor **parameter_gradients, akg_diagnostics **diagnostics);

/* ---- recorded graphs --------------------------------------------------------- */

/*
 * A computation that was put down once and is run many times, without the code that described it. Reference
 * counted (atomically); threads may share a graph, its runs take turns.
 */
typedef struct akg_graph akg_graph;

/*
 * Calls the net with tensors that only stand for inputs, and puts down what it calls on the tape: operators
 * with kernels from .akg files, host operators with `infer`, akg_function, akg_gradients and
 * akg_value_and_grad. `inputs` says what each input is, as an annotation would: "float32[N, 784]",
 * "int64[N]", "float32[]". A name is an extent that may be another one at each run; to find what hangs on it,
 * the net is then called twice, with different extents.
 *
 * Tensors of the program that the net uses (weights) belong to the graph: each run reads their elements as
 * they are then, and writes them where a call writes in place. They may lie on a device; the graph then runs
 * there, and without such tensors wherever its inputs lie.
 *
 * AKG_ERROR_CALL, with a message: host operators without `infer` and operators written in C; elements of
 * tensors that were asked for (akg_tensor_get, akg_tensor_data), on which the computation might hang; calls
 * or numbers that are not the same for all extents. AKG_ERROR_USAGE: text that describes no input;
 * akg_backward; a tape without registry, or one that puts down a graph already. What the net returns comes
 * back.
 */
AKG_API akg_status akg_graph_record(akg_tape *tape, akg_net net, void *user, const char *const *inputs,
                                    size_t input_count, size_t output_count, akg_graph **graph,
                                    akg_diagnostics **diagnostics);
AKG_API akg_graph *akg_graph_retain(akg_graph *graph);
AKG_API void akg_graph_release(akg_graph *graph);
AKG_API size_t akg_graph_output_count(const akg_graph *graph);

/*
 * Runs the graph, with the results of the calls one by one to the bit, on the device where all inputs lie
 * (but for quotients by a scalar that come near the least numbers there are, unless the module is strict: a
 * unit in the last place, docs/architecture.md; and for sums where these take the one code of a kernel and
 * the graph the other, see jit_options.any_shape). The first run with new extents, or on another device,
 * plans memory and kernels for them. An entry of `outputs` that is NULL receives a new tensor; one that is
 * not is written to, and must have dtype and shape of the output, lie on the device, be C-contiguous, and
 * share no memory with what the graph reads. The run is not recorded on a tape, so no gradient flows through
 * it: record the gradient too. AKG_ERROR_CALL, with a message, where an input does not fit; else errors as of
 * akg_kernel_call. On error entries stay as they are.
 */
AKG_API akg_status akg_graph_run(akg_graph *graph, akg_tensor *const *inputs, akg_tensor **outputs,
                                 akg_diagnostics **diagnostics);

typedef struct akg_graph_measures {
    size_t calls; /* that were recorded */
    size_t steps; /* that the last choice of extents comes to: what no output needs is left out, and calls
                     that are element by element become one */
    size_t workspace_bytes; /* for the tensors between the steps */
    size_t separate_bytes;  /* and how many these would be if none shared memory */
} akg_graph_measures;

/* Of the extents that came new last; false before the first run. */
AKG_API bool akg_graph_measure(akg_graph *graph, akg_graph_measures *measures);

/* ---- checking gradients ----------------------------------------------------- */

typedef struct akg_gradient_check_options {
    /* How much a gradient may be off, relative to the largest of 1 and the two values that are compared. 0:
     * where everything can be computed in float64, 1e-6 for central differences and 1e-10 for the complex
     * step; else the cube root of the coarsest dtype's machine epsilon. */
    double tolerance;
    bool differences; /* no complex step */
    int64_t limit;    /* of each input no more elements than that are tried, chosen by the seed; 0: 1000 */
    uint64_t seed;    /* of the output gradients too */
    /* The parameters to differentiate by; NULL: all tensors of floats, but for those that the operator writes
     * in place, returns and has no gradient for, as a running mean. */
    const char *const *names;
    size_t name_count;
} akg_gradient_check_options;

/* What was found of one input. */
typedef struct akg_gradient_check_row {
    const char *name; /* the parameter; lives as long as the operator */
    int64_t item;     /* number among the tensors of a variadic parameter, else -1 */
    int64_t elements, tried;
    int64_t wrong; /* of those tried */
    double error;  /* the largest, relative; infinite where only one of the values is finite */
    /* The element that is off most, where one was tried: */
    int rank;
    int64_t index[AKG_MAX_RANK];
    double gradient, expected;
    const char *method; /* how `expected` was found: "complex step", "central differences" */
} akg_gradient_check_row;

typedef struct akg_gradient_report akg_gradient_report;

/*
 * Compares the gradient of an operator with what small changes of its inputs do to its outputs: by
 * interpreting its kernel in complex numbers, where all of its operations have a meaning on these and that
 * does not take long, else by central differences. Inputs of floats are converted to float64, unless their
 * annotation asks for another dtype; what is differentiated is the sum of all outputs, weighted by random
 * output gradients. An input that is written in place counts as an output only if it is differentiated by, or
 * if there is no other output of floats.
 * The arguments are not changed.
 *
 * AKG_ERROR_PROGRAM, with a message for each input, when a gradient is wrong: *report is there too then, to
 * be released by the caller. Else errors as of akg_call and akg_gradients; AKG_ERROR_USAGE also where a name
 * is that of no tensor of floats among the arguments. At a kink of a function (relu at 0) differences have no
 * meaning: the message says where one was met.
 */
AKG_API akg_status akg_gradient_check(akg_operator *callee, const akg_argument *arguments, size_t count,
                                      const akg_gradient_check_options *options, akg_gradient_report **report,
                                      akg_diagnostics **diagnostics);
/* Row number `index`, in the order of the arguments; false past the end. */
AKG_API bool akg_gradient_report_at(const akg_gradient_report *report, size_t index,
                                    akg_gradient_check_row *row);
AKG_API void akg_gradient_report_release(akg_gradient_report *report);

/* ---- functions and host operators ----------------------------------------- */

/*
 * A forward and a backward function in C, for what is no kernel. The context goes from the one to the other;
 * it is theirs while they run.
 */
typedef struct akg_context akg_context;

typedef struct akg_function {
    const char *name; /* for messages */
    /* Computes; nothing it calls is recorded. New references into `outputs` (NULL where there is none). An
     * input may be returned: written in place if it is marked dirty, else as a view. */
    akg_status (*forward)(akg_context *context, const akg_argument *arguments, size_t argument_count,
                          akg_tensor **outputs, akg_diagnostics **diagnostics);
    /* One gradient per output comes in; one per tensor among the arguments goes out, as a new reference, in
     * order (tensors of lists each count): NULL for inputs that require none, and only for them, unless an
     * output's gradient was absent. It may have the shape to which the input was broadcast. */
    akg_status (*backward)(akg_context *context, akg_tensor *const *output_gradients,
                           akg_tensor **input_gradients, akg_diagnostics **diagnostics);
    size_t output_count;
    size_t gradient_count; /* how many gradients backward returns; 0: as many as there are tensors */
    /* Backward computes with recorded calls only, so its result can be differentiated again. If false, that
     * is refused wherever backward could have read something that has a history. */
    bool backward_on_tape;
    void *user;
} akg_function;

/*
 * Runs forward, and records it if an input requires a gradient. `function` and its name must live as long as
 * what was recorded. What forward returns comes back as it is, messages included. AKG_ERROR_USAGE, with a
 * message: no tensor among the arguments or none returned, another number of tensors than `gradient_count`, a
 * rule of the functions below broken (even where forward passes over it). On error all entries of `outputs`
 * are NULL.
 */
AKG_API akg_status akg_function_apply(akg_tape *tape, const akg_function *function,
                                      const akg_argument *arguments, size_t argument_count,
                                      akg_tensor **outputs, akg_diagnostics **diagnostics);

AKG_API akg_tape *akg_context_tape(const akg_context *context);
AKG_API const akg_function *akg_context_function(const akg_context *context);
/* Whether a gradient of this tensor, or of tensor number `index` among the arguments, will be (forward) or is
 * (backward) asked for. */
AKG_API bool akg_context_needs_grad(const akg_context *context, const akg_tensor *tensor);
AKG_API bool akg_context_needs_input_grad(const akg_context *context, size_t index);
/* Once, in forward: inputs, outputs or others; entries may be NULL. Tensors that backward reads go this way
 * only: if they are written in the meantime the backward pass is refused, and they are freed as soon as it
 * has passed. */
AKG_API akg_status akg_context_save_for_backward(akg_context *context, akg_tensor *const *tensors,
                                                 size_t count);
/* In backward: what was saved, in that order. Borrowed until backward returns. */
AKG_API akg_status akg_context_saved_tensors(akg_context *context, akg_tensor *const **tensors,
                                             size_t *count);
/* In forward: this input is written in place and returned. */
AKG_API akg_status akg_context_mark_dirty(akg_context *context, akg_tensor *input);
/* In forward: no gradient flows to this output. */
AKG_API akg_status akg_context_mark_non_differentiable(akg_context *context, akg_tensor *output);
/* In forward: whether gradients of outputs that nothing depends on come as zeros (so it is if nothing is
 * said) or as NULL. */
AKG_API akg_status akg_context_set_materialize_grads(akg_context *context, bool materialize);
/* In forward: a number, bool, string or tuple by name, copied. */
AKG_API akg_status akg_context_set_attribute(akg_context *context, const char *name,
                                             const akg_argument *value);
/* NULL if there is none of that name. */
AKG_API const akg_argument *akg_context_attribute(const akg_context *context, const char *name);
/* In forward: anything else; `release`, if not NULL, is called with it when it is no longer needed. */
AKG_API akg_status akg_context_set_data(akg_context *context, void *data, void (*release)(void *data));
AKG_API void *akg_context_data(const akg_context *context);

/* A host function as an operator on tensors. It has no context: backward is given what went through forward.
 */
typedef struct akg_host_operator {
    const char *name; /* for messages */
    size_t input_count, output_count;
    /* New references into `outputs`. An input must not be written. */
    akg_status (*forward)(void *user, akg_tensor *const *inputs, akg_tensor **outputs,
                          akg_diagnostics **diagnostics);
    /* `arguments`: all inputs, all outputs, the gradients of all outputs, in this order, without those
     * skipped. A gradient that is absent is NULL. New references into `input_gradients`, NULL where there is
     * none. The function itself may be NULL: then no gradient flows through the operator. */
    akg_status (*backward)(void *user, akg_tensor *const *arguments, size_t argument_count,
                           akg_tensor **input_gradients, akg_diagnostics **diagnostics);
    /* Positions among inputs and outputs that backward does not read, so that they need not be kept: input i
     * is i, output j is input_count + j. */
    const size_t *skip;
    size_t skip_count;
    void *user;
    /* Says what the outputs will be for such inputs. Recorded graphs need it, which are put down without
     * elements; else it may be NULL. */
    akg_status (*infer)(void *user, const akg_description *inputs, akg_description *outputs);
} akg_host_operator;

/* Calls it, and records it if an input requires a gradient. `host_operator` must live as long as what was
 * recorded, a graph too. In a graph its functions run at each run, on tensors that are theirs until they
 * return; what they give is copied, gradients that they leave NULL are zeros. AKG_ERROR_USAGE, with a
 * message: a skip list that names what is neither input nor output. On error all entries of `outputs` are
 * NULL. */
AKG_API akg_status akg_host_operator_call(akg_tape *tape, const akg_host_operator *host_operator,
                                          akg_tensor *const *inputs, akg_tensor **outputs,
                                          akg_diagnostics **diagnostics);

#ifdef __cplusplus
}
#endif

#endif
