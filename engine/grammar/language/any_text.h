/* Text that does not contain certain strings; private to engine/grammar.
 *
 * Ownership: none.
 * Threading: pure.
 * Errors:    INVALID with the reason (an empty string, more than BATON_EXCLUDES_MAX_CHARS together,
 *            not UTF-8), NO_MEMORY.
 */
#ifndef BATON_ENGINE_GRAMMAR_LANGUAGE_ANY_TEXT_H
#define BATON_ENGINE_GRAMMAR_LANGUAGE_ANY_TEXT_H

#include "common/base/json.h"
#include "engine/grammar/language/expr.h"

enum { BATON_EXCLUDES_MAX_CHARS = 200 };

/* Makes text of any length that contains none of the strings; NULL: any text. */
enum baton_err baton_any_text(struct baton_exprs *exprs, const struct baton_json *excludes,
                              uint32_t *expr, struct baton_why *why) BATON_MUST_CHECK;

#endif
