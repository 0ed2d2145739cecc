/* A cursor over JSON text, for arrays and objects of a vocabulary that are too large for a tree;
 * private to engine/checkpoint.
 *
 * A vocabulary of 33 MB takes a second and 200 MB as a tree, and 0.1 s read in order.
 *
 * Ownership: borrows the text.
 * Threading: one owner.
 * Errors:    functions return false where the text is not what they take; the cursor then stands
 *            there.
 */
#ifndef BATON_ENGINE_CHECKPOINT_HF_JSON_TEXT_H
#define BATON_ENGINE_CHECKPOINT_HF_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/json.h"

struct baton_json_text {
    const char *at, *end;
};

/* The bytes of one value. start NULL: there is none. */
struct baton_json_span {
    const char *start;
    size_t n;
};

/* A cursor at the start of a span, which may be none. */
static inline struct baton_json_text baton_json_text_of(struct baton_json_span span)
{
    return (struct baton_json_text){.at = span.start,
                                    .end = span.n ? span.start + span.n : span.start};
}

/* Passes white space and then c, if c stands there. */
bool baton_json_text_take(struct baton_json_text *text, char c);

/* Passes white space; whether nothing is left. */
bool baton_json_text_ends(struct baton_json_text *text);

/* Passes white space and a string, and writes its characters to out, which has room for as many
 * bytes as the string has in the text. False where there is none, or where it is no valid string of
 * UTF-8. */
bool baton_json_text_string(struct baton_json_text *text, char *out, size_t *n);

/* Passes white space and the characters of a number; *token are these, not checked. */
bool baton_json_text_number(struct baton_json_text *text, struct baton_json_span *token);

/* Passes white space and one value of any kind, which need not be valid: brackets and strings are
 * only followed to their end. */
bool baton_json_text_skip(struct baton_json_text *text, struct baton_json_span *value);

/* The value of the first member of that name of the object at text; none when there is no such
 * member or text is no object. */
struct baton_json_span baton_json_text_member(struct baton_json_span object, const char *name);

/* Reads from a file of at most max_bytes the members of those names into an object of their own,
 * which is empty when the file holds no object. Values under other names are not looked at:
 * tokenizer_config.json often holds an integer that fits no int64. NOT_FOUND, IO, LIMIT; INVALID
 * with the file and the reason. */
enum baton_err baton_json_read_members(const char *path, size_t max_bytes, const char *const *names,
                                       size_t n_names, struct baton_json **object,
                                       struct baton_why *why) BATON_MUST_CHECK;

#endif
