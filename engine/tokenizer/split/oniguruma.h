/* Translates the regular expressions of tokenizer.json, which have Oniguruma's Ruby syntax, to
 * PCRE2's syntax; private to engine/tokenizer.
 *
 * These differ: \s, \w, \b and their opposites (Oniguruma's sets are spelt out, because PCRE2's
 * differ in U+180E, in marks, connectors and some digits), \h (a hexadecimal digit), a class inside
 * a class, an intersection [a&&[^b]], an interval with a plus ({1,3}+ repeats it), scripts (without
 * their extensions).
 *
 * Ownership: the caller's buffer.
 * Threading: pure.
 * Errors:    INVALID with the part that PCRE2's syntax cannot express; NO_MEMORY.
 */
#ifndef BATON_ENGINE_TOKENIZER_SPLIT_ONIGURUMA_H
#define BATON_ENGINE_TOKENIZER_SPLIT_ONIGURUMA_H

#include "common/base/buf.h"
#include "common/base/error.h"

/* Appends the n bytes of UTF-8 at pattern, rewritten, to out. */
enum baton_err baton_oniguruma_to_pcre2(const char *pattern, size_t n, struct baton_buf *out,
                                        struct baton_why *why) BATON_MUST_CHECK;

#endif
