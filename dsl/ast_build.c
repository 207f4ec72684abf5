/*
 * ast_build.c: the builder calls of the grammar. Makes tree nodes from tokens, and
 * bounds the depth of the tree.
 */
#include "build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser.h"

struct ast_expr *ast_expr_new(struct arena *arena, enum ast_expr_kind kind, struct span span)
{
    struct ast_expr *expr = arena_new(arena, struct ast_expr);
    expr->kind = kind;
    expr->span = span;
    expr->depth = 1;
    return expr;
}

struct ast_stmt *ast_stmt_new(struct arena *arena, enum ast_stmt_kind kind, struct span span)
{
    struct ast_stmt *stmt = arena_new(arena, struct ast_stmt);
    stmt->kind = kind;
    stmt->span = span;
    return stmt;
}

struct ast_function *ast_module_function(const struct ast_module *module, const char *name)
{
    for (struct ast_function *function = module->functions; function; function = function->next)
        if (strcmp(function->name, name) == 0)
            return function;
    return NULL;
}

int build_next_token(struct parser *p, struct token *token, struct span *span)
{
    *token = p->tokens->items[p->position];
    *span = token->span;
    if (p->position + 1 < p->tokens->count)
        p->position++;
    return token->kind;
}

void build_finish(struct parser *p)
{
    int count = 0, line = 0;

    for (struct ast_function *function = p->module->functions; function; function = function->next)
        count++;
    p->module->function_count = count;
    for (size_t i = 0; i < akg_diagnostics_count(p->diagnostics); i++) {
        const akg_diagnostic *shown = akg_diagnostics_at(p->diagnostics, i);
        if (shown->severity == AKG_SEVERITY_ERROR && shown->line != line) {
            line = shown->line;
            build_damage(p, line);
        }
    }
}

struct build_exprs *build_exprs_add(struct parser *p, struct build_exprs *exprs, struct ast_expr *expr)
{
    if (!exprs)
        exprs = arena_new(p->arena, struct build_exprs);
    list_push(p->arena, &exprs->list, expr);
    return exprs;
}

struct build_exprs *build_exprs_join(struct parser *p, struct build_exprs *first, struct build_exprs *second)
{
    for (int i = 0; i < second->list.count; i++)
        first = build_exprs_add(p, first, second->list.items[i]);
    return first;
}

struct build_exprs *build_comparison_add(struct parser *p, struct build_exprs *exprs,
                                         enum ast_comparison comparison, struct ast_expr *expr)
{
    exprs = build_exprs_add(p, exprs, expr);
    list_push(p->arena, &exprs->comparisons, comparison);
    return exprs;
}

struct build_stmts build_stmts_add(struct build_stmts stmts, struct ast_stmt *stmt)
{
    if (!stmt)
        return stmts;
    if (!stmts.first)
        stmts.first = stmts.last = stmt;
    else
        stmts.last->next = stmt;
    while (stmts.last->next)
        stmts.last = stmts.last->next;
    return stmts;
}

struct build_parameters *build_parameter(struct parser *p, const struct token *name,
                                         struct ast_expr *annotation, struct ast_expr *initial, bool variadic)
{
    struct build_parameters *parameters = arena_new(p->arena, struct build_parameters);
    struct ast_parameter parameter = {
        .name = arena_copy(p->arena, name->text, (size_t)name->length),
        .span = name->span,
        .annotation = annotation,
        .initial = initial,
        .variadic = variadic,
    };
    list_push(p->arena, &parameters->list, parameter);
    return parameters;
}

struct build_parameters *build_parameters_join(struct parser *p, struct build_parameters *first,
                                               struct build_parameters *second)
{
    for (int i = 0; i < second->list.count; i++)
        list_push(p->arena, &first->list, second->list.items[i]);
    return first;
}

/* The depth of a node over its parts; past the limit one error, and a leaf in place of the node. */
static struct ast_expr *build_bound(struct parser *p, struct ast_expr *expr)
{
    int deepest = 0;
    const struct ast_expr *parts[3] = {expr->a, expr->b, expr->condition};

    for (int i = 0; i < 3; i++)
        if (parts[i] && parts[i]->depth > deepest)
            deepest = parts[i]->depth;
    for (int i = 0; i < expr->count; i++)
        if (expr->items[i]->depth > deepest)
            deepest = expr->items[i]->depth;
    expr->depth = deepest + 1;
    if (expr->depth <= DSL_MAX_DEPTH)
        return expr;
    if (!diagnostics_has_error_between(p->diagnostics, expr->span.line,
                                       expr->span.line)) /* once for all of it */
        diagnostic_add(p->diagnostics, MSG_NESTING, expr->span, arena_format(p->arena, "%d", DSL_MAX_DEPTH));
    return ast_expr_new(p->arena, AST_NONE, expr->span);
}

static void build_take_items(struct ast_expr *expr, struct build_exprs *items)
{
    if (!items)
        return;
    expr->items = items->list.items;
    expr->count = items->list.count;
    expr->comparisons = items->comparisons.items;
}

struct ast_expr *build_name(struct parser *p, const struct token *token)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_NAME, token->span);
    expr->text = arena_copy(p->arena, token->text, (size_t)token->length);
    return expr;
}

/* The token's digits without underscores, NUL-terminated. */
static char *build_digits(struct parser *p, const struct token *token)
{
    char *digits = arena_copy(p->arena, token->text, (size_t)token->length);
    char *to = digits;
    for (const char *from = digits; *from; from++)
        if (*from != '_')
            *to++ = *from;
    *to = 0;
    return digits;
}

struct ast_expr *build_integer(struct parser *p, const struct token *token)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_INTEGER, token->span);
    char *digits = build_digits(p, token), *end;
    int base = 10;
    unsigned long long value;

    if (digits[0] == '0' && digits[1] && strchr("xXbBoO", digits[1])) {
        base = strchr("xX", digits[1]) ? 16 : strchr("bB", digits[1]) ? 2 : 8;
        digits += 2;
    }
    errno = 0;
    value = strtoull(digits, &end, base);
    if (errno == ERANGE)
        diagnostic_note(diagnostic_add(p->diagnostics, MSG_NUMBER_TOO_LARGE, token->span,
                                       arena_copy(p->arena, token->text, (size_t)token->length)),
                        "help: up to 18446744073709551615; as a float it may be any size, as in 1e20");
    expr->is_large = value > INT64_MAX;
    expr->integer = (int64_t)value;
    return expr;
}

struct ast_expr *build_real(struct parser *p, const struct token *token)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_REAL, token->span);
    expr->real = arena_parse_real(p->arena, token->text, (size_t)token->length);
    expr->ends_in_point = token->text[token->length - 1] == '.';
    return expr;
}

static int build_escape(char character)
{
    static const char from[] = "nrtabfv0\\'\"", to[] = "\n\r\t\a\b\f\v\0\\'\"";
    const char *found = character ? strchr(from, character) : NULL;
    return found ? to[found - from] : -1;
}

/* Appends what the string literal stands for. */
static void build_string_decode(struct parser *p, struct build_string *string, const struct token *token)
{
    const char *from = token->text, *end = token->text + token->length;
    bool raw = false;
    int quotes = 1;

    for (; from < end && *from != '"' && *from != '\''; from++) {
        raw |= *from == 'r' || *from == 'R';
        string->is_format |= *from == 'f' || *from == 'F';
    }
    if (end - from >= 6 && from[1] == from[0] && from[2] == from[0])
        quotes = 3;
    from += quotes;
    end -= end - from >= quotes ? quotes : 0;
    for (; from < end; from++) {
        char byte = *from;
        if (byte == '\\' && !raw && from + 1 < end) {
            int escaped = build_escape(from[1]);
            if (from[1] == '\n') {
                from++;
                continue;
            }
            if (escaped > 0) {
                byte = (char)escaped;
                from++;
            }
        }
        list_push(p->arena, &string->bytes, byte);
    }
}

struct build_string *build_string_add(struct parser *p, struct build_string *string,
                                      const struct token *token)
{
    if (!string) {
        string = arena_new(p->arena, struct build_string);
        string->span = token->span;
    }
    string->span = span_join(string->span, token->span);
    build_string_decode(p, string, token);
    return string;
}

struct ast_expr *build_string(struct parser *p, struct build_string *string)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_STRING, string->span);
    list_push(p->arena, &string->bytes, '\0');
    expr->text = string->bytes.items;
    expr->is_format = string->is_format;
    return expr;
}

struct ast_expr *build_unary(struct parser *p, struct span span, enum operation operation, struct ast_expr *a)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_UNARY, span);
    expr->operation = operation;
    expr->a = a;
    return build_bound(p, expr);
}

struct ast_expr *build_binary(struct parser *p, struct span span, enum operation operation,
                              struct ast_expr *a, struct ast_expr *b)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_BINARY, span);
    expr->operation = operation;
    expr->a = a;
    expr->b = b;
    return build_bound(p, expr);
}

struct ast_expr *build_pair(struct parser *p, struct span span, enum ast_expr_kind kind, struct ast_expr *a,
                            struct ast_expr *b)
{
    struct ast_expr *expr = ast_expr_new(p->arena, kind, span);
    expr->a = a;
    expr->b = b;
    return build_bound(p, expr);
}

struct ast_expr *build_compare(struct parser *p, struct span span, struct ast_expr *first,
                               struct build_exprs *rest)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_COMPARE, span);
    struct build_exprs *items = build_exprs_add(p, NULL, first);
    for (int i = 0; i < rest->list.count; i++)
        items = build_comparison_add(p, items, rest->comparisons.items[i], rest->list.items[i]);
    build_take_items(expr, items);
    return build_bound(p, expr);
}

struct ast_expr *build_conditional(struct parser *p, struct span span, struct ast_expr *a,
                                   struct ast_expr *condition, struct ast_expr *b)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_CONDITIONAL, span);
    expr->a = a;
    expr->condition = condition;
    expr->b = b;
    return build_bound(p, expr);
}

struct ast_expr *build_call(struct parser *p, struct span span, struct ast_expr *function,
                            struct build_exprs *arguments)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_CALL, span);
    expr->a = function;
    build_take_items(expr, arguments);
    return build_bound(p, expr);
}

struct ast_expr *build_keyword(struct parser *p, struct span span, const struct token *name,
                               struct ast_expr *value)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_KEYWORD, span);
    expr->text = arena_copy(p->arena, name->text, (size_t)name->length);
    expr->a = value;
    return build_bound(p, expr);
}

struct ast_expr *build_starred(struct parser *p, struct span span, struct ast_expr *value)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_STARRED, span);
    expr->a = value;
    return build_bound(p, expr);
}

struct ast_expr *build_subscript(struct parser *p, struct span span, struct ast_expr *value,
                                 struct build_exprs *indices)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_SUBSCRIPT, span);
    expr->a = value;
    build_take_items(expr, indices);
    if (expr->count == 1 && expr->items[0]->kind == AST_TUPLE) {
        struct ast_expr *tuple = expr->items[0];
        expr->items = tuple->items;
        expr->count = tuple->count;
    }
    return build_bound(p, expr);
}

struct ast_expr *build_slice(struct parser *p, struct span span, struct ast_expr *low, struct ast_expr *high,
                             struct ast_expr *step)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_SLICE, span);
    expr->a = low;
    expr->b = high;
    expr->condition = step;
    return build_bound(p, expr);
}

struct ast_expr *build_attribute(struct parser *p, struct span span, struct ast_expr *value,
                                 const struct token *name)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_ATTRIBUTE, span);
    expr->a = value;
    expr->text = arena_copy(p->arena, name->text, (size_t)name->length);
    return build_bound(p, expr);
}

struct ast_expr *build_tuple(struct parser *p, struct span span, struct build_exprs *items)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_TUPLE, span);
    build_take_items(expr, items);
    return build_bound(p, expr);
}

struct ast_expr *build_list(struct parser *p, struct span span, struct build_exprs *items)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_LIST_DISPLAY, span);
    build_take_items(expr, items);
    return build_bound(p, expr);
}

struct ast_expr *build_dict(struct parser *p, struct span span, struct build_exprs *items)
{
    struct ast_expr *expr = ast_expr_new(p->arena, AST_DICT, span);
    build_take_items(expr, items);
    return build_bound(p, expr);
}

struct ast_expr *build_parenthesised(struct span span, struct ast_expr *expr)
{
    expr->span = span;
    return expr;
}

struct ast_stmt *build_expression(struct parser *p, struct span span, struct ast_expr *value)
{
    struct ast_stmt *stmt = ast_stmt_new(p->arena, AST_EXPRESSION, span);
    stmt->value = value;
    return stmt;
}

struct ast_stmt *build_assign(struct parser *p, struct span span, struct ast_expr *target,
                              struct ast_expr *annotation, struct ast_expr *value)
{
    struct ast_stmt *stmt = ast_stmt_new(p->arena, AST_ASSIGN, span);
    stmt->target = target;
    stmt->annotation = annotation;
    stmt->value = value;
    return stmt;
}

struct ast_stmt *build_augmented(struct parser *p, struct span span, struct ast_expr *target,
                                 enum operation operation, struct ast_expr *value)
{
    struct ast_stmt *stmt = ast_stmt_new(p->arena, AST_AUGMENTED, span);
    stmt->target = target;
    stmt->operation = operation;
    stmt->value = value;
    return stmt;
}

struct ast_stmt *build_assert(struct parser *p, struct span span, struct ast_expr *condition,
                              struct ast_expr *message)
{
    struct ast_stmt *stmt = ast_stmt_new(p->arena, AST_ASSERT, span);
    stmt->value = condition;
    stmt->message = message;
    return stmt;
}

struct ast_stmt *build_return(struct parser *p, struct span span, struct ast_expr *value)
{
    struct ast_stmt *stmt = ast_stmt_new(p->arena, AST_RETURN, span);
    stmt->value = value;
    return stmt;
}

struct ast_stmt *build_if(struct parser *p, struct span span, struct ast_expr *condition,
                          struct ast_stmt *body, struct ast_stmt *otherwise)
{
    struct ast_stmt *stmt = ast_stmt_new(p->arena, AST_IF, span);
    stmt->value = condition;
    stmt->body = body;
    stmt->otherwise = otherwise;
    stmt->branches = 1 + (otherwise && otherwise->kind == AST_IF ? otherwise->branches : 0);
    if (stmt->branches > DSL_MAX_BRANCHES) {
        diagnostic_note(diagnostic_add(p->diagnostics, MSG_NESTING, otherwise->span,
                                       arena_format(p->arena, "%d", DSL_MAX_BRANCHES)),
                        "note: each elif is an if in the else of the one before");
        stmt->otherwise = NULL;
        stmt->branches = 1;
    }
    return stmt;
}

struct ast_stmt *build_for(struct parser *p, struct span span, struct ast_expr *target,
                           struct ast_expr *value, struct ast_stmt *body)
{
    struct ast_stmt *stmt = ast_stmt_new(p->arena, AST_FOR, span);
    stmt->target = target;
    stmt->value = value;
    stmt->body = body;
    return stmt;
}

struct ast_stmt *build_while(struct parser *p, struct span span, struct ast_expr *condition,
                             struct ast_stmt *body)
{
    struct ast_stmt *stmt = ast_stmt_new(p->arena, AST_WHILE, span);
    stmt->value = condition;
    stmt->body = body;
    return stmt;
}

struct ast_stmt *build_with(struct parser *p, struct span span, struct ast_expr *value, struct ast_stmt *body)
{
    struct ast_stmt *stmt = ast_stmt_new(p->arena, AST_WITH, span);
    stmt->value = value;
    stmt->body = body;
    return stmt;
}

/* A docstring is the first statement when that is a string; it leaves the body. */
static const char *build_docstring(struct ast_stmt **body)
{
    struct ast_stmt *first = *body;
    if (!first || first->kind != AST_EXPRESSION || first->value->kind != AST_STRING)
        return "";
    *body = first->next;
    return first->value->text;
}

/* Line of the last statement that was read; its block may be closed by a word further down, which is read as
 * well. */
static int build_last_line(const struct parser *p)
{
    int at = p->position - 1;

    while (at > 0 && p->tokens->items[at].kind != LINE_END)
        at--;
    return p->tokens->items[at].span.line;
}

void build_function(struct parser *p, struct build_exprs *decorators, const struct token *name,
                    struct build_parameters *parameters, struct ast_stmt *body)
{
    struct ast_function *function = arena_new(p->arena, struct ast_function);
    function->name = arena_copy(p->arena, name->text, (size_t)name->length);
    function->span = name->span;
    if (decorators) {
        function->decorators = decorators->list.items;
        function->decorator_count = decorators->list.count;
    }
    if (parameters) {
        function->parameters = parameters->list.items;
        function->parameter_count = parameters->list.count;
    }
    function->documentation = build_docstring(&body);
    function->body = body;
    function->damaged = function->broken =
        diagnostics_has_error_between(p->diagnostics, name->span.line, build_last_line(p));
    if (p->last_function)
        p->last_function->next = function;
    else
        p->module->functions = function;
    p->last_function = function;
}

void build_top_statement(struct parser *p, struct ast_stmt *stmt)
{
    if (!stmt)
        return;
    if (p->last_statement)
        p->last_statement->next = stmt;
    else
        p->module->statements = stmt;
    while (stmt->next)
        stmt = stmt->next;
    p->last_statement = stmt;
}

void build_refuse_top(struct parser *p, struct ast_stmt *stmt)
{
    struct diagnostic_entry *entry = diagnostic_add(p->diagnostics, MSG_STATEMENT_OUTSIDE, stmt->span);
    if (stmt->kind == AST_IF)
        diagnostic_note(entry,
                        "help: the file is not run from top to bottom; remove it, or put it into a function");
    else
        diagnostic_note(entry, "help: put the statement into a function: def name(...):");
}

struct ast_stmt *build_refuse_nested(struct parser *p)
{
    struct diagnostic_entry *entry;

    p->last_function->broken = p->last_function->damaged = true;
    if (p->broken_blocks)
        return NULL; /* of a class, perhaps: that was reported */
    entry = diagnostic_add(p->diagnostics, MSG_NOT_IN_LANGUAGE, p->last_function->span,
                           "a function inside a function");
    diagnostic_note(entry, "help: define it at the top level and call it: it is inlined there");
    return NULL;
}
