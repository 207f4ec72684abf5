/*
 * oracle.c: compiles a program, makes its calls, and looks at everything that can contradict something else.
 */
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/certify.h"
#include "oracle_passes.h"

struct oracle {
    const struct oracle_request *request;
    struct text *detail;
    akg_module *module;
    akg_kernel *kernel;
    const struct inputs *arguments;
    uint64_t seed;          /* of the call */
    struct certify certify; /* of `certified`, or nothing while that is NULL */
    const struct jit_instance *certified;
    enum oracle_fault fault;
};

const char *oracle_fault_name(enum oracle_fault fault)
{
    static const char *const names[ORACLE_FAULTS] = {
#define X(id, name) name,
        ORACLE_FAULT_TABLE(X)
#undef X
    };

    return names[fault];
}

static void oracle_running(struct oracle *oracle, int running)
{
    if (oracle->request->running)
        *oracle->request->running = running;
}

/* The first fault is kept. */
static void oracle_tell(struct oracle *oracle, enum oracle_fault fault, const char *what,
                        akg_diagnostics *diagnostics)
{
    char *shown = NULL;

    if (oracle->fault)
        return;
    oracle->fault = fault;
    text_format(oracle->detail, "%s: %s\n", oracle_fault_name(fault), what);
    if (diagnostics && akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &shown) == AKG_OK) {
        text_string(oracle->detail, shown);
        akg_free(shown);
    }
}

/* ---- diagnostics -------------------------------------------------------------------------------- */

static const akg_diagnostic *oracle_first_error(const akg_diagnostics *diagnostics)
{
    const akg_diagnostic *row;

    for (size_t i = 0; (row = akg_diagnostics_at(diagnostics, i)) != NULL; i++)
        if (row->severity == AKG_SEVERITY_ERROR)
            return row;
    return NULL;
}

static int oracle_lines(const struct oracle_request *request)
{
    int lines = 1;

    for (size_t i = 0; i < request->length; i++)
        lines += request->text[i] == '\n' ||
                 (request->text[i] == '\r' && !(i + 1 < request->length && request->text[i + 1] == '\n'));
    return lines;
}

/* Each has its place within the text, and can be shown in every form. */
static void oracle_check_diagnostics(struct oracle *oracle, akg_diagnostics *diagnostics)
{
    static const akg_format formats[] = {AKG_FORMAT_TEXT, AKG_FORMAT_COLOR, AKG_FORMAT_JSON,
                                         AKG_FORMAT_SARIF};
    int lines = oracle_lines(oracle->request);
    const akg_diagnostic *row;
    char *shown;

    for (size_t i = 0; (row = akg_diagnostics_at(diagnostics, i)) != NULL; i++) {
        if (strcmp(row->name, "out-of-memory") == 0)
            continue;
        if (row->line < 1 || row->line > lines || row->column < 1 || row->end_line < row->line ||
            row->end_line > lines + 1)
            oracle_tell(oracle, ORACLE_NO_PLACE, row->name, diagnostics);
        for (const char *at = row->message; *at; at++)
            if (*at == '\n')
                oracle_tell(oracle, ORACLE_NO_PLACE, "a newline in a message", diagnostics);
    }
    for (size_t i = 0; diagnostics && i < sizeof formats / sizeof *formats; i++)
        if (akg_diagnostics_render(diagnostics, formats[i], &shown) == AKG_OK)
            akg_free(shown);
}

static void oracle_check_status(struct oracle *oracle, akg_status status, akg_diagnostics *diagnostics)
{
    const akg_diagnostic *error = oracle_first_error(diagnostics);

    if (status == AKG_ERROR_INTERNAL || (error && strcmp(error->name, "internal") == 0))
        oracle_tell(oracle, ORACLE_INTERNAL, error ? error->message : "without a message", diagnostics);
    if (status != AKG_OK && status != AKG_ERROR_MEMORY && !error)
        oracle_tell(oracle, ORACLE_NO_PLACE, akg_status_text(status), diagnostics);
    oracle_check_diagnostics(oracle, diagnostics);
}

/* ---- a call through the public interface ------------------------------------------------------------ */

struct oracle_call {
    akg_status status;
    akg_diagnostics *diagnostics;
    struct inputs arguments;
    akg_tensor **outputs;
    size_t count;
};

static void oracle_call_free(struct oracle_call *call)
{
    for (size_t i = 0; call->outputs && i < call->count; i++)
        akg_tensor_release(call->outputs[i]);
    free(call->outputs);
    inputs_free(&call->arguments);
    akg_diagnostics_free(call->diagnostics);
}

static bool oracle_call_make(struct oracle *oracle, struct oracle_call *call, jit_backend backend)
{
    akg_call_options options = {.backend = backend};

    *call = (struct oracle_call){.count = akg_kernel_output_count(oracle->kernel)};
    call->outputs = calloc(call->count + 1, sizeof *call->outputs);
    if (!call->outputs || !inputs_copy(oracle->arguments, &call->arguments))
        return false;
    oracle_running(oracle, 1);
    call->status = akg_kernel_call(oracle->kernel, call->arguments.items, (size_t)call->arguments.count,
                                   &options, call->outputs, &call->diagnostics);
    oracle_running(oracle, 0);
    oracle_check_status(oracle, call->status, call->diagnostics);
    return call->status != AKG_ERROR_MEMORY;
}

static bool oracle_same_messages(akg_diagnostics *a, akg_diagnostics *b)
{
    char *x = NULL, *y = NULL;
    bool same = true;

    if (!a || !b)
        return !a && !b;
    if (akg_diagnostics_render(a, AKG_FORMAT_TEXT, &x) == AKG_OK &&
        akg_diagnostics_render(b, AKG_FORMAT_TEXT, &y) == AKG_OK)
        same = strcmp(x, y) == 0;
    akg_free(x);
    akg_free(y);
    return same;
}

static bool oracle_same_arguments(const struct inputs *a, const struct inputs *b)
{
    for (int i = 0; i < a->count; i++)
        if (a->items[i].kind == AKG_ARGUMENT_TENSOR &&
            !oracle_same_elements(a->items[i].as.tensor, b->items[i].as.tensor))
            return false;
    return true;
}

/* Stopped while it ran, so that what was written before is anybody's guess. */
static bool oracle_call_stopped(const struct oracle_call *call)
{
    static const char *const stops[] = {"index-out-of-bounds", "division-by-zero", "call-assert"};

    for (size_t i = 0; call->status != AKG_OK && call->diagnostics && i < sizeof stops / sizeof *stops; i++)
        if (strcmp(oracle_first_error(call->diagnostics)->name, stops[i]) == 0)
            return true;
    return false;
}

static void oracle_compare_calls(struct oracle *oracle, struct oracle_call *code,
                                 struct oracle_call *reference)
{
    if (code->status != reference->status ||
        !oracle_same_messages(code->diagnostics, reference->diagnostics)) {
        oracle_tell(oracle, ORACLE_STATUS, akg_status_text(reference->status), reference->diagnostics);
        return;
    }
    for (size_t i = 0; i < code->count && code->status == AKG_OK; i++)
        if (!oracle_same_elements(code->outputs[i], reference->outputs[i]))
            oracle_tell(oracle, ORACLE_RESULT, akg_kernel_output_name(oracle->kernel, i), NULL);
    if (!oracle_call_stopped(reference) && !oracle_same_arguments(&code->arguments, &reference->arguments))
        oracle_tell(oracle, ORACLE_PARTIAL, "inputs", code->diagnostics);
}

/* A program that is right by construction is refused only for what depends on the call, or (see below) for
 * what would stop each one. */
static void oracle_check_refusal(struct oracle *oracle, const struct oracle_call *call)
{
    static const char *const good[] = {"call-bounds",  "index-out-of-bounds", "division-by-zero",
                                       "call-assert",  "call-shape",          "call-size",
                                       "call-alias",   "assert-false",        "constant-division-by-zero",
                                       "call-overflow"};
    const akg_diagnostic *error = oracle_first_error(call->diagnostics);

    if (call->status == AKG_OK || !error || !oracle->request->must_compile)
        return;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (strcmp(error->name, good[i]) == 0)
            return;
    oracle_tell(oracle, ORACLE_REFUSED, error->message, call->diagnostics);
}

/* ---- certificates -------------------------------------------------------------------------------------- */

struct oracle_site {
    int number;
    const struct ir_access *access;
    const struct ir_expr *division;
    struct oracle_counts *counts;
};

static void oracle_site_access(struct oracle_site *site, const struct ir_access *access)
{
    if (access->site == site->number)
        site->access = access;
    for (int axis = 0; site->counts && axis < access->buffer->rank; axis++) {
        site->counts->proved += access->checks[axis] == IR_CHECK_PROVED;
        site->counts->preconditions += access->checks[axis] == IR_CHECK_PRECONDITION;
        site->counts->elements += access->checks[axis] == IR_CHECK_ELEMENT;
    }
}

static bool oracle_site_visit(struct ir_expr *expr, void *context)
{
    struct oracle_site *site = context;

    if (expr->kind == IR_LOAD)
        oracle_site_access(site, &expr->access);
    if (expr->kind == IR_OPERATION && expr->site == site->number)
        site->division = expr;
    return true;
}

static void oracle_find_site(struct oracle_site *site, struct ir_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_STORE)
            oracle_site_access(site, &stmt->access);
        ir_stmt_expressions(stmt, oracle_site_visit, site);
        oracle_find_site(site, stmt->body);
        oracle_find_site(site, stmt->otherwise);
    }
}

/* What the analyses said of the place where a call stopped that its preconditions had let pass. */
static void oracle_check_trap(struct oracle *oracle, const struct oracle_run *run)
{
    struct oracle_site site = {.number = (int)run->trap.site};
    enum ir_check check;

    if (!run->stopped || run->trap.site < 1)
        return;
    oracle_find_site(&site, run->instance->kernel->body);
    if (site.division && !site.division->checked)
        oracle_tell(oracle, ORACLE_DIVISION, "a division that is not checked", NULL);
    if (!site.access || run->trap.axis < 0 || run->trap.axis >= site.access->buffer->rank)
        return;
    check = site.access->checks[run->trap.axis];
    if (check != IR_CHECK_ELEMENT)
        oracle_tell(oracle, check == IR_CHECK_PROVED ? ORACLE_PROVED : ORACLE_PRECONDITION, "an access",
                    NULL);
    if (check != IR_CHECK_ELEMENT)
        text_format(oracle->detail, "%d:%d: index %lld of '%s', axis %lld, which has %lld elements\n",
                    run->instance->sites.rows.items[run->trap.site - 1].span.line,
                    run->instance->sites.rows.items[run->trap.site - 1].span.column,
                    (long long)run->trap.index, site.access->buffer->name, (long long)run->trap.axis,
                    (long long)run->trap.extent);
}

static void oracle_compare_code(struct oracle *oracle, const struct oracle_run *run,
                                const struct jit_instance *compiled)
{
    struct oracle_run code;

    if (oracle_run_prepare(&code, compiled, oracle->kernel, oracle->arguments, 0x5a)) {
        oracle_running(oracle, 1);
        oracle_run_execute(&code);
        oracle_running(oracle, 0);
        if (!oracle_run_same_trap(&code, run))
            oracle_tell(oracle, ORACLE_TRAP, "another place, index or iteration", NULL);
        else if (!run->stopped && !oracle_run_same_memory(&code, run, false))
            oracle_tell(oracle, ORACLE_RESULT, "fresh memory", NULL);
    }
    oracle_run_free(&code);
}

static void oracle_check_passes(struct oracle *oracle, const struct jit_instance *instance)
{
    struct text why;

    text_init(&why);
    oracle_running(oracle, 1);
    if (!oracle->fault &&
        !oracle_passes_agree(instance, oracle->kernel, oracle->arguments, oracle->seed, &why)) {
        oracle_tell(oracle, ORACLE_PASSES, "the kernel does something else", NULL);
        text_append(oracle->detail, why.data ? why.data : "", why.length);
    }
    oracle_running(oracle, 0);
    text_free(&why);
}

static void oracle_check_accepted(struct oracle *oracle, struct oracle_run *run,
                                  const struct jit_instance *compiled)
{
    struct oracle_run other;

    oracle_check_trap(oracle, run);
    if (oracle_run_prepare(&other, run->instance, oracle->kernel, oracle->arguments, 0xff)) {
        oracle_running(oracle, 1);
        oracle_run_execute(&other);
        oracle_running(oracle, 0);
        if (!oracle_run_same_trap(&other, run) || !oracle_run_same_memory(&other, run, run->stopped))
            oracle_tell(oracle, ORACLE_UNINITIALISED, "results hang on what fresh memory holds", NULL);
    }
    oracle_run_free(&other);
    if (compiled && !oracle->fault)
        oracle_compare_code(oracle, run, compiled);
    oracle_check_passes(oracle, run->instance);
}

/* The kinds of claim that certify.h tells apart: the first word. */
static void oracle_tell_claims(struct oracle *oracle, const struct text *message)
{
    char kind[32];

    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(message->data, ":"), message->data);
    oracle_tell(oracle, ORACLE_CERTIFICATE, kind, NULL);
    text_string(oracle->detail, message->data);
}

static void oracle_certify_end(struct oracle *oracle)
{
    if (oracle->certified)
        certify_end(&oracle->certify);
    oracle->certified = NULL;
}

/* The instance is nobody else's, and the certificate changes nothing that runs. */
static void oracle_certify(struct oracle *oracle, struct oracle_run *run)
{
    struct jit_frame frame = oracle_run_frame(run);
    struct text message;

    text_init(&message);
    oracle_running(oracle, 1);
    if (oracle->certified != run->instance) {
        oracle_certify_end(oracle);
        if (certify_begin(&oracle->certify, (struct ir_kernel *)run->instance->kernel)) {
            oracle->certified = run->instance;
            certify_witnesses(&oracle->certify, &message);
        }
    }
    if (oracle->certified)
        certify_call(&oracle->certify, &frame, &message);
    oracle_running(oracle, 0);
    if (message.length)
        oracle_tell_claims(oracle, &message);
    text_free(&message);
}

static const struct jit_instance *oracle_instance(struct oracle *oracle, jit_backend backend)
{
    struct call_binding binding;
    const struct jit_instance *instance = NULL;

    if (call_begin(&binding, oracle->kernel) &&
        call_bind(&binding, oracle->arguments->items, (size_t)oracle->arguments->count, NULL) &&
        call_make_key(&binding, backend, false, NULL))
        instance = jit_find_instance(oracle->kernel, binding.hash, binding.key, binding.key_length);
    call_end(&binding);
    return instance;
}

static void oracle_check_certificates(struct oracle *oracle, akg_status status)
{
    const struct jit_instance *instance = oracle_instance(oracle, JIT_BACKEND_INTERPRETER);
    const struct jit_instance *compiled = oracle_instance(oracle, JIT_BACKEND_TCC);
    const struct ir_precondition *refusal;
    struct oracle_counts *counts = oracle->request->counts;
    struct oracle_run run;
    bool shapes;

    if (!instance)
        return;
    if (oracle_run_prepare(&run, instance, oracle->kernel, oracle->arguments, 0x00)) {
        struct oracle_site all = {.number = -1, .counts = counts};
        refusal = oracle_run_refusal(&run, &shapes);
        if (refusal && status == AKG_OK)
            oracle_tell(oracle, ORACLE_STATUS, "a call ran that a precondition refuses", NULL);
        if (shapes && oracle->request->certify)
            oracle_certify(oracle, &run);
        if (shapes && (!refusal || oracle_run_must_stop(&run, refusal))) {
            oracle_running(oracle, 1);
            oracle_run_execute(&run);
            oracle_running(oracle, 0);
            if (!refusal)
                oracle_check_accepted(oracle, &run, compiled);
            else if (!run.stopped)
                oracle_tell(oracle, ORACLE_INEXACT, "nothing is wrong with the call", NULL);
        }
        if (counts) {
            oracle_find_site(&all, instance->kernel->body);
            counts->calls++;
            counts->refused += refusal != NULL || !shapes;
            counts->trapped += !refusal && shapes && run.stopped;
            counts->ran += status == AKG_OK;
        }
    }
    oracle_run_free(&run);
}

/* ---- programs -------------------------------------------------------------------------------------------
 */

/* What is below the interface is not told that two arguments are one. */
static bool oracle_is_alias(const struct oracle_call *call)
{
    const akg_diagnostic *error = oracle_first_error(call->diagnostics);

    return error && strcmp(error->name, "call-alias") == 0;
}

static void oracle_check_call(struct oracle *oracle)
{
    struct oracle_call code = {0}, reference = {0};

    if (oracle_call_make(oracle, &code, JIT_BACKEND_TCC) &&
        oracle_call_make(oracle, &reference, JIT_BACKEND_INTERPRETER)) {
        oracle_check_refusal(oracle, &reference);
        if (!oracle->fault && !oracle_is_alias(&reference))
            oracle_check_certificates(oracle, reference.status);
        oracle_compare_calls(oracle, &code, &reference);
        if (reference.diagnostics &&
            strcmp(oracle_first_error(reference.diagnostics)->name, "call-bounds") == 0 &&
            !oracle_same_arguments(oracle->arguments, &reference.arguments))
            oracle_tell(oracle, ORACLE_PARTIAL, "a refused call wrote", NULL);
    }
    oracle_call_free(&code);
    oracle_call_free(&reference);
}

/* Lines that begin with #@. Returns how many there were. */
static int oracle_check_calls(struct oracle *oracle)
{
    const char *at = oracle->request->text, *end = at + oracle->request->length;
    struct inputs arguments;
    int count = 0;

    for (; at < end && !oracle->fault; at++) {
        const char *line = at, *stop;
        char copy[512], name[64];
        unsigned long long seed;
        int used;

        stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop : end;
        if (at - line < 4 || at - line >= (long)sizeof copy || memcmp(line, "#@ ", 3) != 0)
            continue;
        memcpy(copy, line, (size_t)(at - line));
        copy[at - line] = 0;
        if (sscanf(copy, "#@ %63s %llu%n", name, &seed, &used) != 2)
            continue;
        count++;
        oracle->kernel = akg_module_kernel(oracle->module, name);
        if (!oracle->kernel || !inputs_read(&arguments, copy + used, seed))
            continue;
        oracle->arguments = &arguments;
        oracle->seed = seed;
        oracle_check_call(oracle);
        inputs_free(&arguments);
    }
    return count;
}

static void oracle_guess_calls(struct oracle *oracle)
{
    for (size_t i = 0; (oracle->kernel = akg_module_kernel_at(oracle->module, i)) != NULL && !oracle->fault;
         i++) {
        struct inputs arguments;
        char *report = NULL;
        if (akg_kernel_report(oracle->kernel, AKG_FORMAT_TEXT, &report) == AKG_OK)
            akg_free(report);
        if (!inputs_guess(&arguments, oracle->kernel, i))
            continue;
        oracle->arguments = &arguments;
        oracle_check_call(oracle);
        inputs_free(&arguments);
    }
}

enum oracle_fault oracle_check(const struct oracle_request *request, struct text *detail)
{
    struct oracle oracle = {.request = request, .detail = detail};
    jit_source source = {.name = "fuzz.akg", .text = request->text, .length = request->length};
    akg_diagnostics *diagnostics = NULL;
    jit_options options = {.strict = true, /* to the bit */
                           .any_shape = request->length % 2};
    akg_status status = jit_compile(&source, &options, &oracle.module, &diagnostics);

    oracle_check_status(&oracle, status, diagnostics);
    if (request->counts) {
        request->counts->programs++;
        request->counts->compiled += status == AKG_OK;
    }
    if (status != AKG_OK && request->must_compile) {
        const akg_diagnostic *error = oracle_first_error(diagnostics);
        /* wild indices may turn out to miss their axis in every call, and `n // (v - v)` stops each one */
        if (!error || (strcmp(error->name, "impossible-index") != 0 &&
                       strcmp(error->name, "constant-division-by-zero") != 0))
            oracle_tell(&oracle, ORACLE_REFUSED, error ? error->message : "", diagnostics);
    }
    if (oracle.module && !request->only_compile && !oracle.fault && oracle_check_calls(&oracle) == 0)
        oracle_guess_calls(&oracle);
    oracle_certify_end(&oracle);
    akg_diagnostics_free(diagnostics);
    akg_module_release(oracle.module);
    return oracle.fault;
}
