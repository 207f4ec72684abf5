/*
 * ast_print.c: the tree as text: expressions as source, statements as an indented outline.
 */
#include "ast.h"

static void print_items(struct text *out, const struct ast_expr *expr)
{
    for (int i = 0; i < expr->count; i++) {
        if (i)
            text_string(out, ", ");
        ast_print_expr(out, expr->items[i]);
    }
}

static void print_string(struct text *out, const char *string)
{
    text_char(out, '"');
    for (; *string; string++) {
        if (*string == '"' || *string == '\\')
            text_char(out, '\\');
        if (*string == '\n')
            text_string(out, "\\n");
        else
            text_char(out, *string);
    }
    text_char(out, '"');
}

/* An operand: in parentheses unless it is a word of its own. */
static void print_operand(struct text *out, const struct ast_expr *expr)
{
    bool compound = expr->kind == AST_BINARY || expr->kind == AST_COMPARE || expr->kind == AST_AND ||
                    expr->kind == AST_OR || expr->kind == AST_CONDITIONAL || expr->kind == AST_UNARY;
    if (compound)
        text_char(out, '(');
    ast_print_expr(out, expr);
    if (compound)
        text_char(out, ')');
}

static void print_compare(struct text *out, const struct ast_expr *expr)
{
    static const char *const names[] = {"<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in"};
    print_operand(out, expr->items[0]);
    for (int i = 1; i < expr->count; i++) {
        text_format(out, " %s ", names[expr->comparisons[i - 1]]);
        print_operand(out, expr->items[i]);
    }
}

static void print_pair(struct text *out, const struct ast_expr *expr, const char *between)
{
    print_operand(out, expr->a);
    text_format(out, " %s ", between);
    print_operand(out, expr->b);
}

void ast_print_expr(struct text *out, const struct ast_expr *expr)
{
    if (!expr)
        return;
    switch (expr->kind) {
    case AST_NAME:
        text_string(out, expr->text);
        return;
    case AST_INTEGER:
        text_format(out, expr->is_large ? "%llu" : "%lld", (long long)expr->integer);
        return;
    case AST_REAL:
        text_double(out, expr->real);
        return;
    case AST_STRING:
        print_string(out, expr->text);
        return;
    case AST_TRUE:
        text_string(out, "True");
        return;
    case AST_FALSE:
        text_string(out, "False");
        return;
    case AST_NONE:
        text_string(out, "None");
        return;
    case AST_UNARY:
        text_string(out, expr->operation == OP_NEG      ? "-"
                         : expr->operation == OP_NOT    ? "not "
                         : expr->operation == OP_BITNOT ? "~"
                                                        : "+");
        print_operand(out, expr->a);
        return;
    case AST_BINARY:
        print_pair(out, expr, operation_table[expr->operation].text);
        return;
    case AST_COMPARE:
        print_compare(out, expr);
        return;
    case AST_AND:
    case AST_OR:
        print_pair(out, expr, expr->kind == AST_AND ? "and" : "or");
        return;
    case AST_CONDITIONAL:
        print_operand(out, expr->a);
        text_string(out, " if ");
        print_operand(out, expr->condition);
        text_string(out, " else ");
        print_operand(out, expr->b);
        return;
    case AST_CALL:
        print_operand(out, expr->a);
        text_char(out, '(');
        print_items(out, expr);
        text_char(out, ')');
        return;
    case AST_KEYWORD:
        text_format(out, "%s=", expr->text);
        ast_print_expr(out, expr->a);
        return;
    case AST_SUBSCRIPT:
        print_operand(out, expr->a);
        text_char(out, '[');
        if (expr->count == 0)
            text_string(out, "()");
        print_items(out, expr);
        text_char(out, ']');
        return;
    case AST_ATTRIBUTE:
        print_operand(out, expr->a);
        text_format(out, ".%s", expr->text);
        return;
    case AST_TUPLE:
        text_char(out, '(');
        print_items(out, expr);
        text_string(out, expr->count == 1 ? ",)" : ")");
        return;
    case AST_LIST_DISPLAY:
        text_char(out, '[');
        print_items(out, expr);
        text_char(out, ']');
        return;
    case AST_DICT:
        text_char(out, '{');
        print_items(out, expr);
        text_char(out, '}');
        return;
    case AST_SLICE:
        ast_print_expr(out, expr->a);
        text_char(out, ':');
        ast_print_expr(out, expr->b);
        if (expr->condition) {
            text_char(out, ':');
            ast_print_expr(out, expr->condition);
        }
        return;
    case AST_STARRED:
        text_char(out, '*');
        ast_print_expr(out, expr->a);
        return;
    }
}

static void print_line(struct text *out, int depth, const struct ast_stmt *stmt, const char *word)
{
    text_repeat(out, ' ', 2 * depth);
    text_string(out, word);
    if (stmt->target) {
        text_char(out, ' ');
        ast_print_expr(out, stmt->target);
    }
    if (stmt->annotation) {
        text_string(out, ": ");
        ast_print_expr(out, stmt->annotation);
    }
    if (stmt->kind == AST_AUGMENTED)
        text_format(out, " %s=", operation_table[stmt->operation].text);
    else if (stmt->target)
        text_string(out, stmt->kind == AST_FOR ? " in" : " =");
    if (stmt->value) {
        text_char(out, ' ');
        ast_print_expr(out, stmt->value);
    }
    if (stmt->message) {
        text_string(out, ", ");
        ast_print_expr(out, stmt->message);
    }
    text_format(out, "  @%d:%d\n", stmt->span.line, stmt->span.column);
}

static void print_block(struct text *out, int depth, const struct ast_stmt *first)
{
    static const char *const words[] = {"expression", "assign", "augmented", "for",    "while",
                                        "if",         "with",   "assert",    "return", "break",
                                        "continue",   "pass",   "import"};

    for (const struct ast_stmt *stmt = first; stmt; stmt = stmt->next) {
        print_line(out, depth, stmt, words[stmt->kind]);
        print_block(out, depth + 1, stmt->body);
        if (stmt->otherwise) {
            text_repeat(out, ' ', 2 * depth);
            text_string(out, "else\n");
            print_block(out, depth + 1, stmt->otherwise);
        }
    }
}

void ast_print(struct text *out, const struct ast_module *module)
{
    print_block(out, 0, module->statements);
    for (const struct ast_function *function = module->functions; function; function = function->next) {
        for (int i = 0; i < function->decorator_count; i++) {
            text_char(out, '@');
            ast_print_expr(out, function->decorators[i]);
            text_char(out, '\n');
        }
        text_format(out, "function %s  @%d:%d\n", function->name, function->span.line, function->span.column);
        for (int i = 0; i < function->parameter_count; i++) {
            const struct ast_parameter *parameter = &function->parameters[i];
            text_format(out, "  parameter %s%s", parameter->variadic ? "*" : "", parameter->name);
            if (parameter->annotation) {
                text_string(out, ": ");
                ast_print_expr(out, parameter->annotation);
            }
            if (parameter->initial) {
                text_string(out, " = ");
                ast_print_expr(out, parameter->initial);
            }
            text_char(out, '\n');
        }
        print_block(out, 1, function->body);
    }
}
