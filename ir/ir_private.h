/*
 * ir_private.h: what the files of ir/ share and nobody else includes.
 */
#ifndef IR_IR_PRIVATE_H
#define IR_IR_PRIVATE_H

#include "ir.h"

/* ---- operations.c ------------------------------------------------------- */

/* What the operation gives for operands of these dtypes (one per operand; not for CAST). */
akg_dtype ir_result_dtype(enum operation operation, const akg_dtype *operands);
/* Whether the rule of the operation's row takes operands of these dtypes. */
bool ir_operands_fit(enum operation operation, const akg_dtype *operands);
/* Whether the text form has it between its operands, in parentheses. */
bool ir_operation_is_infix(enum operation operation);

/* ---- ir_names.c --------------------------------------------------------- */

/* One name of a kernel and what bears it. */
struct ir_name {
    const char *name;
    struct ir_symbol *symbol; /* one of the two is set once the name is given */
    struct ir_buffer *buffer;
    int suffix; /* the last one tried for a fresh name made from this one */
    int state;  /* the verifier's */
    struct ir_name *next;
};

struct ir_names;
struct ir_names *ir_names_new(struct arena *arena);
/* The entry, or NULL. */
struct ir_name *ir_names_find(const struct ir_names *names, const char *name);
/* A new entry for a name that is not there; the string is kept, not copied. */
struct ir_name *ir_names_add(struct ir_names *names, const char *name);
/* A new entry for a copy of `name`, or of name_1, name_2, ... when it is taken. */
struct ir_name *ir_names_fresh(struct ir_names *names, const char *name);

/* ---- ir_build.c --------------------------------------------------------- */

/* An operation as given: nothing is folded, `checked` is false. The operands are copied from the array. */
struct ir_expr *ir_operation_node(struct ir_kernel *kernel, enum operation operation, akg_dtype dtype,
                                  struct ir_expr *const *operands);

/* ---- ir_lex.c ----------------------------------------------------------- */

/* Words that would be read as something else where a name may stand; a name that is one is printed in
 * backquotes. */
bool ir_word_is_reserved(const char *word, size_t length);
bool ir_word_is_plain(const char *word);

enum ir_token_kind {
    IR_TOKEN_END,
    IR_TOKEN_NAME,
    IR_TOKEN_WORD,
    IR_TOKEN_INTEGER,
    IR_TOKEN_REAL,
    IR_TOKEN_STRING,
    IR_TOKEN_SIGN,
    IR_TOKEN_BAD
};

struct ir_token {
    enum ir_token_kind kind;
    const char *start; /* in the text, `length` bytes, quotes included */
    size_t length;
    bool quoted; /* NAME: in backquotes */
    struct span span;
};

struct ir_lexer {
    const char *next, *end;
    int line, column;
};

void ir_lexer_init(struct ir_lexer *lexer, const char *text, size_t length);
struct ir_token ir_lexer_next(struct ir_lexer *lexer);
/* What a string or quoted name stands for, in the arena; NULL for a bad escape. */
const char *ir_token_unquote(struct arena *arena, const struct ir_token *token);

#endif
