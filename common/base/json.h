/* Reads JSON (strictly, through a library that only json.c knows) and writes it (a small writer).
 *
 * Ownership: baton_json_parse and the functions that create values return trees, to be freed with
 *            baton_json_free; every other value is borrowed from its tree.
 * Threading: any number of threads may read a tree.
 * Errors:    parse: INVALID with line, column and reason. Readers of the wrong kind return the
 *            neutral value (NULL, 0, false); check the kind first where it matters.
 */
#ifndef BATON_COMMON_BASE_JSON_H
#define BATON_COMMON_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"

/* ---- reading ---- */

struct baton_json; /* one value */

enum baton_json_kind {
    BATON_JSON_NULL,
    BATON_JSON_BOOL,
    BATON_JSON_INT, /* written without fraction or exponent, and fits int64 */
    BATON_JSON_REAL,
    BATON_JSON_STRING,
    BATON_JSON_ARRAY,
    BATON_JSON_OBJECT
};

/* Parses a text. Refuses duplicate keys, invalid UTF-8, trailing bytes and NaN. Integers outside
 * int64 are REAL, numbers beyond a double the greatest one, halves of surrogate pairs U+FFFD; a
 * byte order mark is skipped. Strings may hold U+0000. Any kind is accepted at the top. */
enum baton_err baton_json_parse(const void *text, size_t n, struct baton_json **root,
                                struct baton_why *why) BATON_MUST_CHECK;

/* Likewise a text of a file, in which Python's NaN and Infinity are null. */
enum baton_err baton_json_parse_file(const void *text, size_t n, struct baton_json **root,
                                     struct baton_why *why) BATON_MUST_CHECK;

/* Likewise a text from outside, whose tree may be a hundred times as large. *tree_bytes (may be
 * NULL) is the tree's memory, with the allocator's own bytes. LIMIT once parsing needs more than
 * max_tree_bytes; it needs a KiB of text more, and what the growth of one string or table takes. */
enum baton_err baton_json_parse_within(const void *text, size_t n, size_t max_tree_bytes,
                                       struct baton_json **root, size_t *tree_bytes,
                                       struct baton_why *why) BATON_MUST_CHECK;

/* Reads and parses a whole file of at most max_bytes, in which NaN and Infinity are null.
 * Additional errors: NOT_FOUND, IO, LIMIT. */
enum baton_err baton_json_read_file(const char *path, size_t max_bytes, struct baton_json **root,
                                    struct baton_why *why) BATON_MUST_CHECK;
/* Frees the tree and every value borrowed from it. NULL is allowed. */
void baton_json_free(struct baton_json *root);

/* Returns the kind. value may be NULL (absent), which has kind BATON_JSON_NULL. */
enum baton_json_kind baton_json_kind(const struct baton_json *value);
/* Returns "null", "object", ..., for messages. */
const char *baton_json_kind_name(enum baton_json_kind kind);
/* Return a value of that kind. */
bool baton_json_bool(const struct baton_json *value);
int64_t baton_json_int(const struct baton_json *value);
/* Sets *number for an integer, also one that is written as 4.0 or 4e0. False: it is none, or beyond
 * int64. */
bool baton_json_whole(const struct baton_json *value, int64_t *number);
double baton_json_number(const struct baton_json *value); /* INT or REAL */
/* Returns a NUL-terminated string. *n (n may be NULL) is its length in bytes, which may include
 * zero bytes. */
const char *baton_json_string(const struct baton_json *value, size_t *n);
/* True when it is this string. */
bool baton_json_is(const struct baton_json *value, const char *text);
/* Returns the number of an object's members or an array's elements; 0 for any other value. */
size_t baton_json_size(const struct baton_json *value);
/* Return an element or a member; NULL when there is none. */
const struct baton_json *baton_json_at(const struct baton_json *array, size_t index);
const struct baton_json *baton_json_get(const struct baton_json *object, const char *key);

/* Iterate over members in insertion order:
 *     for (void *it = baton_json_first(o); it; it = baton_json_next(o, it)) */
void *baton_json_first(const struct baton_json *object);
void *baton_json_next(const struct baton_json *object, void *it);
const char *baton_json_key(void *it);
const struct baton_json *baton_json_member(void *it);

/* ---- construction ----
 * A tree may contain new values and shared ones. A value that is pushed or set belongs to its array
 * or object, even after a failure; a NULL value is such a failure. New values are NULL without
 * memory.
 */

struct baton_json *baton_json_new_object(void);
struct baton_json *baton_json_new_array(void);
struct baton_json *baton_json_new_bool(bool value);
/* From n bytes of UTF-8; NULL otherwise. */
struct baton_json *baton_json_new_text(const char *text, size_t n);
/* Likewise, from a NUL-terminated text. */
struct baton_json *baton_json_new_string(const char *text);
/* Shares the value: it lives until every tree that holds it is freed. */
struct baton_json *baton_json_share(const struct baton_json *value);
/* False when the array or the value is NULL, or without memory. */
bool baton_json_push(struct baton_json *array, struct baton_json *value);
/* Likewise for an object; replaces a member of that name. */
bool baton_json_set(struct baton_json *object, const char *key, struct baton_json *value);

/* ---- writing ----
 * Commas are written automatically; key is NULL inside an array and at the top. Each invalid part
 * of a text becomes U+FFFD, so that the output is always JSON. Failures stay in the buffer. */

struct baton_json_out {
    struct baton_buf *buf;
    bool comma;
};

static inline struct baton_json_out baton_json_out(struct baton_buf *buf)
{
    return (struct baton_json_out){.buf = buf};
}

/* Begin and end an object or an array. */
void baton_json_open(struct baton_json_out *out, const char *key, char bracket); /* '{' or '[' */
void baton_json_close(struct baton_json_out *out, char bracket);                 /* '}' or ']' */
void baton_json_put_text(struct baton_json_out *out, const char *key, const char *text, size_t n);
/* Writes a NUL-terminated text. */
void baton_json_put_string(struct baton_json_out *out, const char *key, const char *text);
/* Likewise; NULL becomes null. */
void baton_json_put_string_or_null(struct baton_json_out *out, const char *key, const char *text);
void baton_json_put_int(struct baton_json_out *out, const char *key, int64_t value);
void baton_json_put_uint(struct baton_json_out *out, const char *key, uint64_t value);
/* Writes 9 digits. NaN and infinities, which JSON cannot express, become null. */
void baton_json_put_real(struct baton_json_out *out, const char *key, double value);
/* Likewise with all 17 digits, for numbers that are computed with. */
void baton_json_put_exact(struct baton_json_out *out, const char *key, double value);
/* Likewise with the 9 digits that distinguish a float from every other. */
void baton_json_put_float(struct baton_json_out *out, const char *key, float value);
/* Writes true or false. */
void baton_json_put_bool(struct baton_json_out *out, const char *key, bool value);
/* Writes a text that is JSON already. */
void baton_json_put_raw(struct baton_json_out *out, const char *key, const char *json, size_t n);
void baton_json_put_null(struct baton_json_out *out, const char *key);
/* Writes the value, with all digits of its numbers; an absent value becomes null. */
void baton_json_put_value(struct baton_json_out *out, const char *key,
                          const struct baton_json *value);

#endif
