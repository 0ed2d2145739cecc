/* Text in which certain strings do not stand; private to engine/grammar.
 *
 * Ownership: none.
 * Threading: pure.
 * Errors: INVALID with the reason (an empty string, more than BATON_EXCLUDES_MAX_CHARS in all, no
 *            UTF-8), NO_MEMORY.
 */
#ifndef BATON_ENGINE_GRAMMAR_LANGUAGE_ANY_TEXT_H
#define BATON_ENGINE_GRAMMAR_LANGUAGE_ANY_TEXT_H

#include "common/base/json.h"
#include "engine/grammar/language/expr.h"

enum { BATON_EXCLUDES_MAX_CHARS = 200 };

/* Characters in any number, of which no part is one of the strings; NULL: of any kind. */
enum baton_err baton_any_text(struct baton_exprs *exprs, const struct baton_json *excludes,
                              uint32_t *expr, struct baton_why *why) BATON_MUST_CHECK;

#endif
