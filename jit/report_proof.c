/*
 * report_proof.c: the certificate for people, as a line or in full. See report_private.h.
 *
 * Consumes a certificate and the text of the program; decides nothing. Accesses that come from one place of
 * the text, since a function was called twice or a loop was unrolled, and of which the same is to be told,
 * are told once.
 */
#include "report_private.h"

#include <string.h>

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

/* ---- witnesses --------------------------------------------------------------------------- */

static bool visit_data(struct ir_expr *expr, void *found)
{
    *(bool *)found |= expr->kind == IR_LOAD;
    return !*(bool *)found;
}

/* The same of its indices alone. */
static bool visit_indices(struct ir_expr *expr, void *found)
{
    for (int k = 0; expr->kind == IR_LOAD && k < expr->access.buffer->rank; k++)
        ir_expr_walk(expr->access.indices[k], visit_data, found);
    return !*(bool *)found;
}

static bool stmt_depends_on_data(const struct ir_stmt *stmt)
{
    bool found = false;

    ir_stmt_expressions((struct ir_stmt *)stmt, visit_indices, &found);
    for (int k = 0; stmt->kind == IR_STORE && k < stmt->access.buffer->rank; k++)
        ir_expr_walk(stmt->access.indices[k], visit_data, &found);
    if (stmt->kind == IR_FOR) {
        ir_expr_walk(stmt->low, visit_data, &found);
        ir_expr_walk(stmt->high, visit_data, &found);
    }
    if (stmt->kind != IR_STORE && stmt->value && !dtype_is_float(stmt->value->dtype))
        ir_expr_walk(stmt->value, visit_data, &found);
    return found;
}

/* Whether what is executed, or an index, hangs on what tensors hold. */
static bool depends_on_data(const struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt_depends_on_data(stmt) || depends_on_data(stmt->body) || depends_on_data(stmt->otherwise))
            return true;
    return false;
}

/* "N = 3, M = 4 and inputs of ones" */
static void put_call(struct report *report, const struct certificate_call *call)
{
    static const char *const fills[CERTIFICATE_FILLS] = {"zeros", "ones", "0, 1, 2, 0, 1, 2, ..."};
    const struct ir_kernel *kernel = report->certificate->kernel;
    struct text *out = &report->out;
    int listed = 0;

    for (int k = 0; k < kernel->dims.count; k++) {
        struct ir_expr dim = {.kind = IR_SYMBOL, .symbol = kernel->dims.items[k]};
        text_string(out, listed++ ? ", " : "");
        report_put_expr(report, &dim, 0);
        text_format(out, " = %lld", (long long)call->dims[k]);
    }
    for (int k = 0; k < kernel->attributes.count; k++) {
        const struct ir_symbol *symbol = kernel->attributes.items[k];
        text_format(out, "%s%s = ", listed++ ? ", " : "", symbol->name);
        if (dtype_is_float(symbol->dtype))
            text_double(out, call->scalars[k].d);
        else
            text_format(out, "%lld", (long long)call->scalars[k].i);
    }
    if (depends_on_data(kernel->body))
        text_format(out, "%sinputs of %s", listed ? " and " : "", fills[call->fill]);
    else if (!listed)
        text_string(out, "any inputs");
}

/* ---- the summary ----------------------------------------------------------------------------- */

/* The weakest of its axes. */
static enum ir_check access_check(const struct certificate_access *row)
{
    enum ir_check check = IR_CHECK_PROVED;

    for (int k = 0; k < row->access->buffer->rank; k++)
        if (row->indices[k].check == IR_CHECK_ELEMENT)
            return IR_CHECK_ELEMENT;
        else if (row->indices[k].check == IR_CHECK_PRECONDITION)
            check = IR_CHECK_PRECONDITION;
    return check;
}

static void summarise_bounds(struct report *report)
{
    static const enum ir_check order[] = {IR_CHECK_PROVED, IR_CHECK_PRECONDITION, IR_CHECK_ELEMENT};
    static const char *const names[] = {[IR_CHECK_PROVED] = "proved",
                                        [IR_CHECK_PRECONDITION] = "by precondition",
                                        [IR_CHECK_ELEMENT] = "tested per element"};
    const struct certificate *certificate = report->certificate;
    int counts[3] = {0}, listed = 0;

    for (int k = 0; k < certificate->accesses.count; k++)
        counts[access_check(&certificate->accesses.items[k])]++;
    for (int k = 0; k < 3; k++)
        if (counts[order[k]])
            text_format(&report->out, "%s%d %s", listed++ ? ", " : "bounds: ", counts[order[k]],
                        names[order[k]]);
    if (!listed)
        text_string(&report->out, "bounds: no accesses");
}

static void summarise_buffers(struct report *report)
{
    const struct certificate *certificate = report->certificate;
    int cleared = 0, left_out = 0;

    for (int k = 0; k < certificate->buffers.count; k++) {
        const struct ir_buffer *buffer = certificate->buffers.items[k].buffer;
        if (!buffer->clear)
            continue;
        if (cleared++ < 4)
            text_format(&report->out, "%s%s", cleared == 1 ? "; cleared first: " : ", ", buffer->name);
        else
            left_out++;
    }
    if (left_out)
        text_format(&report->out, " and %d more", left_out);
}

/* Loops of one verdict, each name once. */
static void summarise_loops(struct report *report, enum dependence_verdict verdict, const char *text,
                            int *listed)
{
    const struct certificate *certificate = report->certificate;
    int names = 0, left_out = 0;

    for (int k = 0; k < certificate->loops.count; k++) {
        const char *name = report_loop_name(certificate->loops.items[k].row->stmt);
        bool told = certificate->loops.items[k].verdict != verdict;
        for (int o = 0; o < k && !told; o++)
            told = certificate->loops.items[o].verdict == verdict &&
                   strcmp(report_loop_name(certificate->loops.items[o].row->stmt), name) == 0;
        if (told)
            continue;
        if (names++ < 6)
            text_format(&report->out, "%s%s", names > 1 || (*listed)++ ? ", " : "; loops: ", name);
        else
            left_out++;
    }
    if (left_out)
        text_format(&report->out, " and %d more", left_out);
    if (names)
        text_format(&report->out, " %s", text);
}

void report_put_summary(struct report *report)
{
    int listed = 0;

    text_string(&report->out, "    ");
    summarise_bounds(report);
    summarise_buffers(report);
    summarise_loops(report, DEPENDENCE_PARALLEL, "parallel", &listed);
    summarise_loops(report, DEPENDENCE_ACCUMULATES, "reduction", &listed);
    summarise_loops(report, DEPENDENCE_SERIAL, "serial", &listed);
    summarise_loops(report, DEPENDENCE_UNDECIDED, "undecided", &listed);
    text_char(&report->out, '\n');
}

/* ---- bounds in full ------------------------------------------------------------------------------ */

static void put_place(struct report *report, struct span span)
{
    text_format(&report->out, "    %d:%d  ", span.line, span.column);
}

static const char *line_end(const struct dsl_source *source, const char *at)
{
    const char *end = source->text + source->length;

    while (at < end && *at != '\n' && *at != '\r')
        at++;
    return at;
}

/* What stands there in the program, up to the end of its line, where that is not what was just printed from
 * `from` on. */
static void put_source(struct report *report, struct span span, size_t from)
{
    const struct text *out = &report->out;
    const struct dsl_source *source = &report->kernel->module->source;
    const char *at = source->text, *end = source->text + source->length;

    for (int line = 1; line < span.line && at < end; line++) {
        at = line_end(source, at);
        at += at < end && *at == '\r' && at + 1 < end && at[1] == '\n';
        at += at < end;
    }
    end = line_end(source, at);
    if (span.line < 1 || span.column < 1 || span.column > end - at)
        return;
    if (span.end_line == span.line && span.end_column - 1 <= end - at)
        end = at + span.end_column - 1;
    at += span.column - 1;
    if (!out->failed && out->length - from == (size_t)(end - at) &&
        memcmp(out->data + from, at, out->length - from) == 0)
        return;
    text_string(&report->out, "    ");
    text_append(&report->out, at, (size_t)(end - at));
}

static void put_list(struct report *report, struct ir_expr *const *items, int count)
{
    for (int k = 0; k < count; k++) {
        text_string(&report->out, k == 0 ? "" : k + 1 == count ? " and " : ", ");
        report_put_expr(report, items[k], 0);
    }
}

/* Why neither bound was told: " since i < N" */
static void put_facts(struct report *report, const struct certificate_index *row)
{
    const struct certificate_side *sides[] = {&row->low, &row->high};
    int listed = 0;

    for (int s = 0; s < 2; s++)
        for (int k = 0; !sides[s]->bound && k < sides[s]->facts.count; k++) {
            text_string(&report->out, listed++ ? ", " : ", since ");
            report_put_expr(report, sides[s]->facts.items[k], 0);
        }
}

static void put_requirements(struct report *report, const struct certificate_index *row)
{
    for (int k = 0; k < row->preconditions.count; k++) {
        text_string(&report->out, k ? ", " : "   required: ");
        report_put_precondition(
            report, &report->certificate->kernel->preconditions.items[row->preconditions.items[k]]);
    }
    if (row->check == IR_CHECK_PRECONDITION && !row->preconditions.count)
        text_string(&report->out, "   required of the call");
}

static bool is_same(const struct ir_expr *a, const struct ir_expr *b)
{
    return a && ir_expr_equal(a, b);
}

/* 0 <= i - 1 <= N - 2 < N */
static void put_chain(struct report *report, const struct certificate_index *row)
{
    struct text *out = &report->out;
    const struct ir_expr *low = row->low.bound, *high = row->high.bound;
    bool constant = low && low->kind == IR_INTEGER;

    if (!constant)
        text_string(out, "0 <= ");
    if (low && !is_same(low, row->index)) {
        report_put_expr(report, low, 5);
        text_string(out, " <= ");
    }
    report_put_expr(report, row->index, 5);
    if (high && !is_same(high, row->index)) {
        text_string(out, " <= ");
        report_put_expr(report, high, 5);
    }
    text_string(out, " < ");
    report_put_expr(report, row->extent, 5);
}

static void put_dependence_on_data(struct report *report, const struct certificate_index *row)
{
    struct text *out = &report->out;

    text_string(out, "tested: 0 <= ");
    report_put_expr(report, row->index, 5);
    text_string(out, " < ");
    report_put_expr(report, row->extent, 5);
    if (row->data.count) {
        text_string(out, "; depends on ");
        put_list(report, row->data.items, row->data.count);
    }
    if (row->control.count) {
        text_string(out, "; ");
        put_list(report, row->control.items, row->control.count);
        text_format(out, " decide%s whether it is executed", row->control.count == 1 ? "s" : "");
    }
    if (!row->data.count && !row->control.count)
        text_string(out, "; could not be decided");
}

static void put_access(struct report *report, const struct certificate_access *row)
{
    size_t from;

    put_place(report, row->span);
    text_string(&report->out, row->load ? "reads " : "writes ");
    from = report->out.length;
    report_put_access(report, row->access);
    put_source(report, row->span, from);
    text_char(&report->out, '\n');
    for (int k = 0; k < row->access->buffer->rank; k++) {
        const struct certificate_index *index = &row->indices[k];
        text_string(&report->out, "        ");
        if (index->check == IR_CHECK_ELEMENT) {
            put_dependence_on_data(report, index);
        } else {
            put_chain(report, index);
            put_facts(report, index);
            put_requirements(report, index);
        }
        text_char(&report->out, '\n');
    }
}

enum { RECENT = 16 };

/* Whether what was printed from `from` on is one of the blocks before it, that begin at `starts`. */
static bool is_repeated(const struct text *out, const size_t *starts, int count, size_t from)
{
    for (int k = 0; k < count && !out->failed; k++) {
        size_t end = k + 1 < count ? starts[k + 1] : from;
        if (end - starts[k] == out->length - from &&
            memcmp(out->data + starts[k], out->data + from, out->length - from) == 0)
            return true;
    }
    return false;
}

static void put_bounds(struct report *report)
{
    struct text *out = &report->out;
    size_t starts[RECENT];
    int count = 0;

    text_string(out, "  bounds\n");
    for (int k = 0; k < report->certificate->accesses.count; k++) {
        size_t from = out->length;
        put_access(report, &report->certificate->accesses.items[k]);
        if (is_repeated(out, starts, count, from)) {
            out->length = from;
            out->data[from] = '\0';
            continue;
        }
        if (count == RECENT)
            memmove(starts, starts + 1, sizeof *starts * --count);
        starts[count++] = from;
    }
}

/* ---- initialisation in full ------------------------------------------------------------------------- */

static void put_written(struct report *report, const struct certificate_buffer *row)
{
    struct text *out = &report->out;

    for (int k = 0; k < row->gap->written.count; k++) {
        const struct analysis_box *box = &row->gap->written.items[k];
        text_format(out, "%s%s[", k ? ", " : "        proved to be written: ", row->buffer->name);
        for (int axis = 0; axis < row->buffer->rank; axis++) {
            text_string(out, axis ? ", " : "");
            report_put_expr(report, box->low[axis], 0);
            if (ir_expr_equal(box->low[axis], box->high[axis]))
                continue;
            text_string(out, " .. ");
            report_put_expr(report, box->high[axis], 0);
        }
        text_char(out, ']');
    }
    if (row->gap->written.count)
        text_char(out, '\n');
}

static void put_missing(struct report *report, const struct certificate_buffer *row)
{
    struct text *out = &report->out;

    text_string(out, "        ");
    if (row->missing.call) {
        report_put_element(report, row->buffer, row->missing.index);
        text_string(out, " is not written for ");
        put_call(report, row->missing.call);
    } else {
        text_string(out, "no call that was tried leaves an element out");
    }
    text_char(out, '\n');
    put_written(report, row);
}

/* "every element is written once" */
static void put_how_often(struct report *report, const struct certificate_buffer *row)
{
    static const char *const all[] = {[CERTIFICATE_ONCE] = "every element is written once",
                                      [CERTIFICATE_SEVERAL] = "every element is written, some several times",
                                      [CERTIFICATE_UNDECIDED] =
                                          "every element is written, perhaps several times"};
    static const char *const some[] = {[CERTIFICATE_ONCE] = "no element is written twice",
                                       [CERTIFICATE_SEVERAL] = "some elements are written several times",
                                       [CERTIFICATE_UNDECIDED] = "elements may be written several times"};

    text_string(&report->out, (row->complete ? all : some)[row->most]);
    if (row->most != CERTIFICATE_SEVERAL)
        return;
    text_string(&report->out, " (");
    report_put_element(report, row->buffer, row->twice.index);
    text_string(&report->out, " for ");
    put_call(report, row->twice.call);
    text_char(&report->out, ')');
}

static void put_read(struct report *report, const struct certificate_access *row)
{
    struct text *out = &report->out;

    text_format(out, "        %d:%d  reads ", row->span.line, row->span.column);
    report_put_access(report, row->access);
    text_string(out, ", not proved to be written by then: ");
    if (row->unwritten.call) {
        report_put_element(report, row->access->buffer, row->unwritten.index);
        text_string(out, " is not for ");
        put_call(report, row->unwritten.call);
    } else {
        text_string(out, "it was in every call that was tried");
    }
    text_char(out, '\n');
}

static void put_buffer(struct report *report, const struct certificate_buffer *row)
{
    const struct certificate *certificate = report->certificate;
    bool temporary = row->buffer->role == IR_TEMPORARY;
    struct text *out = &report->out;
    int proved = 0;

    text_format(out, "    %s%s", row->buffer->name, temporary ? ", a temporary: " : ": ");
    if (row->buffer->clear)
        text_string(out, "cleared first; ");
    put_how_often(report, row);
    for (int k = 0; k < certificate->accesses.count; k++)
        proved += certificate->accesses.items[k].access->buffer == row->buffer &&
                  certificate->accesses.items[k].written;
    if (proved)
        text_format(out, "; %d read%s come%s after the write", proved, plural(proved),
                    proved == 1 ? "s" : "");
    text_char(out, '\n');
    if (!temporary && !row->complete)
        put_missing(report, row);
    for (int k = 0; k < certificate->accesses.count; k++) {
        const struct certificate_access *access = &certificate->accesses.items[k];
        if (access->access->buffer == row->buffer && access->tracked && !access->written)
            put_read(report, access);
    }
}

static void put_initialisation(struct report *report)
{
    const struct certificate *certificate = report->certificate;

    if (!certificate->buffers.count)
        return;
    text_string(&report->out, "  initialisation\n");
    for (int k = 0; k < certificate->buffers.count; k++)
        put_buffer(report, &certificate->buffers.items[k]);
}

/* ---- loops in full ---------------------------------------------------------------------------------------
 */

/* "distance 1", "distance (0, 1)", "direction (<, *)" */
static void put_vector(struct report *report, const struct dependence *item)
{
    static const char *const directions[] = {"none", "<", "=", "<=", ">", "!=", ">=", "*"};
    struct text *out = &report->out;
    bool distances = true;

    for (int k = 0; k < item->depth; k++)
        distances &= item->has_distance[k];
    text_format(out, "%s%s", distances ? ", distance " : ", direction ", item->depth > 1 ? "(" : "");
    for (int k = 0; k < item->depth; k++) {
        text_string(out, k ? ", " : "");
        if (item->has_distance[k])
            text_format(out, "%lld", (long long)item->distance[k]);
        else
            text_string(out, directions[item->directions[k]]);
    }
    text_string(out, item->depth > 1 ? ")" : "");
}

static void put_dependence(struct report *report, const struct dependence *item)
{
    static const char *const kinds[] = {[DEPENDENCE_FLOW] = "written, then read",
                                        [DEPENDENCE_ANTI] = "read, then written",
                                        [DEPENDENCE_OUTPUT] = "written, then written"};
    const struct dependences *dependences = report->certificate->dependences;
    const struct dependence_access *source = &dependences->accesses.items[item->source],
                                   *sink = &dependences->accesses.items[item->sink];

    report_put_access(report, source->access);
    text_string(&report->out, " and ");
    report_put_access(report, sink->access);
    put_vector(report, item);
    text_format(&report->out, " (%s: %d:%d, %d:%d)", kinds[item->kind], source->span.line,
                source->span.column, sink->span.line, sink->span.column);
}

/* "reduction of acc by +, of y[j] by max" */
static void put_reductions(struct report *report, const struct dependence_loop *loop)
{
    struct report_reduction reduction = {.next = 0};
    int listed = 0;

    while (report_next_reduction(report->certificate->dependences, loop, &reduction)) {
        text_string(&report->out, listed++ ? ", of " : "reduction of ");
        report_put_reduced(report, &reduction);
        text_format(&report->out, " by %s", operation_table[reduction.operation].text);
    }
}

static void put_clash(struct report *report, const struct certificate_loop *loop)
{
    struct text *out = &report->out;
    const char *name = report_loop_name(loop->row->stmt);

    text_string(out, "        for ");
    put_call(report, loop->call);
    text_format(out, ", iterations %s = %lld and %s = %lld both use ", name,
                (long long)loop->uses[0].iteration, name, (long long)loop->uses[1].iteration);
    report_put_clashing(report, loop);
    text_char(out, '\n');
}

/* Why its iterations are not independent, or not known to be. */
static void put_reason(struct report *report, const struct dependence_loop *row, bool sure)
{
    const struct dependences *dependences = report->certificate->dependences;
    struct text *out = &report->out;

    if (row->dependence >= 0) {
        text_string(out, sure ? "" : "perhaps ");
        put_dependence(report, &dependences->items.items[row->dependence]);
    } else if (row->scalar >= 0) {
        const struct dependence_scalar *scalar = &dependences->scalars.items[row->scalar];
        text_format(out,
                    scalar->use == DEPENDENCE_FINAL
                        ? "of '%s', assigned at %d:%d, the value of the last iteration is used later"
                        : "'%s', assigned at %d:%d, goes from one iteration to the next",
                    report_label(scalar->symbol), scalar->span.line, scalar->span.column);
    } else if (row->leaves) {
        text_string(out, "an iteration decides whether there is a next one");
    } else {
        text_string(out, "it is too large, or nested too deeply, to be looked at in full");
    }
}

static void put_loop(struct report *report, const struct certificate_loop *loop)
{
    const struct dependence_loop *row = loop->row;
    struct text *out = &report->out;

    put_place(report, row->stmt->span);
    text_format(out, "loop %s: ", report_loop_name(row->stmt));
    switch (loop->verdict) {
    case DEPENDENCE_PARALLEL:
        text_string(out, "parallel");
        break;
    case DEPENDENCE_ACCUMULATES:
        put_reductions(report, row);
        break;
    case DEPENDENCE_SERIAL:
        text_string(out, "serial: ");
        put_reason(report, row, true);
        break;
    case DEPENDENCE_UNDECIDED:
        text_string(out, "undecided: ");
        put_reason(report, row, false);
        break;
    }
    text_char(out, '\n');
    if (loop->clashes)
        put_clash(report, loop);
}

static void put_loops(struct report *report)
{
    const struct certificate *certificate = report->certificate;

    if (!certificate->loops.count)
        return;
    text_string(&report->out, "  loops\n");
    for (int k = 0; k < certificate->loops.count; k++)
        put_loop(report, &certificate->loops.items[k]);
}

void report_put_proof(struct report *report)
{
    if (report->certificate->accesses.count)
        put_bounds(report);
    put_initialisation(report);
    put_loops(report);
}
