/*
 * report_json.c: the certificate as JSON, all of it. Its structure is documented in docs/certificate.md;
 * members may be added, none changes. See report_private.h.
 */
#include "report_private.h"

#include <string.h>

/* ---- pieces --------------------------------------------------------------------------------- */

static const char *truth(bool value)
{
    return value ? "true" : "false";
}

/* An opening brace or comma, then "name": */
static void put_member(struct report *report, const char *name)
{
    struct text *out = &report->out;
    char last = out->length ? out->data[out->length - 1] : '{';

    text_format(out, "%s\"%s\": ", last == '{' ? "" : ", ", name);
}

static void put_string(struct report *report, const char *name, const char *value)
{
    put_member(report, name);
    text_json(&report->out, value);
}

static void put_bool(struct report *report, const char *name, bool value)
{
    put_member(report, name);
    text_string(&report->out, truth(value));
}

/* "null" where there is none. */
static void put_expr(struct report *report, const struct ir_expr *expr)
{
    if (!expr) {
        text_string(&report->out, "null");
        return;
    }
    struct text saved = report_json_begin(report);
    report_put_expr(report, expr, 0);
    report_json_end(report, saved);
}

static void put_exprs(struct report *report, const char *name, struct ir_expr *const *items, int count)
{
    put_member(report, name);
    text_char(&report->out, '[');
    for (int k = 0; k < count; k++) {
        text_string(&report->out, k ? ", " : "");
        put_expr(report, items[k]);
    }
    text_char(&report->out, ']');
}

static void put_place(struct report *report, struct span span)
{
    put_member(report, "line");
    text_format(&report->out, "%d", span.line);
    put_member(report, "column");
    text_format(&report->out, "%d", span.column);
}

static void put_element(struct report *report, const struct ir_access *access)
{
    put_member(report, "element");
    struct text saved = report_json_begin(report);
    report_put_access(report, access);
    report_json_end(report, saved);
}

/* {"line": 4, "column": 9, "element": "y[i]"} */
static void put_use(struct report *report, struct span span, const struct ir_access *access)
{
    text_char(&report->out, '{');
    put_place(report, span);
    put_element(report, access);
    text_char(&report->out, '}');
}

/* ---- witnesses ---------------------------------------------------------------------------------- */

static void put_dim_name(struct report *report, const struct ir_symbol *dim)
{
    struct ir_expr expr = {.kind = IR_SYMBOL, .symbol = (struct ir_symbol *)dim};

    put_expr(report, &expr);
    text_string(&report->out, ": ");
}

/* The members "dims", "attributes" and "inputs". */
static void put_call(struct report *report, const struct certificate_call *call)
{
    static const char *const fills[CERTIFICATE_FILLS] = {"zeros", "ones", "series"};
    const struct ir_kernel *kernel = report->certificate->kernel;
    struct text *out = &report->out;

    put_member(report, "dims");
    text_char(out, '{');
    for (int k = 0; k < kernel->dims.count; k++) {
        text_string(out, k ? ", " : "");
        put_dim_name(report, kernel->dims.items[k]);
        text_format(out, "%lld", (long long)call->dims[k]);
    }
    text_char(out, '}');
    put_member(report, "attributes");
    text_char(out, '{');
    for (int k = 0; k < kernel->attributes.count; k++) {
        const struct ir_symbol *symbol = kernel->attributes.items[k];
        put_member(report, symbol->name);
        if (dtype_is_float(symbol->dtype))
            text_double(out, call->scalars[k].d);
        else
            text_format(out, "%lld", (long long)call->scalars[k].i);
    }
    text_char(out, '}');
    put_string(report, "inputs", fills[call->fill]);
}

static void put_witness(struct report *report, const char *name, const struct ir_buffer *buffer,
                        const struct certificate_witness *witness)
{
    put_member(report, name);
    if (!witness->call) {
        text_string(&report->out, "null");
        return;
    }
    text_char(&report->out, '{');
    put_member(report, "element");
    struct text saved = report_json_begin(report);
    report_put_element(report, buffer, witness->index);
    report_json_end(report, saved);
    put_call(report, witness->call);
    text_char(&report->out, '}');
}

/* ---- bounds --------------------------------------------------------------------------------------- */

static void put_axis(struct report *report, const struct certificate_index *row)
{
    static const char *const verdicts[] = {[IR_CHECK_ELEMENT] = "element",
                                           [IR_CHECK_PROVED] = "proved",
                                           [IR_CHECK_PRECONDITION] = "precondition"};
    struct text *out = &report->out;

    text_char(out, '{');
    put_string(report, "verdict", verdicts[row->check]);
    put_member(report, "index");
    put_expr(report, row->index);
    put_member(report, "extent");
    put_expr(report, row->extent);
    put_member(report, "least");
    put_expr(report, row->low.bound);
    put_member(report, "most");
    put_expr(report, row->high.bound);
    put_exprs(report, "least_since", row->low.facts.items, row->low.facts.count);
    put_exprs(report, "most_since", row->high.facts.items, row->high.facts.count);
    put_member(report, "requires");
    text_char(out, '[');
    for (int k = 0; k < row->preconditions.count; k++)
        text_format(out, "%s%d", k ? ", " : "", row->preconditions.items[k]);
    text_char(out, ']');
    put_exprs(report, "depends_on", row->data.items, row->data.count);
    put_exprs(report, "executed_by", row->control.items, row->control.count);
    text_char(out, '}');
}

static void put_access(struct report *report, const struct certificate_access *row)
{
    struct text *out = &report->out;

    text_char(out, '{');
    put_place(report, row->span);
    put_string(report, "access", row->load ? "read" : "write");
    put_element(report, row->access);
    put_member(report, "axes");
    text_char(out, '[');
    for (int k = 0; k < row->access->buffer->rank; k++) {
        text_string(out, k ? ", " : "");
        put_axis(report, &row->indices[k]);
    }
    text_string(out, "]}");
}

/* ---- initialisation ---------------------------------------------------------------------------------- */

static void put_boxes(struct report *report, const struct certificate_buffer *row)
{
    struct text *out = &report->out;

    put_member(report, "written");
    text_char(out, '[');
    for (int k = 0; k < row->gap->written.count; k++) {
        const struct analysis_box *box = &row->gap->written.items[k];
        text_string(out, k ? ", {" : "{");
        put_exprs(report, "low", box->low, row->buffer->rank);
        put_exprs(report, "high", box->high, row->buffer->rank);
        text_char(out, '}');
    }
    text_char(out, ']');
}

static void put_reads(struct report *report, const struct ir_buffer *buffer)
{
    const struct certificate *certificate = report->certificate;
    struct text *out = &report->out;
    int listed = 0;

    put_member(report, "reads");
    text_char(out, '[');
    for (int k = 0; k < certificate->accesses.count; k++) {
        const struct certificate_access *row = &certificate->accesses.items[k];
        if (!row->tracked || row->access->buffer != buffer)
            continue;
        text_string(out, listed++ ? ", {" : "{");
        put_place(report, row->span);
        put_element(report, row->access);
        put_bool(report, "proved", row->written);
        put_witness(report, "unwritten", buffer, &row->unwritten);
        text_char(out, '}');
    }
    text_char(out, ']');
}

static void put_buffer(struct report *report, const struct certificate_buffer *row)
{
    static const char *const writes[] = {[CERTIFICATE_ONCE] = "once",
                                         [CERTIFICATE_SEVERAL] = "several",
                                         [CERTIFICATE_UNDECIDED] = "undecided"};
    bool output = row->buffer->role == IR_OUTPUT;

    text_char(&report->out, '{');
    put_string(report, "name", row->buffer->name);
    put_string(report, "role", output ? "output" : "temporary");
    put_bool(report, "cleared", row->buffer->clear);
    put_member(report, "complete");
    text_string(&report->out, output ? truth(row->complete) : "null");
    put_string(report, "writes", writes[row->most]);
    put_witness(report, "twice", row->buffer, &row->twice);
    put_witness(report, "missing", row->buffer, &row->missing);
    put_boxes(report, row);
    put_reads(report, row->buffer);
    text_char(&report->out, '}');
}

/* ---- loops ------------------------------------------------------------------------------------------- */

static void put_directions(struct report *report, const struct dependence *item)
{
    static const char *const directions[] = {"none", "<", "=", "<=", ">", "!=", ">=", "*"};
    struct text *out = &report->out;

    put_member(report, "vector");
    text_char(out, '[');
    for (int k = 0; k < item->depth; k++)
        if (item->has_distance[k])
            text_format(out, "%s%lld", k ? ", " : "", (long long)item->distance[k]);
        else
            text_format(out, "%s\"%s\"", k ? ", " : "", directions[item->directions[k]]);
    text_char(out, ']');
}

static void put_dependence(struct report *report, int number)
{
    static const char *const kinds[] = {"flow", "anti", "output"};
    const struct dependences *dependences = report->certificate->dependences;

    put_member(report, "dependence");
    if (number < 0) {
        text_string(&report->out, "null");
        return;
    }
    const struct dependence *item = &dependences->items.items[number];
    const struct dependence_access *source = &dependences->accesses.items[item->source],
                                   *sink = &dependences->accesses.items[item->sink];
    text_char(&report->out, '{');
    put_string(report, "kind", kinds[item->kind]);
    put_member(report, "source");
    put_use(report, source->span, source->access);
    put_member(report, "sink");
    put_use(report, sink->span, sink->access);
    put_directions(report, item);
    put_bool(report, "exact", item->exact);
    text_char(&report->out, '}');
}

static void put_reductions(struct report *report, const struct dependence_loop *loop)
{
    const struct dependences *dependences = report->certificate->dependences;
    struct report_reduction reduction = {.next = 0};
    struct text *out = &report->out;
    int listed = 0;

    put_member(report, "reductions");
    text_char(out, '[');
    while (report_next_reduction(dependences, loop, &reduction)) {
        text_string(out, listed++ ? ", {" : "{");
        put_member(report, "of");
        struct text saved = report_json_begin(report);
        report_put_reduced(report, &reduction);
        report_json_end(report, saved);
        put_string(report, "by", operation_table[reduction.operation].text);
        text_char(out, '}');
    }
    text_char(out, ']');
}

static void put_clash(struct report *report, const struct certificate_loop *loop)
{
    struct text *out = &report->out;

    put_member(report, "clash");
    if (!loop->clashes) {
        text_string(out, "null");
        return;
    }
    text_char(out, '{');
    put_member(report, "iterations");
    text_format(out, "[%lld, %lld]", (long long)loop->uses[0].iteration, (long long)loop->uses[1].iteration);
    put_member(report, "of");
    struct text saved = report_json_begin(report);
    report_put_clashing(report, loop);
    report_json_end(report, saved);
    put_call(report, loop->call);
    text_char(out, '}');
}

static void put_loop(struct report *report, const struct certificate_loop *loop)
{
    static const char *const verdicts[] = {[DEPENDENCE_PARALLEL] = "parallel",
                                           [DEPENDENCE_ACCUMULATES] = "reduction",
                                           [DEPENDENCE_SERIAL] = "serial",
                                           [DEPENDENCE_UNDECIDED] = "undecided"};
    const struct dependence_loop *row = loop->row;
    const struct dependences *dependences = report->certificate->dependences;

    text_char(&report->out, '{');
    put_place(report, row->stmt->span);
    put_string(report, "loop", report_loop_name(row->stmt));
    put_member(report, "depth");
    text_format(&report->out, "%d", row->depth);
    put_string(report, "verdict", verdicts[loop->verdict]);
    put_dependence(report, row->dependence);
    put_member(report, "scalar");
    if (row->scalar >= 0)
        text_json(&report->out, report_label(dependences->scalars.items[row->scalar].symbol));
    else
        text_string(&report->out, "null");
    put_bool(report, "leaves", row->leaves);
    put_bool(report, "incomplete", row->incomplete);
    put_reductions(report, row);
    put_clash(report, loop);
    text_char(&report->out, '}');
}

/* ---- all ----------------------------------------------------------------------------------------------- */

void report_put_json(struct report *report)
{
    const struct certificate *certificate = report->certificate;
    struct text *out = &report->out;

    text_char(out, '{');
    put_member(report, "bounds");
    text_char(out, '[');
    for (int k = 0; k < certificate->accesses.count; k++) {
        text_string(out, k ? ", " : "");
        put_access(report, &certificate->accesses.items[k]);
    }
    text_char(out, ']');
    put_member(report, "initialisation");
    text_char(out, '[');
    for (int k = 0; k < certificate->buffers.count; k++) {
        text_string(out, k ? ", " : "");
        put_buffer(report, &certificate->buffers.items[k]);
    }
    text_char(out, ']');
    put_member(report, "loops");
    text_char(out, '[');
    for (int k = 0; k < certificate->loops.count; k++) {
        text_string(out, k ? ", " : "");
        put_loop(report, &certificate->loops.items[k]);
    }
    text_string(out, "]}");
}
