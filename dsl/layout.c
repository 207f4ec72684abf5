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
    struct indent {
        int column;                 /* a tab goes on to the next multiple of 8, as in Python */
        int alternative;            /* a tab counts 1: both must tell the same story */
        bool stray;                 /* indented for no reason, which was reported: no block for the grammar */
    } indents[DSL_MAX_NESTING + 2]; /* of the open blocks */
    int depth;                      /* index of the innermost */
    int bad_column; /* the last indentation that was refused: said once for lines that follow */
    struct token brackets[DSL_MAX_NESTING + 1];
    int open;       /* brackets that are open */
    int braces;     /* blocks that began with '{' in the place of ':' */
    int first;      /* kind of the first word of the logical line */
    bool has_colon; /* a ':' outside brackets stands on it */
    bool open_end;  /* its last word is a string without an end */
    bool too_deep;
    bool ended; /* blocks are nested too deeply: what follows is not looked at */
};

static void layout_put(struct layout *layout, int kind, struct span span)
{
    struct token token = {.kind = (short)kind, .text = "", .span = span};
    list_push(layout->arena, layout->out, token);
}

static void layout_refuse_nesting(struct layout *layout, struct span span)
{
    if (!layout->too_deep)
        diagnostic_add(layout->diagnostics, MSG_NESTING, span,
                       arena_format(layout->arena, "%d", DSL_MAX_NESTING));
    layout->too_deep = true;
}

/* Indentation of a logical line that starts at `word`. */
static struct indent layout_measure(const struct token *word)
{
    const char *start = word->text - (word->span.column - 1);
    struct indent indent = {.column = 0};

    for (const char *at = start; at < word->text; at++) {
        indent.column = *at == '\f' ? 0 : *at == '\t' ? (indent.column / 8 + 1) * 8 : indent.column + 1;
        indent.alternative = *at == '\f' ? 0 : indent.alternative + 1;
    }
    return indent;
}

/* True after a line that ends in ':'. */
static bool layout_expects_block(const struct layout *layout)
{
    int count = layout->out->count;
    return count >= 2 && layout->out->items[count - 1].kind == LINE_END &&
           layout->out->items[count - 2].kind == ':';
}

static void layout_push_indent(struct layout *layout, struct indent indent, const struct token *word)
{
    struct span span = {word->span.line, word->span.column, word->span.line, word->span.column};

    if (layout->depth == DSL_MAX_NESTING) {
        static const short block[] = {INDENT, PASS, LINE_END, DEDENT};
        layout_refuse_nesting(layout, word->span);
        for (size_t k = 0; k < sizeof block / sizeof block[0]; k++)
            layout_put(layout, block[k], span);
        layout->ended = true;
        return;
    }
    indent.stray = !layout_expects_block(layout);
    layout->indents[++layout->depth] = indent;
    if (indent.stray) {
        struct diagnostic_entry *entry =
            diagnostic_add(layout->diagnostics, MSG_UNEXPECTED_INDENT, word->span);
        diagnostic_note(entry, "help: only the lines below one that ends in ':' are indented further");
    } else {
        layout_put(layout, INDENT, span);
    }
}

static void layout_indent(struct layout *layout, const struct token *word)
{
    struct span span = {word->span.line, word->span.column, word->span.line, word->span.column};
    struct indent indent = layout_measure(word), *current = &layout->indents[layout->depth];
    struct diagnostic_entry *entry;
    bool consistent;

    if (indent.column > current->column) {
        consistent = indent.alternative > current->alternative;
        layout_push_indent(layout, indent, word);
    } else {
        /* between two blocks: it stays in the inner one */
        while (indent.column < current->column && indent.column <= current[-1].column) {
            if (!current->stray)
                layout_put(layout, DEDENT, span);
            current = &layout->indents[--layout->depth];
        }
        if (indent.column != current->column) {
            if (indent.column != layout->bad_column) {
                entry = diagnostic_add(layout->diagnostics, MSG_BAD_INDENT, word->span);
                diagnostic_note(entry, "note: the blocks around it are indented by %d and by %d",
                                current[-1].column, current->column);
            }
            layout->bad_column = indent.column;
            return;
        }
        consistent = indent.alternative == current->alternative;
    }
    if (!consistent) {
        entry = diagnostic_add(layout->diagnostics, MSG_MIXED_INDENT, word->span);
        diagnostic_note(entry, "help: indent with spaces only, four for each level");
    }
}

static int layout_partner(int bracket)
{
    return bracket == '(' ? ')' : bracket == '[' ? ']' : '}';
}

/* Closes the innermost bracket, with the word the grammar needs to go on. An error that was reported on these
 * lines is probably the reason. */
static void layout_close(struct layout *layout, struct span span)
{
    struct token *bracket = &layout->brackets[--layout->open];
    char shown[2] = {(char)bracket->kind, 0};

    if (!diagnostics_has_error_between(layout->diagnostics, bracket->span.line, span.line)) {
        struct diagnostic_entry *entry =
            diagnostic_add(layout->diagnostics, MSG_UNCLOSED_BRACKET, bracket->span, shown);
        diagnostic_note(entry, "help: write '%c' where it ends", layout_partner(bracket->kind));
    }
    layout_put(layout, layout_partner(bracket->kind), span);
}

static void layout_close_all(struct layout *layout, struct span span)
{
    while (layout->open > 0)
        layout_close(layout, span);
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

/* Words that an operand can end with. */
static bool layout_ends_operand(const struct token *word)
{
    switch (word->kind) {
    case NAME:
    case INTEGER:
    case REAL:
    case STRING:
    case TRUE_WORD:
    case FALSE_WORD:
    case NONE_WORD:
    case ')':
    case ']':
        return true;
    default:
        return false;
    }
}

static bool layout_starts_block(int kind)
{
    return kind == IF || kind == ELIF || kind == ELSE || kind == FOR || kind == WHILE || kind == WITH ||
           kind == DEF;
}

static const struct token *layout_next_word(const struct token_list *words, int i)
{
    while (i < words->count && words->items[i].kind == LINE_END)
        i++;
    return i < words->count ? &words->items[i] : NULL;
}

/* True where the open brackets cannot go on with word `i`, the first of its line: a new statement starts
 * there. */
static bool layout_bracket_was_forgotten(const struct layout *layout, const struct token_list *words, int i)
{
    const struct token *word = &words->items[i];
    int before = i - 1;

    while (before > 0 && words->items[before].kind == LINE_END)
        before--;
    if (word->kind == NAME)
        return layout_ends_operand(&words->items[before]);
    /* a comprehension may go on with `for` on a line of its own, but not as far left as a statement */
    return layout_starts_statement(word) &&
           layout_measure(word).column <= layout->indents[layout->depth].column;
}

/* True when the word is to be handed on. */
static bool layout_open(struct layout *layout, const struct token *word)
{
    if (layout->open == DSL_MAX_NESTING) {
        layout_refuse_nesting(layout, word->span);
        return false;
    }
    layout->brackets[layout->open++] = *word;
    return true;
}

static bool layout_is_closable(const struct layout *layout, const struct token *word)
{
    for (int i = 0; i < layout->open; i++)
        if (layout_partner(layout->brackets[i].kind) == word->kind)
            return true;
    return false;
}

/* Whether the innermost bracket is closed behind word `i`, in its line: then that one is not what closes it.
 */
static bool layout_is_closed_later(const struct layout *layout, const struct token_list *words, int i)
{
    int partner = layout_partner(layout->brackets[layout->open - 1].kind), open = layout->open;

    for (i++; i < words->count && words->items[i].kind != LINE_END; i++) {
        int kind = words->items[i].kind;
        if (kind == '(' || kind == '[' || kind == '{')
            open++;
        else if ((kind == ')' || kind == ']' || kind == '}') && open-- == layout->open)
            return kind == partner;
    }
    return false;
}

/* True when the word is to be handed on. */
static bool layout_closing(struct layout *layout, const struct token_list *words, int i)
{
    const struct token *word = &words->items[i];
    const struct token *bracket = layout->open ? &layout->brackets[layout->open - 1] : NULL;
    char opened[2] = {bracket ? (char)bracket->kind : 0, 0}, closed[2] = {(char)word->kind, 0};
    struct diagnostic_entry *entry;

    if (layout_is_closable(layout, word)) {
        while (layout_partner(layout->brackets[layout->open - 1].kind) != word->kind)
            layout_close(layout, word->span);
        layout->open--;
        return true;
    }
    if (layout->too_deep)
        return false;
    if (bracket && !layout_is_closed_later(layout, words, i)) {
        entry = diagnostic_add(layout->diagnostics, MSG_MISMATCHED_BRACKET, word->span, opened, closed);
        diagnostic_note(entry, "note: '%s' stands on line %d, column %d", opened, bracket->span.line,
                        bracket->span.column);
        diagnostic_fix(entry, "%c", layout_partner(bracket->kind));
        layout_put(layout, layout_partner(bracket->kind), word->span);
        layout->open--;
    } else {
        entry = diagnostic_add(layout->diagnostics, MSG_UNMATCHED_BRACKET, word->span, closed);
        diagnostic_note(entry, "help: remove it, or write the bracket that it closes");
        if (bracket)
            diagnostic_fix(entry, "%s", "");
    }
    return false;
}

/* JavaScript's === and !==. */
static bool layout_is_third(const struct token_list *words, int i)
{
    const struct token *before = i > 0 ? &words->items[i - 1] : NULL;

    return before && (before->kind == EQUAL || before->kind == NOT_EQUAL) &&
           before->span.end_line == words->items[i].span.line &&
           before->span.end_column == words->items[i].span.column;
}

/* A '{' that ends the head of a block, as in C, in the place of its ':'. Of a loop with three parts there is
 * more to say than that. */
static bool layout_is_brace_of_block(const struct layout *layout, const struct token_list *words, int i)
{
    bool last = i + 1 == words->count || words->items[i + 1].kind == LINE_END;

    if (words->items[i].kind != '{')
        return false;
    for (int k = i; k > 0 && words->items[k].kind != LINE_END; k--)
        if (words->items[k].kind == ';')
            return false;
    return last && layout->open == 0 && !layout->has_colon && layout_starts_block(layout->first);
}

static void layout_brace_of_block(struct layout *layout, struct token word)
{
    struct diagnostic_entry *entry = diagnostic_add(layout->diagnostics, MSG_MISSING_COLON, word.span);

    diagnostic_note(entry, "help: write ':' in the place of '{'; the indentation tells where a block ends");
    diagnostic_fix(entry, ":");
    layout->braces++;
    layout->has_colon = true;
    word.kind = ':';
    list_push(layout->arena, layout->out, word);
}

/* A '}' at the start of a line that ends such a block; the line goes on behind it. */
static bool layout_is_end_of_block(struct layout *layout, const struct token *word, const struct token *next)
{
    struct diagnostic_entry *entry;
    struct span span = word->span;

    if (word->kind != '}' || layout->open > 0 || layout->braces == 0)
        return false;
    layout->braces--;
    if (next && next->kind != LINE_END) /* what follows is to stand where the bracket does */
        span.end_column = next->span.column;
    entry = diagnostic_add(layout->diagnostics, MSG_UNMATCHED_BRACKET, span, "}");
    diagnostic_note(entry, "help: remove it: a block ends where its indentation does");
    diagnostic_fix(entry, "%s", "");
    return true;
}

/* A word inside a logical line: may be changed to what was meant. */
static void layout_word(struct layout *layout, const struct token_list *words, int i)
{
    struct token word = words->items[i];

    layout->open_end = word.open;
    if (layout_is_brace_of_block(layout, words, i)) {
        layout_brace_of_block(layout, word);
        return;
    }
    if (word.kind == '(' || word.kind == '[' || word.kind == '{') {
        if (!layout_open(layout, &word))
            return;
    } else if (word.kind == ')' || word.kind == ']' || word.kind == '}') {
        if (!layout_closing(layout, words, i))
            return;
    } else if (word.kind == ':') {
        bool last = i + 1 == words->count || words->items[i + 1].kind == LINE_END;
        if (last && layout->open > 0 && layout_starts_block(layout->first) &&
            layout->brackets[layout->open - 1].kind == '(')
            layout_close_all(layout, word.span);
        layout->has_colon |= layout->open == 0;
    } else if (word.kind == '=' && layout_is_third(words, i)) {
        const struct token *before = &words->items[i - 1];
        struct diagnostic_entry *entry =
            diagnostic_add(layout->diagnostics, MSG_NOT_IN_LANGUAGE, span_join(before->span, word.span),
                           before->kind == EQUAL ? "'==='" : "'!=='");
        diagnostic_note(entry, "help: to compare, write %s", before->kind == EQUAL ? "==" : "!=");
        diagnostic_fix(entry, "%s", before->kind == EQUAL ? "==" : "!=");
        return;
    } else if (word.kind == '=' && layout->open == 0 && !layout->has_colon &&
               (layout->first == IF || layout->first == ELIF || layout->first == WHILE ||
                layout->first == ASSERT)) {
        struct diagnostic_entry *entry =
            diagnostic_add(layout->diagnostics, MSG_ASSIGN_IN_CONDITION, word.span);
        diagnostic_note(entry, "help: to compare, write ==");
        diagnostic_fix(entry, "==");
        word.kind = EQUAL;
    }
    list_push(layout->arena, layout->out, word);
}

/* Ends the logical line; a line that starts a block and lacks its ':' gets it where a block follows. */
static void layout_end_line(struct layout *layout, const struct token *next, struct span last,
                            struct span end)
{
    if (layout_starts_block(layout->first) && !layout->has_colon && next &&
        layout_measure(next).column > layout->indents[layout->depth].column) {
        struct span behind = {last.end_line, last.end_column, last.end_line, last.end_column};
        bool told =
            layout->open_end && diagnostics_has_error_between(layout->diagnostics, last.line, last.line);
        if (!told) { /* a string that is not closed has taken the ':' */
            struct diagnostic_entry *entry = diagnostic_add(layout->diagnostics, MSG_MISSING_COLON, behind);
            if (!layout->open_end)
                diagnostic_fix(entry, ":");
        }
        layout_put(layout, ':', behind);
    }
    layout_put(layout, LINE_END, end);
}

void layout_apply(struct arena *arena, const struct token_list *words, struct token_list *tokens,
                  akg_diagnostics *diagnostics)
{
    struct layout *layout = arena_new(arena, struct layout);
    struct span last = {1, 1, 1, 1};
    bool line_start = true;
    const struct token *margin = NULL; /* the first word of the line, where that was dropped */

    layout->arena = arena;
    layout->out = tokens;
    layout->diagnostics = diagnostics;
    /* and the starts and ends of blocks: a list that grows would take twice the memory */
    list_reserve(arena, tokens, words->count + words->count / 8 + 16);
    for (int i = 0; i < words->count; i++) {
        const struct token *word = &words->items[i];
        bool first_on_line = i == 0 || words->items[i - 1].kind == LINE_END;

        if (word->kind == LINE_END) {
            if (!line_start && layout->open == 0) {
                layout_end_line(layout, layout_next_word(words, i), last, word->span);
                line_start = true;
            }
            last = word->span;
            continue;
        }
        if (layout->open > 0 && first_on_line && layout_bracket_was_forgotten(layout, words, i)) {
            layout_close_all(layout, last);
            layout_end_line(layout, word, last, last);
            line_start = true;
        }
        last = word->span;
        if (line_start &&
            layout_is_end_of_block(layout, word, i + 1 < words->count ? &words->items[i + 1] : NULL)) {
            margin = first_on_line ? word : margin;
            continue;
        }
        if (line_start) {
            layout_indent(layout, margin && !first_on_line ? margin : word);
            margin = NULL;
            if (layout->ended)
                break;
            line_start = false;
            layout->first = word->kind;
            layout->has_colon = false;
        }
        layout_word(layout, words, i);
    }
    last = (struct span){last.end_line, last.end_column, last.end_line, last.end_column};
    layout_close_all(layout, last);
    if (!line_start)
        layout_put(layout, LINE_END, last);
    for (; layout->depth > 0; layout->depth--)
        if (!layout->indents[layout->depth].stray)
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
