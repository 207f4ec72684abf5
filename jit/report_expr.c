/*
 * report_expr.c: expressions, elements, preconditions and reductions in the words of the signature. See
 * report_private.h.
 */
#include "report_private.h"

#include <string.h>

const char *report_label(const struct ir_symbol *symbol)
{
    return symbol->label && symbol->kind != IR_SYMBOL_ATTRIBUTE ? symbol->label : symbol->name;
}

const char *report_loop_name(const struct ir_stmt *loop)
{
    return loop->kind == IR_FOR ? report_label(loop->symbol) : "while";
}

/* Length of the name of a dim without the suffix that tells it from others of the same name (K_1, for K was
 * taken). */
static size_t report_base_length(const struct report *report, const char *name)
{
    const char *mark = strrchr(name, '_');
    size_t length = mark ? (size_t)(mark - name) : 0;

    if (length == 0 || strspn(mark + 1, "0123456789") != strlen(mark + 1))
        return strlen(name);
    for (int i = 0; i < report->ir->dims.count; i++) {
        const char *other = report->ir->dims.items[i]->name;
        if (strlen(other) == length && strncmp(other, name, length) == 0)
            return length;
    }
    return strlen(name);
}

/* Dims that the program calls alike are told apart by primes, in the order in which they are shown: K, K'. */
static void report_dim(struct report *report, const char *name)
{
    size_t length = report_base_length(report, name);
    int primes = 0, i;

    for (i = 0; i < report->shown_count && strcmp(report->shown[i], name) != 0; i++) {
        const char *other = report->shown[i];
        primes += report_base_length(report, other) == length && strncmp(other, name, length) == 0;
    }
    if (i == report->shown_count && i < report->shown_capacity)
        report->shown[report->shown_count++] = name;
    text_append(&report->out, name, length);
    text_repeat(&report->out, '\'', primes);
}

/* How tightly an operation binds, as in Python; 0 where it is written as a call. */
static int report_precedence(enum operation operation)
{
    switch (operation) {
    case OP_OR:
        return 1;
    case OP_AND:
        return 2;
    case OP_NOT:
        return 3;
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_EQ:
    case OP_NE:
        return 4;
    case OP_BITOR:
        return 5;
    case OP_BITXOR:
        return 6;
    case OP_BITAND:
        return 7;
    case OP_SHL:
    case OP_SHR:
        return 8;
    case OP_ADD:
    case OP_SUB:
        return 9;
    case OP_MUL:
    case OP_TRUEDIV:
    case OP_FLOORDIV:
    case OP_MOD:
        return 10;
    case OP_NEG:
        return 11;
    case OP_POW:
        return 12;
    default:
        return 0;
    }
}

static void report_operation(struct report *report, const struct ir_expr *expr, int outer)
{
    struct text *out = &report->out;
    int precedence = report_precedence(expr->operation);

    if (precedence == 0) {
        text_format(out, "%s(", operation_table[expr->operation].text);
        for (int i = 0; i < expr->count; i++) {
            if (i)
                text_string(out, ", ");
            report_put_expr(report, expr->operands[i], 0);
        }
        text_char(out, ')');
        return;
    }
    if (precedence < outer)
        text_char(out, '(');
    if (expr->count == 1) {
        text_string(out, expr->operation == OP_NOT ? "not " : "-");
        report_put_expr(report, expr->operands[0], precedence);
    } else if (expr->operation == OP_MUL && expr->operands[0]->kind == IR_INTEGER &&
               expr->operands[0]->integer == -1) { /* how forms write a negative term that comes first */
        text_char(out, '-');
        report_put_expr(report, expr->operands[1], 11);
    } else {
        report_put_expr(report, expr->operands[0], precedence + (precedence == 4));
        text_format(out, " %s ", operation_table[expr->operation].text);
        report_put_expr(report, expr->operands[1], precedence + 1);
    }
    if (precedence < outer)
        text_char(out, ')');
}

void report_put_expr(struct report *report, const struct ir_expr *expr, int outer)
{
    switch (expr->kind) {
    case IR_INTEGER:
        if (expr->dtype == AKG_BOOL)
            text_string(&report->out, expr->integer ? "True" : "False");
        else
            text_format(&report->out, "%lld", (long long)expr->integer);
        return;
    case IR_REAL:
        text_double(&report->out, expr->real);
        return;
    case IR_SYMBOL:
        if (expr->symbol->kind == IR_SYMBOL_DIM)
            report_dim(report, expr->symbol->name);
        else
            text_string(&report->out, report_label(expr->symbol));
        return;
    case IR_LOAD:
        report_put_access(report, &expr->access);
        return;
    case IR_OPERATION:
        if (expr->operation == OP_CAST)
            report_put_expr(report, expr->operands[0], outer);
        else
            report_operation(report, expr, outer);
        return;
    }
}

void report_put_access(struct report *report, const struct ir_access *access)
{
    text_string(&report->out, access->buffer->name);
    text_char(&report->out, '[');
    for (int k = 0; k < access->buffer->rank; k++) {
        if (k)
            text_string(&report->out, ", ");
        report_put_expr(report, access->indices[k], 0);
    }
    text_string(&report->out, access->buffer->rank ? "]" : "()]");
}

void report_put_element(struct report *report, const struct ir_buffer *buffer, const int64_t *index)
{
    text_string(&report->out, buffer->name);
    text_char(&report->out, '[');
    for (int k = 0; k < buffer->rank; k++)
        text_format(&report->out, "%s%lld", k ? ", " : "", (long long)index[k]);
    text_string(&report->out, buffer->rank ? "]" : "()]");
}

void report_put_demand(struct report *report, const struct ir_precondition *precondition)
{
    const struct ir_expr *condition = precondition->condition;

    if (condition->kind == IR_INTEGER && !condition->integer && precondition->guard) {
        text_string(&report->out, "not ");
        report_put_expr(report, precondition->guard, report_precedence(OP_NOT));
    } else {
        report_put_expr(report, condition, 0);
    }
}

void report_put_precondition(struct report *report, const struct ir_precondition *precondition)
{
    report_put_expr(report, precondition->condition, 0);
    if (precondition->guard) {
        text_string(&report->out, ", where ");
        report_put_expr(report, precondition->guard, 0);
    }
}

/* The loop that carries a dependence. */
static const struct dependence_loop *carrier(const struct dependences *dependences,
                                             const struct dependence *item)
{
    int loop = dependences->accesses.items[item->source].loop;

    while (dependences->loops.items[loop].depth > item->level)
        loop = dependences->loops.items[loop].parent;
    return &dependences->loops.items[loop];
}

/* Scalars come first. Dependences between the uses of one statement are one reduction. */
bool report_next_reduction(const struct dependences *dependences, const struct dependence_loop *loop,
                           struct report_reduction *reduction)
{
    const struct dependence_access *last = reduction->access;
    int at = reduction->next, scalars = dependences->scalars.count;

    for (; at < scalars; at++) {
        const struct dependence_scalar *scalar = &dependences->scalars.items[at];
        if (&dependences->loops.items[scalar->loop] != loop || scalar->use != DEPENDENCE_REDUCTION)
            continue;
        *reduction = (struct report_reduction){scalar, NULL, scalar->reduction, at + 1};
        return true;
    }
    for (; at - scalars < dependences->items.count; at++) {
        const struct dependence *item = &dependences->items.items[at - scalars];
        const struct dependence_access *source = &dependences->accesses.items[item->source];
        if (!item->reduction || item->level == item->depth || (last && last->stmt == source->stmt) ||
            carrier(dependences, item) != loop)
            continue;
        *reduction = (struct report_reduction){NULL, source, source->reduction, at + 1};
        return true;
    }
    return false;
}

void report_put_reduced(struct report *report, const struct report_reduction *reduction)
{
    if (reduction->scalar)
        text_string(&report->out, report_label(reduction->scalar->symbol));
    else
        report_put_access(report, reduction->access->access);
}

void report_put_clashing(struct report *report, const struct certificate_loop *loop)
{
    const struct dependences *dependences = report->certificate->dependences;

    if (loop->uses[0].buffer)
        report_put_element(report, loop->uses[0].buffer, loop->uses[0].index);
    else
        text_string(&report->out, report_label(dependences->scalars.items[loop->row->scalar].symbol));
}

struct text report_json_begin(struct report *report)
{
    struct text saved = report->out;

    text_init(&report->out);
    return saved;
}

void report_json_end(struct report *report, struct text saved)
{
    if (report->out.failed)
        saved.failed = true;
    text_json(&saved, report->out.data ? report->out.data : "");
    text_free(&report->out);
    report->out = saved;
}
