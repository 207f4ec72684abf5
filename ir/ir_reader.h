/*
 * ir_reader.h: one reading of IR text, shared by ir_reader.c, ir_read_expr.c and ir_read.c.
 */
#ifndef IR_IR_READER_H
#define IR_IR_READER_H

#include "ir_private.h"

struct ir_reader {
    struct ir_lexer lexer;
    struct ir_token token; /* the next one; the end of the text after an error */
    struct ir_kernel *kernel;
    struct arena *arena;
    akg_diagnostics *diagnostics;
    int depth;
    bool failed;
    bool declares_dims; /* an unknown name is a dim: in shapes */
};

/* ---- ir_reader.c -------------------------------------------------------- */

/* The current token is not `what`. */
void ir_reader_expected(struct ir_reader *reader, const char *what);
/* `name`, read from `token`, `what` ("is not declared"). */
void ir_reader_wrong_name(struct ir_reader *reader, const struct ir_token *token, const char *name,
                          const char *what);

/* One level down; false with an error when there are too many. */
bool ir_reader_enter(struct ir_reader *reader);
void ir_reader_leave(struct ir_reader *reader);

void ir_reader_next(struct ir_reader *reader);
/* Whether a sign, a reserved word, or a word that is a keyword only where it is asked for comes next. */
bool ir_reader_at(const struct ir_reader *reader, const char *text);
bool ir_reader_accept(struct ir_reader *reader, const char *text);
void ir_reader_expect(struct ir_reader *reader, const char *text);
/* Which of `words` comes next, or -1 with an error. */
int ir_reader_choice(struct ir_reader *reader, const char *const *words, int count, const char *what);

/* What the string or quoted name that comes next stands for. */
const char *ir_reader_quoted(struct ir_reader *reader);
/* A name, "" after an error. */
const char *ir_reader_name(struct ir_reader *reader);
/* A name that nothing bears yet. */
const char *ir_reader_new_name(struct ir_reader *reader);
/* What bears that name, which was read from `token`; NULL with an error. */
struct ir_name *ir_reader_find(struct ir_reader *reader, const struct ir_token *token, const char *name);
struct ir_symbol *ir_reader_symbol(struct ir_reader *reader);
struct ir_buffer *ir_reader_buffer(struct ir_reader *reader);
bool ir_reader_dtype_at(const struct ir_reader *reader, akg_dtype *dtype);
akg_dtype ir_reader_dtype(struct ir_reader *reader);

uint64_t ir_reader_digits(struct ir_reader *reader, uint64_t limit);
/* 0 to INT_MAX */
int ir_reader_small(struct ir_reader *reader);
int64_t ir_reader_signed(struct ir_reader *reader);
/* Nothing, or @line:column, or with an end: -column, -line:column. */
struct span ir_reader_span(struct ir_reader *reader);

/* ---- ir_read_expr.c ----------------------------------------------------- */

struct ir_expr *ir_read_expr(struct ir_reader *reader);
/* [i?, j] after the name of a buffer */
struct ir_access ir_read_access(struct ir_reader *reader, struct ir_buffer *buffer);

#endif
