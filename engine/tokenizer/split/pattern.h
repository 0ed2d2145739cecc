/* A text or a regular expression, and its search in text; private to engine/tokenizer.
 *
 * Regular expressions run in PCRE2 with Unicode's properties, compiled to machine code where the
 * system allows it. Each search has a limit on its steps in proportion to the text it reads, and so
 * have all searches of a text together: a pattern that backtracks without end, or reads the rest of
 * a text at every word, is refused instead of hanging.
 *
 * Ownership: create/destroy; keeps no text.
 * Threading: one thread at a time (the match data is shared between calls).
 * Errors:    create: INVALID (the pattern), NO_MEMORY. find: INVALID (too many steps), NO_MEMORY,
 *            INTERNAL.
 */
#ifndef BATON_ENGINE_TOKENIZER_SPLIT_PATTERN_H
#define BATON_ENGINE_TOKENIZER_SPLIT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "engine/checkpoint/tokenizer_steps.h"

struct baton_pattern;

/* Few words are longer. */
enum { BATON_PATTERN_WINDOW_BYTES = 1024 };

/* want_jit: compile to machine code. Where the system refuses writable code (W^X) the interpreter
 * is used, with the same results. window_bytes: the text that a search reads before it reads more;
 * the matches do not depend on it. */
enum baton_err baton_pattern_create(const struct baton_step_pattern *source, bool want_jit,
                                    size_t window_bytes, struct baton_pattern **pattern,
                                    struct baton_why *why) BATON_MUST_CHECK;
/* Accepts NULL. */
void baton_pattern_destroy(struct baton_pattern *pattern);

/* Bytes start .. end - 1; found is false when there is none. */
struct baton_match {
    size_t start, end;
    bool found;
};

/* Finds the first match at or after start (<= n) in the n bytes of valid UTF-8 at text. It may be
 * empty. The first search of a text must start at 0. */
enum baton_err baton_pattern_find(struct baton_pattern *pattern, const char *text, size_t n,
                                  size_t start, struct baton_match *match,
                                  struct baton_why *why) BATON_MUST_CHECK;

/* Finds the match after previous (whose found is false before the first). An empty match at the end
 * of the previous match is skipped, and the search after an empty match starts behind it. */
enum baton_err baton_pattern_next(struct baton_pattern *pattern, const char *text, size_t n,
                                  struct baton_match *previous,
                                  struct baton_why *why) BATON_MUST_CHECK;

#endif
