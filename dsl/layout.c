/*
 * layout.c: words to tokens, by Python's layout rules.
 *
 * Consumes the scanner's words, each with its column; drops line ends inside
 * brackets and on empty lines; inserts INDENT and DEDENT. Reports brackets that do
 * not match, indentation that fits no block, and nesting too deep for the
 * recursion of later stages. What it hands on always has matching brackets.
 */
#include <string.h>

#include "token.h"
#include "build.h"

#include "parser.h"

struct layout {
    struct arena *arena;
    struct token_list *out;
    akg_diagnostics *diagnostics;
    int indents[DSL_MAX_NESTING + 2]; /* columns of the open blocks */
    int depth;                        /* index of the innermost */
    struct token brackets[DSL_MAX_NESTING + 1];
    int open; /* brackets that are open */
    bool too_deep;
};

static void layout_put(struct layout *layout, int kind, struct span span)
{
    struct token token = {kind, span, "", 0};
    list_push(layout->arena, layout->out, token);
}

static void layout_refuse_nesting(struct layout *layout, struct span span)
{
    if (!layout->too_deep)
        diagnostic_add(layout->diagnostics, MSG_NESTING, span,
                       arena_format(layout->arena, "%d", DSL_MAX_NESTING));
    layout->too_deep = true;
}

/* Indentation of a logical line that starts at `word`. A tab moves to the next multiple of 8, as in Python. */
static int layout_column(struct layout *layout, const struct token *word)
{
    const char *start = word->text - (word->span.column - 1);
    int column = 0;
    bool space = false, mixed = false;

    for (const char *at = start; at < word->text; at++) {
        if (*at == '\t') {
            mixed |= space;
            column = (column / 8 + 1) * 8;
        } else {
            space = true;
            column++;
        }
    }
    if (mixed)
        diagnostic_add(layout->diagnostics, MSG_MIXED_INDENT, word->span);
    return column;
}

static void layout_indent(struct layout *layout, const struct token *word)
{
    int column = layout_column(layout, word);
    struct span span = {word->span.line, word->span.column, word->span.line, word->span.column};

    if (column > layout->indents[layout->depth]) {
        if (layout->depth == DSL_MAX_NESTING) {
            layout_refuse_nesting(layout, word->span);
            return;
        }
        layout->indents[++layout->depth] = column;
        layout_put(layout, INDENT, span);
        return;
    }
    while (column < layout->indents[layout->depth]) {
        layout->depth--;
        layout_put(layout, DEDENT, span);
    }
    if (column != layout->indents[layout->depth]) {
        diagnostic_add(layout->diagnostics, MSG_BAD_INDENT, word->span);
        layout->indents[layout->depth] = column;
    }
}

static int layout_partner(int bracket)
{
    return bracket == '(' ? ')' : bracket == '[' ? ']' : '}';
}

/* Closes what is still open, with the words the grammar needs to go on. */
static void layout_close_all(struct layout *layout, struct span span)
{
    while (layout->open > 0) {
        struct token *bracket = &layout->brackets[--layout->open];
        char shown[2] = {(char)bracket->kind, 0};
        diagnostic_add(layout->diagnostics, MSG_UNCLOSED_BRACKET, bracket->span, shown);
        layout_put(layout, layout_partner(bracket->kind), span);
    }
}

/* Words that start a statement and can stand in no bracket: there a bracket was forgotten. */
static bool layout_starts_statement(const struct token *word)
{
    switch (word->kind) {
    case DEF:
    case WHILE:
    case WITH:
    case ASSERT:
    case RETURN:
    case BREAK:
    case CONTINUE:
    case PASS:
    case IMPORT:
    case FOR:
    case ELIF:
        return true;
    default:
        return false;
    }
}

/* True when the word is to be handed on. */
static bool layout_bracket(struct layout *layout, const struct token *word)
{
    char shown[2] = {(char)word->kind, 0};

    if (word->kind == '(' || word->kind == '[' || word->kind == '{') {
        if (layout->open == DSL_MAX_NESTING) {
            layout_refuse_nesting(layout, word->span);
            return false;
        }
        layout->brackets[layout->open++] = *word;
    } else if (word->kind == ')' || word->kind == ']' || word->kind == '}') {
        if (layout->open == 0 || layout_partner(layout->brackets[layout->open - 1].kind) != word->kind) {
            if (!layout->too_deep)
                diagnostic_add(layout->diagnostics, MSG_UNMATCHED_BRACKET, word->span, shown);
            return false;
        }
        layout->open--;
    }
    return true;
}

void layout_apply(struct arena *arena, const struct token_list *words, struct token_list *tokens,
                  akg_diagnostics *diagnostics)
{
    struct layout *layout = arena_new(arena, struct layout);
    struct span last = {1, 1, 1, 1};
    bool line_start = true;

    layout->arena = arena;
    layout->out = tokens;
    layout->diagnostics = diagnostics;
    for (int i = 0; i < words->count; i++) {
        const struct token *word = &words->items[i];
        bool first_on_line = i == 0 || words->items[i - 1].kind == LINE_END;

        last = word->span;
        if (word->kind == LINE_END) {
            if (!line_start && layout->open == 0) {
                layout_put(layout, LINE_END, word->span);
                line_start = true;
            }
            continue;
        }
        if (layout->open > 0 && first_on_line && layout_starts_statement(word)) {
            layout_close_all(layout, word->span);
            layout_put(layout, LINE_END, word->span);
            line_start = true;
        }
        if (line_start) {
            layout_indent(layout, word);
            line_start = false;
        }
        if (layout_bracket(layout, word))
            list_push(arena, tokens, *word);
    }
    last = (struct span){last.end_line, last.end_column, last.end_line, last.end_column};
    layout_close_all(layout, last);
    if (!line_start)
        layout_put(layout, LINE_END, last);
    while (layout->depth-- > 0)
        layout_put(layout, DEDENT, last);
    layout_put(layout, END, last);
}

void token_print_list(struct text *out, const struct token_list *tokens)
{
    for (int i = 0; i < tokens->count; i++) {
        const struct token *token = &tokens->items[i];
        text_format(out, "%d:%d\t%s", token->span.line, token->span.column, token_kind_name(token->kind));
        if (token->length > 0 && (token->kind == NAME || token->kind == INTEGER || token->kind == REAL ||
                                  token->kind == STRING || token->kind == RESERVED)) {
            text_char(out, '\t');
            text_append(out, token->text, (size_t)token->length);
        }
        text_char(out, '\n');
    }
}
