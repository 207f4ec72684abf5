/*
 * format.c: a program printed canonically, from its words and comments.
 *
 * Works on words, not on the tree: so comments keep their places, and what is printed are the words that
 * were read.
 */
#include "format.h"

#include <string.h>

#include "build.h"
#include "parser.h"

struct formatter {
    const struct token_list *words;
    const struct token_list *comments;
    int comment; /* the next one to print */
    struct text *out;
    int columns[DSL_MAX_NESTING + 2]; /* of the open blocks, in the source */
    int depth;
    int brackets[DSL_MAX_NESTING + 2];   /* open ones */
    bool annotated[DSL_MAX_NESTING + 2]; /* a ':' was seen since the last comma in that bracket */
    int open;
    int last_line;  /* of the source: end of what was printed last */
    bool in_header; /* of a def */
    bool any;       /* something was printed */
    bool after_decorator;
};

/* As layout.c measures it. */
static int format_column(const struct token *word)
{
    int column = 0;
    for (const char *at = word->text - (word->span.column - 1); at < word->text; at++)
        column = *at == '\f' ? 0 : *at == '\t' ? (column / 8 + 1) * 8 : column + 1;
    return column;
}

/* ---- spaces between two words ------------------------------------------------------------ */

static bool format_is_value_end(const struct token *word)
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
    case '}':
        return true;
    default:
        return false;
    }
}

/* A sign or star that stands before its operand: -x, *xs. */
static bool format_is_prefix(const struct token *before, const struct token *word)
{
    if (word->kind == '~')
        return true;
    if (word->kind != '-' && word->kind != '+' && word->kind != '*' && word->kind != POWER)
        return false;
    return !before || !format_is_value_end(before);
}

static bool format_space(struct formatter *f, const struct token *first, const struct token *a,
                         const struct token *b)
{
    int inner = f->open > 0 ? f->brackets[f->open - 1] : 0;

    if (a->kind == ',' && b->kind == ':')
        return true; /* x[0, :] */
    if (strchr(")]},:;.", b->kind < 256 ? b->kind : 'x') && b->kind < 256)
        return b->kind == '.' && a->kind == INTEGER; /* 1 .real: keep it two words */
    if (a->kind == '(' || a->kind == '[' || a->kind == '{' || a->kind == '.' || a->kind == '@')
        return false;
    if (a->kind == ':' && inner == '[')
        return false;
    if ((a->kind == '=' || b->kind == '=') && f->open > 0)
        return f->in_header && f->annotated[f->open];
    if (format_is_prefix(a == first ? NULL : a - 1, a))
        return false;
    if (b->kind == '(' || b->kind == '[')
        return !format_is_value_end(a) || a->kind == INTEGER;
    return true;
}

/* ---- lines --------------------------------------------------------------------------------- */

static void format_line_start(struct formatter *f, int indent)
{
    text_repeat(f->out, ' ', 4 * indent);
    f->any = true;
}

static void format_comment_text(struct formatter *f, const struct token *comment)
{
    int length = comment->length;
    while (length > 0 && (comment->text[length - 1] == ' ' || comment->text[length - 1] == '\t'))
        length--;
    text_append(f->out, comment->text, (size_t)length);
}

/* Empty lines between two lines of the source: at most one in a block, two between functions. */
static void format_gap(struct formatter *f, int line, int indent, bool definition)
{
    int empty = line - f->last_line - 1;

    if (!f->any)
        return;
    if (definition && indent == 0 && !f->after_decorator)
        empty = 2;
    else if (indent > 0 && empty > 1)
        empty = 1;
    else if (empty > 2)
        empty = 2;
    if (f->after_decorator)
        empty = 0;
    for (int i = 0; i < empty; i++)
        text_char(f->out, '\n');
}

/* The depth at which a comment of its own stands: that of the block whose column it has reached; where the
 * next line opens a block, of that one from the first column beyond its header on. */
static int format_comment_depth(const struct formatter *f, const struct token *comment, int next_depth,
                                bool opens_block)
{
    int column = format_column(comment), depth = 0;

    while (depth < f->depth && f->columns[depth + 1] <= column)
        depth++;
    if (opens_block && column > f->columns[f->depth])
        return f->depth + 1;
    return depth > next_depth ? depth : next_depth;
}

/* Comments that stand before `line` on lines of their own. True when one was printed just above that line. */
static bool format_comments_before(struct formatter *f, int line, int next_depth, bool opens_block,
                                   bool definition)
{
    bool touching = false;
    int previous = -1; /* line of the comment before */

    while (f->comment < f->comments->count && f->comments->items[f->comment].span.line < line) {
        const struct token *comment = &f->comments->items[f->comment++];
        int depth = format_comment_depth(f, comment, next_depth, opens_block);
        /* comments right above a function belong to it, and so does the gap: before the first of them */
        bool heads = definition && depth == 0 && previous + 1 != comment->span.line;
        const struct token *other;
        for (int i = f->comment; heads && i <= f->comments->count; i++) {
            int before = (i == f->comment ? comment : &f->comments->items[i - 1])->span.line;
            other = i < f->comments->count ? &f->comments->items[i] : NULL;
            if (!other || other->span.line >= line) {
                heads = before + 1 == line;
                break;
            }
            heads = other->span.line == before + 1;
        }
        format_gap(f, comment->span.line, depth, heads);
        format_line_start(f, depth);
        format_comment_text(f, comment);
        text_char(f->out, '\n');
        f->last_line = comment->span.line;
        previous = comment->span.line;
        touching = previous + 1 == line;
    }
    return touching;
}

/* A comment at the end of a line of words. */
static void format_trailing_comment(struct formatter *f, int line)
{
    if (f->comment < f->comments->count && f->comments->items[f->comment].span.line == line) {
        text_string(f->out, "  ");
        format_comment_text(f, &f->comments->items[f->comment++]);
    }
}

static void format_track(struct formatter *f, const struct token *word)
{
    if (word->kind == '(' || word->kind == '[' || word->kind == '{') {
        if (f->open <= DSL_MAX_NESTING)
            f->brackets[f->open++] = word->kind;
        f->annotated[f->open] = false;
    } else if ((word->kind == ')' || word->kind == ']' || word->kind == '}') && f->open > 0) {
        f->open--;
    } else if (word->kind == ':') {
        f->annotated[f->open] = true;
    } else if (word->kind == ',') {
        f->annotated[f->open] = false;
    }
}

/* A break inside brackets: kept, with the comments in it, and indented by the brackets that are open. */
static void format_break(struct formatter *f, int from, const struct token *next)
{
    int indent;

    format_trailing_comment(f, from);
    text_char(f->out, '\n');
    f->last_line = from;
    indent = f->depth + f->open - (next->kind == ')' || next->kind == ']' || next->kind == '}');
    while (f->comment < f->comments->count && f->comments->items[f->comment].span.line < next->span.line) {
        format_line_start(f, f->depth + f->open);
        format_comment_text(f, &f->comments->items[f->comment++]);
        text_char(f->out, '\n');
    }
    format_line_start(f, indent);
}

/* One logical line, from words[at] to its LINE_END; the index after that. */
static int format_line(struct formatter *f, int at)
{
    const struct token_list *words = f->words;
    const struct token *first = &words->items[at], *last = first;

    f->open = 0;
    f->annotated[0] = false;
    f->in_header = first->kind == DEF;
    for (; at < words->count; at++) {
        const struct token *word = &words->items[at];
        if (word->kind == LINE_END && f->open == 0)
            break;
        if (word->kind == LINE_END)
            continue;
        if (word != first && f->open > 0 && word->span.line > last->span.end_line)
            format_break(f, last->span.end_line, word);
        else if (word != first && format_space(f, first, last, word))
            text_char(f->out, ' ');
        text_append(f->out, word->text, (size_t)word->length);
        format_track(f, word);
        last = word;
    }
    format_trailing_comment(f, last->span.end_line);
    text_char(f->out, '\n');
    f->last_line = last->span.end_line;
    return at + 1;
}

static void format_enter_block(struct formatter *f, const struct token *word)
{
    int column = format_column(word);

    if (column > f->columns[f->depth] && f->depth < DSL_MAX_NESTING)
        f->columns[++f->depth] = column;
    while (f->depth > 0 && column < f->columns[f->depth])
        f->depth--;
}

static void format_words(struct formatter *f)
{
    int at = 0;

    while (at < f->words->count) {
        const struct token *word = &f->words->items[at];
        int old_depth = f->depth, next_depth, column;
        bool definition = word->kind == DEF || word->kind == '@', touching;

        if (word->kind == LINE_END) {
            at++;
            continue;
        }
        next_depth = 0;
        column = format_column(word);
        while (next_depth < old_depth && f->columns[next_depth + 1] <= column)
            next_depth++;
        touching = format_comments_before(f, word->span.line, next_depth, column > f->columns[old_depth],
                                          definition);
        format_enter_block(f, word);
        format_gap(f, word->span.line, f->depth, definition && !touching);
        format_line_start(f, f->depth);
        at = format_line(f, at);
        f->after_decorator = word->kind == '@';
    }
    format_comments_before(f, 1 << 30, 0, false, false);
}

void format_source(struct arena *arena, const struct dsl_source *source, struct text *out,
                   akg_diagnostics *diagnostics)
{
    struct token_list words = {0}, comments = {0};
    struct formatter *f = arena_new(arena, struct formatter);

    lexer_scan(arena, source, &words, &comments, diagnostics);
    f->words = &words;
    f->comments = &comments;
    f->out = out;
    format_words(f);
}
