/*
 * build_refuse.c: syntax errors in words: what was meant, as far as the tokens around show it.
 */
#include "build.h"

#include <string.h>

#include "parser.h"

/* Python constructs a newcomer may try: a better word than "unexpected". */
static bool build_reserved_error(struct parser *p, const struct token *token)
{
    static const struct {
        const char *word, *help;
    } words[] = {
        {"class", "an .akg file holds functions only"},
        {"lambda", "write a function with def; it is inlined where it is called"},
        {"try", "errors stop the call; test the condition with if instead"},
        {"except", "errors stop the call; test the condition with if instead"},
        {"raise", "state the condition with assert: it is checked before the kernel runs"},
        {"global", "constants of the file can be read; results are returned"},
        {"nonlocal", "pass values as arguments"},
        {"yield", "write the elements of an output_tensor instead"},
        {"async", "mark a loop parallel instead"},
        {"await", "kernels run to the end"},
        {"del", "names end with their block"},
        {"finally", "errors stop the call"},
    };
    struct diagnostic_entry *entry = NULL;
    char *quoted;

    if (token->kind != RESERVED)
        return false;
    if ((token->text[0] == 'e' || token->text[0] == 'f') && akg_diagnostics_error_count(p->diagnostics))
        return true; /* except and finally: the try was reported */
    quoted = arena_format(p->arena, "'%.*s'", token->length, token->text);
    entry = diagnostic_add(p->diagnostics, MSG_NOT_IN_LANGUAGE, token->span, quoted);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if ((int)strlen(words[i].word) == token->length &&
            memcmp(words[i].word, token->text, (size_t)token->length) == 0)
            diagnostic_note(entry, "help: %s", words[i].help);
    return true;
}

void build_damage(struct parser *p, int line)
{
    int low = 0, high = p->tokens->count;

    while (low < high) {
        int middle = (low + high) / 2;
        if (p->tokens->items[middle].span.line < line)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < p->tokens->count && p->tokens->items[low].span.line == line; low++) {
        const struct token *token = &p->tokens->items[low];
        if (token->kind == NAME)
            list_push(p->arena, &p->module->damaged,
                      arena_copy(p->arena, token->text, (size_t)token->length));
    }
}

static bool build_ends_statement(int kind)
{
    return kind == LINE_END || kind == INDENT || kind == DEDENT || kind == ';';
}

/* Number of the first token of the statement that token `at` stands in. */
static int build_statement_start(const struct parser *p, int at)
{
    while (at > 0 && !build_ends_statement(p->tokens->items[at - 1].kind))
        at--;
    return at;
}

/* A misspelt word at the start of a statement: fro i in ... */
static bool build_keyword_error(struct parser *p, int at)
{
    static const char *const words[] = {"def",    "for",  "while", "if",       "elif", "else",   "return",
                                        "assert", "with", "break", "continue", "pass", "import", "from"};
    int start = build_statement_start(p, at);
    const struct token *word = &p->tokens->items[start];
    const char *name, *nearest;
    struct diagnostic_entry *entry;

    if (start == at || start + 2 < at || word->kind != NAME || word->length > 20)
        return false;
    name = arena_copy(p->arena, word->text, (size_t)word->length);
    nearest = spelling_nearest(name, words, (int)(sizeof words / sizeof words[0]));
    if (!nearest)
        return false;
    entry = diagnostic_add(p->diagnostics, MSG_SYNTAX, word->span, arena_format(p->arena, "'%s'", name));
    diagnostic_note(entry, "help: did you mean '%s'?", nearest);
    diagnostic_fix(entry, "%s", nearest);
    return true;
}

/* The head of a block whose keyword runs into the name behind it: fori in range(n): */
static bool build_run_on(struct parser *p, int at)
{
    static const char *const words[] = {"for", "if", "elif", "while"};
    int start = build_statement_start(p, at);
    const struct token *items = p->tokens->items, *word = &items[start];
    struct diagnostic_entry *entry;

    if (word->kind != NAME || word->length > 40 || at < start + 3 || items[at].kind != LINE_END ||
        items[at - 1].kind != ':')
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        int length = (int)strlen(words[i]);
        if (word->length <= length || memcmp(word->text, words[i], (size_t)length) != 0)
            continue;
        entry = diagnostic_add(p->diagnostics, MSG_SYNTAX, word->span,
                               arena_format(p->arena, "'%.*s'", word->length, word->text));
        diagnostic_note(entry, "help: did you mean '%s %.*s'?", words[i], word->length - length,
                        word->text + length);
        diagnostic_fix(entry, "%s %.*s", words[i], word->length - length, word->text + length);
        return true;
    }
    return false;
}

/* A keyword of another language that has one of its own here. */
static bool build_other_keyword(struct parser *p, int at)
{
    static const char *const words[][2] = {
        {"elseif", "elif"}, {"elsif", "elif"}, {"function", "def"}, {"func", "def"}, {"fn", "def"}};
    const struct token *word = &p->tokens->items[build_statement_start(p, at)];
    struct diagnostic_entry *entry;

    for (size_t i = 0; word->kind == NAME && i < sizeof words / sizeof words[0]; i++) {
        if ((int)strlen(words[i][0]) != word->length ||
            memcmp(words[i][0], word->text, (size_t)word->length) != 0)
            continue;
        entry = diagnostic_add(p->diagnostics, MSG_NOT_IN_LANGUAGE, word->span,
                               arena_format(p->arena, "'%s'", words[i][0]));
        diagnostic_note(entry, "help: write %s", words[i][1]);
        diagnostic_fix(entry, "%s", words[i][1]);
        return true;
    }
    return false;
}

/* else if, as in C. */
static bool build_else_if(struct parser *p, int at)
{
    const struct token *items = p->tokens->items;
    struct diagnostic_entry *entry;

    if (at == 0 || items[at].kind != IF || items[at - 1].kind != ELSE)
        return false;
    entry = diagnostic_add(p->diagnostics, MSG_NOT_IN_LANGUAGE, span_join(items[at - 1].span, items[at].span),
                           "'else if'");
    diagnostic_note(entry, "help: write elif");
    diagnostic_fix(entry, "elif");
    return true;
}

static bool build_is_operand(int kind)
{
    return kind == NAME || kind == INTEGER || kind == REAL || kind == STRING || kind == TRUE_WORD ||
           kind == FALSE_WORD || kind == NONE_WORD;
}

/* A statement of Python that begins with a word which is a name here. */
static const char *build_foreign_statement(const struct parser *p, const struct token *word,
                                           const char **help)
{
    static const struct {
        const char *word, *help;
    } words[] = {{"match", "write if and elif"},
                 {"case", "write if and elif"},
                 {"switch", "write if and elif"},
                 {"var", "assign the first value: n = 0"},
                 {"let", "assign the first value: n = 0"},
                 {"const", "assign the value: n = 0"},
                 {"auto", "assign the first value: n = 0"},
                 {"int", "assign the first value: n = 0"},
                 {"float", "assign the first value: n = 0.0"},
                 {"double", "assign the first value: n = 0.0"},
                 {"print", "a kernel cannot print; return the value in a tensor"}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if ((int)strlen(words[i].word) == word->length &&
            memcmp(words[i].word, word->text, (size_t)word->length) == 0) {
            *help = words[i].help;
            return arena_format(p->arena, "'%s'", words[i].word);
        }
    return NULL;
}

/* 0..10, 0..=n, n..m behind `in`: word `at` is the first that cannot follow the dots, or the last of them. */
static bool build_is_interval(const struct parser *p, int at)
{
    const struct token *items = p->tokens->items;
    const struct token *before = at > 0 ? &items[at - 1] : NULL;

    if (!before)
        return false;
    if (items[at].kind == REAL && items[at].text[0] == '.')
        return before->kind == REAL && before->text[before->length - 1] == '.';
    return (items[at].kind == '.' || items[at].kind == '=') && before->kind == '.' && at > 2 &&
           (items[at - 2].kind == REAL || items[at - 3].kind == IN);
}

/* What Python has and this language has not, as far as the word that cannot be read shows it. */
static const char *build_foreign_construct(const struct parser *p, int at, const char **help)
{
    const struct token *items = p->tokens->items;
    int kind = items[at].kind, next = at + 1 < p->tokens->count ? items[at + 1].kind : 0;

    if (build_is_interval(p, at)) {
        *help = BUILD_INTERVAL_HELP;
        return "'..'";
    }
    if (kind == FOR) {
        *help = "write the loop, and assign to the elements of a tensor in it";
        return "a comprehension";
    }
    if (kind == '@') {
        *help = "write matmul(a, b), or in a kernel the loops of the product";
        return "'@' between values";
    }
    if (kind == POWER && at > 0 && (items[at - 1].kind == ',' || items[at - 1].kind == '(')) {
        *help = "name the parameters; attributes have defaults: alpha=0.5";
        return "'**' before a name";
    }
    if (kind == '.' && next == '.') {
        *help =
            "give an index or a slice for each axis, x[i, :]; for any rank, for p in grid(x.shape): ... x[p]";
        return "'...'";
    }
    if (kind == ',' && at > 1 && items[at - 1].kind == '*' &&
        (items[at - 2].kind == ',' || items[at - 2].kind == '(')) {
        *help = "leave it out: every parameter may be given by its name";
        return "'*' alone";
    }
    if (kind == ':' && next == '=') {
        *help = "assign in a statement of its own";
        return "':='";
    }
    if (at == build_statement_start(p, at) + 1 && build_is_operand(kind))
        return build_foreign_statement(p, &items[at - 1], help);
    return NULL;
}

static bool build_is_dtype(const struct token *token)
{
    for (int i = 0; i < AKG_DTYPE_COUNT; i++)
        if ((int)strlen(dtype_table[i].name) == token->length &&
            memcmp(dtype_table[i].name, token->text, (size_t)token->length) == 0)
            return true;
    return false;
}

/* What wants an operand behind it, wherever it stands. */
static bool build_is_operator(int kind)
{
    static const int kinds[] = {
        AND,           OR,        NOT, POWER, FLOOR_DIVIDE, SHIFT_LEFT, SHIFT_RIGHT, LESS_EQUAL, EQUAL,
        GREATER_EQUAL, NOT_EQUAL, '+', '-',   '/',          '%',        '&',         '|',        '^',
        '~',           '<',       '>', '*'};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i] == kind)
            return true;
    return false;
}

/* Where no value can begin: the operator before it lacks its operand. */
static bool build_ends_operand(int kind)
{
    return kind == ELSE || kind == IF || kind == ':' || kind == ')' || kind == ']' || kind == ',' ||
           kind == AND || kind == OR;
}

static bool build_ends_line(int kind)
{
    return kind == LINE_END || kind == INDENT || kind == DEDENT;
}

/* Whether the statement before a line is a loop. */
static bool build_follows_loop(const struct token *items, int at)
{
    int open = 0;

    do { /* back over its block, from line to line */
        for (at--; at >= 0 && build_ends_line(items[at].kind); at--)
            open += (items[at].kind == DEDENT) - (items[at].kind == INDENT);
        while (at > 0 && !build_ends_line(items[at - 1].kind))
            at--;
    } while (at >= 0 && open > 0);
    return at >= 0 && (items[at].kind == FOR || items[at].kind == WHILE);
}

/* An else or elif: of a conditional expression, or of a statement. */
static const char *build_advice_else(const struct token *items, int at, int start)
{
    if (at == start && items[at].kind == ELSE && build_follows_loop(items, at))
        return "a loop has no 'else': what comes after it is written behind it";
    if (at == start || items[at].kind == ELIF)
        return "'else' and 'elif' follow the block of an if, indented as that if";
    if (items[at - 1].kind == IF)
        return "the condition is missing between 'if' and 'else'";
    return "a choice is written: a if condition else b";
}

/* for i in 0:n:, for i in 0 to n: */
static bool build_counts_otherwise(const struct token *items, int at)
{
    const struct token *word = &items[at];

    if (at < 2)
        return false;
    return (word->kind == LINE_END && items[at - 1].kind == ':') ||
           (word->kind == NAME && word->length == 2 && memcmp(word->text, "to", 2) == 0 &&
            items[at - 2].kind == IN);
}

/* A line of advice for the token that cannot be read. */
static const char *build_advice(struct parser *p, int at)
{
    const struct token *items = p->tokens->items;
    int kind = items[at].kind, before = at > 0 ? items[at - 1].kind : 0;
    int start = build_statement_start(p, at), first = items[start].kind;

    if (first == FOR && ((at > start + 1 && items[start + 1].kind == '(' && at <= start + 4) ||
                         build_counts_otherwise(items, at)))
        return "a loop over numbers is written: for i in range(n):";
    if (kind == NAME && before == NAME && first == DEF && build_is_dtype(&items[at - 1]))
        return arena_format(p->arena, "a dtype follows the name: %.*s: %.*s", items[at].length,
                            items[at].text, items[at - 1].length, items[at - 1].text);
    if (at > start && build_is_operator(before) && build_ends_operand(kind))
        return arena_format(p->arena, "a value is missing between '%.*s' and '%.*s'", items[at - 1].length,
                            items[at - 1].text, items[at].length, items[at].text);
    if (kind == ELSE || kind == ELIF)
        return build_advice_else(items, at, start);
    if (kind == '=' && (first == IF || first == ELIF || first == WHILE || first == RETURN))
        return "to compare, write ==";
    if (kind == LINE_END && before == ':' && first == NAME && at > 1 && items[at - 2].kind == ')')
        return "a function begins with def: def f(x):";
    if (kind == '=' && first != FOR && first != DEF)
        return "one '=' in a statement: write b = c, then a = b";
    if (at > 1 && (before == '+' || before == '-') && items[at - 2].kind == before && kind == LINE_END)
        return before == '+' ? "to count up, write n += 1" : "to count down, write n -= 1";
    return NULL;
}

/* 'for' is shown as a word of the language, "end of line" as it is. */
static const char *build_quoted(struct parser *p, const char *name)
{
    static const char *const plain[] = {"name", "number", "string", "indentation"};
    bool keyword = name[0] != '\'' && !strchr(name, ' ');

    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        keyword &= strcmp(name, plain[i]) != 0;
    return keyword ? arena_format(p->arena, "'%s'", name) : name;
}

static void build_note_expected(struct parser *p, struct diagnostic_entry *entry, int at,
                                const char *const *expected, int count)
{
    const struct token *items = p->tokens->items;
    int before = at > 0 ? items[at - 1].kind : 0;
    const char *advice = build_advice(p, at), *list;
    bool closes = count == 1 && (strcmp(expected[0], "')'") == 0 || strcmp(expected[0], "']'") == 0);

    if (advice) {
        diagnostic_note(entry, "help: %s", advice);
    } else if (build_is_operand(items[at].kind) &&
               (build_is_operand(before) || before == ')' || before == ']') && (count != 1 || closes)) {
        diagnostic_note(entry, "help: an operator or a comma is missing before it");
    } else if (count >= 1 && count <= 4) {
        list = build_quoted(p, expected[0]);
        for (int i = 1; i < count; i++)
            list = arena_format(p->arena, "%s%s%s", list, i + 1 == count ? " or " : ", ",
                                build_quoted(p, expected[i]));
        diagnostic_note(entry, "help: expected %s here", list);
    } else if (items[at].kind == LINE_END) {
        diagnostic_note(entry, "help: the statement is not complete; a value is missing");
    }
}

void build_syntax_error(struct parser *p, struct span span, const char *found, const char *const *expected,
                        int count)
{
    int at = p->position > 0 ? p->position - 1 : 0;
    const struct token *token;
    struct diagnostic_entry *entry;
    const char *shown = found ? build_quoted(p, found) : "text", *construct, *help = "";

    if (p->tokens->items[at].span.line != span.line || p->tokens->items[at].span.column != span.column)
        at = p->position;
    token = &p->tokens->items[at];
    if (diagnostics_has_error_between(p->diagnostics, span.line, span.line))
        return; /* one for a line is enough: others often follow from it */
    if (build_reserved_error(p, token))
        return;
    if (count == 1 && strcmp(expected[0], "indentation") == 0) {
        /* reported where the block should start: at the ':' before the line's end */
        entry =
            diagnostic_add(p->diagnostics, MSG_EMPTY_BLOCK, at >= 2 ? p->tokens->items[at - 2].span : span);
        diagnostic_note(entry, "help: indent the lines that belong to it; for none, write pass");
        build_damage(p, span.line);
        return;
    }
    if (build_other_keyword(p, at) || build_else_if(p, at))
        return;
    construct = build_foreign_construct(p, at, &help);
    if (construct) {
        entry = diagnostic_add(p->diagnostics, MSG_NOT_IN_LANGUAGE, span, construct);
        diagnostic_note(entry, "help: %s", help);
        return;
    }
    if (build_keyword_error(p, at) || build_run_on(p, at))
        return;
    if (token->length > 0 && token->length <= 40 && token->kind != LINE_END &&
        !memchr(token->text, '\n', (size_t)token->length) &&
        !memchr(token->text, '\r', (size_t)token->length))
        shown = arena_format(p->arena, "'%.*s'", token->length, token->text);
    entry = diagnostic_add(p->diagnostics, MSG_SYNTAX, span, shown);
    build_note_expected(p, entry, at, expected, count);
}
