/* A cursor over JSON text, for arrays and objects of a vocabulary that are too large to parse into
 * a tree; private to engine/checkpoint.
 *
 * A vocabulary of 33 MB takes 1 s and 200 MB as a tree, and 0.1 s with a cursor.
 *
 * Ownership: borrows the text.
 * Threading: one owner.
 * Errors:    functions return false where the text is not of the wanted form; the cursor stays
 *            there.
 */
#ifndef BATON_ENGINE_CHECKPOINT_HF_JSON_TEXT_H
#define BATON_ENGINE_CHECKPOINT_HF_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/base/json.h"

struct baton_json_text {
    const char *at, *end;
};

/* The bytes of one value. start NULL: there is none. */
struct baton_json_span {
    const char *start;
    size_t n;
};

/* Returns a cursor at the start of a span, which may be none, behind a byte order mark. */
static inline struct baton_json_text baton_json_text_of(struct baton_json_span span)
{
    size_t n_mark = span.n >= 3 && !memcmp(span.start, "\xef\xbb\xbf", 3) ? 3 : 0;
    return (struct baton_json_text){.at = n_mark ? span.start + n_mark : span.start,
                                    .end = span.n ? span.start + span.n : span.start};
}

/* Skips white space and then c; false when another character follows. */
bool baton_json_text_take(struct baton_json_text *text, char c);

/* Skips white space. True when nothing is left. */
bool baton_json_text_ends(struct baton_json_text *text);

/* Skips white space and reads a string. out needs as many bytes as the string has in the text.
 * False when there is no string, or when it is not valid UTF-8. */
bool baton_json_text_string(struct baton_json_text *text, char *out, size_t *n);

/* Skips white space and the characters of a number, which *token receives unchecked. */
bool baton_json_text_number(struct baton_json_text *text, struct baton_json_span *token);

/* Skips white space and one value of any kind. The value is not checked: only brackets and strings
 * are followed to their end. */
bool baton_json_text_skip(struct baton_json_text *text, struct baton_json_span *value);

/* Returns the value of the object's first member of that name; none when there is no such member or
 * when it is not an object. */
struct baton_json_span baton_json_text_member(struct baton_json_span object, const char *name);

/* Reads the members of those names from a file of at most max_bytes into a new object, which is
 * empty when the file holds no object. Other values are not parsed: tokenizer_config.json often
 * holds an integer that does not fit in int64. NOT_FOUND, IO, LIMIT; INVALID with the file and the
 * reason. */
enum baton_err baton_json_read_members(const char *path, size_t max_bytes, const char *const *names,
                                       size_t n_names, struct baton_json **object,
                                       struct baton_why *why) BATON_MUST_CHECK;

#endif
