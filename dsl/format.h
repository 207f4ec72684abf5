/*
 * format.h: a program printed canonically.
 */
#ifndef DSL_FORMAT_H
#define DSL_FORMAT_H

#include "token.h"

/*
 * Appends the source with canonical spaces, indentation (four spaces a block) and empty lines. Comments and
 * the breaks of lines inside brackets stay; the words are the same in the same order, so the meaning is.
 * Formatting what was formatted changes nothing. Assumes a source that parses.
 */
void format_source(struct arena *arena, const struct dsl_source *source, struct text *out,
                   akg_diagnostics *diagnostics);

#endif
