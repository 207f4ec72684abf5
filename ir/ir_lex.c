/*
 * ir_lex.c: the text form of the IR, cut into tokens.
 *
 * Takes any bytes, of given length, and never reads past them. White space and comments
 * (# to the end of the line) separate tokens and mean nothing else.
 */
#include "ir_private.h"

#include <string.h>

bool ir_word_is_reserved(const char *word, size_t length)
{
    /* words of expressions and first words of statements; every other keyword stands where no name can */
    static const char *const words[] = {"and", "or",       "not",   "true",     "false", "inf",
                                        "nan", "if",       "else",  "for",      "while", "let",
                                        "var", "allocate", "break", "continue", "assert"};

    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strlen(words[k]) == length && memcmp(words[k], word, length) == 0)
            return true;
    return false;
}

static bool starts_word(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

bool ir_word_is_plain(const char *word)
{
    size_t length = strlen(word);

    if (!starts_word(word[0]))
        return false;
    for (size_t k = 1; k < length; k++)
        if (!starts_word(word[k]) && !is_digit(word[k]))
            return false;
    return !ir_word_is_reserved(word, length);
}

void ir_lexer_init(struct ir_lexer *lexer, const char *text, size_t length)
{
    *lexer = (struct ir_lexer){text, text + length, 1, 1};
}

/* The byte `ahead` of the next one; -1 past the end. */
static int peek(const struct ir_lexer *lexer, size_t ahead)
{
    return (size_t)(lexer->end - lexer->next) > ahead ? (unsigned char)lexer->next[ahead] : -1;
}

static void advance(struct ir_lexer *lexer)
{
    if (*lexer->next++ == '\n') {
        lexer->line++;
        lexer->column = 1;
    } else {
        lexer->column++;
    }
}

static void skip_space(struct ir_lexer *lexer)
{
    for (;;) {
        int c = peek(lexer, 0);
        if (c == '#')
            while (peek(lexer, 0) != -1 && peek(lexer, 0) != '\n')
                advance(lexer);
        else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            advance(lexer);
        else
            return;
    }
}

static void lex_digits(struct ir_lexer *lexer)
{
    while (is_digit(peek(lexer, 0)))
        advance(lexer);
}

static enum ir_token_kind lex_number(struct ir_lexer *lexer)
{
    enum ir_token_kind kind = IR_TOKEN_INTEGER;

    lex_digits(lexer);
    if (peek(lexer, 0) == '.' && is_digit(peek(lexer, 1))) {
        kind = IR_TOKEN_REAL;
        advance(lexer);
        lex_digits(lexer);
    }
    if (peek(lexer, 0) == 'e') {
        int sign = peek(lexer, 1) == '-' || peek(lexer, 1) == '+';
        if (!is_digit(peek(lexer, 1 + sign)))
            return IR_TOKEN_BAD;
        kind = IR_TOKEN_REAL;
        advance(lexer);
        if (sign)
            advance(lexer);
        lex_digits(lexer);
    }
    return starts_word(peek(lexer, 0)) ? IR_TOKEN_BAD : kind;
}

/* A string, or a name in backquotes: up to the same quote on the same line. */
static enum ir_token_kind lex_quoted(struct ir_lexer *lexer, int quote)
{
    advance(lexer);
    while (peek(lexer, 0) != quote) {
        if (peek(lexer, 0) == '\\')
            advance(lexer);
        if (peek(lexer, 0) == -1 || peek(lexer, 0) == '\n' || peek(lexer, 0) == 0)
            return IR_TOKEN_BAD;
        advance(lexer);
    }
    advance(lexer);
    return quote == '"' ? IR_TOKEN_STRING : IR_TOKEN_NAME;
}

static enum ir_token_kind lex_sign(struct ir_lexer *lexer)
{
    static const char pairs[][3] = {"//", "**", "<=", ">=", "==", "!=", "<<", ">>"};
    int first = peek(lexer, 0), second = peek(lexer, 1);

    advance(lexer);
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        if (pairs[k][0] == first && pairs[k][1] == second) {
            advance(lexer);
            return IR_TOKEN_SIGN;
        }
    return first && strchr("+-*/%<>&|^~()[]{},:=?!@", first) ? IR_TOKEN_SIGN : IR_TOKEN_BAD;
}

static enum ir_token_kind lex_word(struct ir_lexer *lexer)
{
    const char *start = lexer->next;

    while (starts_word(peek(lexer, 0)) || is_digit(peek(lexer, 0)))
        advance(lexer);
    return ir_word_is_reserved(start, (size_t)(lexer->next - start)) ? IR_TOKEN_WORD : IR_TOKEN_NAME;
}

struct ir_token ir_lexer_next(struct ir_lexer *lexer)
{
    struct ir_token token = {0};
    int c;

    skip_space(lexer);
    c = peek(lexer, 0);
    token.start = lexer->next;
    token.span.line = lexer->line;
    token.span.column = lexer->column;
    if (c == -1)
        token.kind = IR_TOKEN_END;
    else if (starts_word(c))
        token.kind = lex_word(lexer);
    else if (is_digit(c))
        token.kind = lex_number(lexer);
    else if (c == '"' || c == '`')
        token.kind = lex_quoted(lexer, c);
    else
        token.kind = lex_sign(lexer);
    token.quoted = c == '`';
    token.length = (size_t)(lexer->next - token.start);
    token.span.end_line = lexer->line;
    token.span.end_column = lexer->column;
    return token;
}

static int hex_value(int c)
{
    if (is_digit(c))
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const char *ir_token_unquote(struct arena *arena, const struct ir_token *token)
{
    const char *from = token->start + 1, *end = token->start + token->length - 1;
    char *result = arena_allocate(arena, token->length), *to = result;

    while (from < end) {
        if (*from != '\\') {
            *to++ = *from++;
            continue;
        }
        /* the lexer saw a byte after every backslash */
        switch (from[1]) {
        case 'n':
            *to++ = '\n';
            break;
        case 't':
            *to++ = '\t';
            break;
        case '\\':
        case '"':
        case '`':
            *to++ = from[1];
            break;
        case 'x':
            if (end - from < 4 || hex_value(from[2]) < 0 || hex_value(from[3]) < 0 ||
                (from[2] == '0' && from[3] == '0'))
                return NULL;
            *to++ = (char)(hex_value(from[2]) * 16 + hex_value(from[3]));
            from += 2;
            break;
        default:
            return NULL;
        }
        from += 2;
    }
    *to = 0;
    return result;
}
