/* JSON in (strict, through a library that only this file's .c knows) and JSON out (a small writer).
 *
 * Ownership: baton_json_parse gives a tree, which baton_json_free ends, and so do the functions
 *            that make values; every other value is borrowed from its tree.
 * Threading: any number of threads read a tree.
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

/* ---- in ---- */

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

/* Refuses duplicate keys, invalid UTF-8, trailing bytes, NaN and integers outside int64. Strings
 * may hold U+0000. Any kind is accepted at the top. */
enum baton_err baton_json_parse(const void *text, size_t n, struct baton_json **root,
                                struct baton_why *why) BATON_MUST_CHECK;

/* Reads and parses a whole file of at most max_bytes. Errors besides parse's: NOT_FOUND, IO, LIMIT.
 */
enum baton_err baton_json_read_file(const char *path, size_t max_bytes, struct baton_json **root,
                                    struct baton_why *why) BATON_MUST_CHECK;
/* Ends the tree and every value borrowed from it. NULL is fine. */
void baton_json_free(struct baton_json *root);

/* value may be NULL (absent): its kind is then BATON_JSON_NULL. */
enum baton_json_kind baton_json_kind(const struct baton_json *value);
/* "null", "object", ..., for messages. */
const char *baton_json_kind_name(enum baton_json_kind kind);
/* The value of its own kind. */
bool baton_json_bool(const struct baton_json *value);
int64_t baton_json_int(const struct baton_json *value);
double baton_json_number(const struct baton_json *value); /* INT or REAL */
/* NUL-terminated; *n (may be NULL) is its length in bytes, which may count zero bytes inside. */
const char *baton_json_string(const struct baton_json *value, size_t *n);
/* Whether it is this string. */
bool baton_json_is(const struct baton_json *value, const char *text);
/* Members of an object, elements of an array, 0 for anything else. */
size_t baton_json_size(const struct baton_json *value);
/* An element or a member; NULL when there is none. */
const struct baton_json *baton_json_at(const struct baton_json *array, size_t index);
const struct baton_json *baton_json_get(const struct baton_json *object, const char *key);

/* Members in insertion order:
 *     for (void *it = baton_json_first(o); it; it = baton_json_next(o, it)) */
void *baton_json_first(const struct baton_json *object);
void *baton_json_next(const struct baton_json *object, void *it);
const char *baton_json_key(void *it);
const struct baton_json *baton_json_member(void *it);

/* ---- made ----
 * A tree out of new values and of shares in others. A value that is pushed or set belongs to its
 * array or object, also after a failure; NULL among them is one. New values are NULL without
 * memory.
 */

struct baton_json *baton_json_new_object(void);
struct baton_json *baton_json_new_array(void);
struct baton_json *baton_json_new_bool(bool value);
/* n bytes of UTF-8, else NULL. */
struct baton_json *baton_json_new_text(const char *text, size_t n);
/* The same of text that ends with a zero. */
struct baton_json *baton_json_new_string(const char *text);
/* The value once more: it lives until every tree that holds it is freed. */
struct baton_json *baton_json_share(const struct baton_json *value);
/* False: the array is NULL, the value is, or there is no memory. */
bool baton_json_push(struct baton_json *array, struct baton_json *value);
/* The same of an object; a member of that name is replaced. */
bool baton_json_set(struct baton_json *object, const char *key, struct baton_json *value);

/* ---- out ----
 * Commas come by themselves; key is NULL inside an array and at the top. Text that is not UTF-8 is
 * written with U+FFFD in place of each bad part, so that the output is always JSON. Failures stick
 * in the buffer. */

struct baton_json_out {
    struct baton_buf *buf;
    bool comma;
};

static inline struct baton_json_out baton_json_out(struct baton_buf *buf)
{
    return (struct baton_json_out){.buf = buf};
}

/* Begins and ends an object or an array. */
void baton_json_open(struct baton_json_out *out, const char *key, char bracket); /* '{' or '[' */
void baton_json_close(struct baton_json_out *out, char bracket);                 /* '}' or ']' */
void baton_json_put_text(struct baton_json_out *out, const char *key, const char *text, size_t n);
/* Text that ends with a zero. */
void baton_json_put_string(struct baton_json_out *out, const char *key, const char *text);
/* The same; NULL is null. */
void baton_json_put_string_or_null(struct baton_json_out *out, const char *key, const char *text);
void baton_json_put_int(struct baton_json_out *out, const char *key, int64_t value);
void baton_json_put_uint(struct baton_json_out *out, const char *key, uint64_t value);
/* NaN and infinities, which JSON has no word for, become null. */
void baton_json_put_real(struct baton_json_out *out, const char *key, double value);
/* The same with all 17 digits, for numbers that are to be computed with. */
void baton_json_put_exact(struct baton_json_out *out, const char *key, double value);
/* The same with the 9 digits that tell one float from every other. */
void baton_json_put_float(struct baton_json_out *out, const char *key, float value);
/* true, false and null. */
void baton_json_put_bool(struct baton_json_out *out, const char *key, bool value);
/* Text that is JSON already. */
void baton_json_put_raw(struct baton_json_out *out, const char *key, const char *json, size_t n);
void baton_json_put_null(struct baton_json_out *out, const char *key);
/* The same value again, with numbers as exact as they were; absent is null. */
void baton_json_put_value(struct baton_json_out *out, const char *key,
                          const struct baton_json *value);

#endif
