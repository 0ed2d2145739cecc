#include "common/base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_feed.h"
#include "common/base/os/file.h"
#include "common/base/utf8.h"

/* struct baton_json is json_t under another name, so that no caller depends on the library. */
static json_t *raw(const struct baton_json *value)
{
    return (json_t *)(uintptr_t)value;
}

static const struct baton_json *wrap(const json_t *value)
{
    return (const struct baton_json *)value;
}

/* ---- parsing ---- */

/* Bytes that the allocator keeps beside a block. */
enum { BLOCK_BYTES = sizeof(size_t) };

/* A text on its way into jansson, and the memory that its tree takes so far. */
struct source {
    struct baton_json_feed text;
    size_t tree_bytes, max_tree_bytes;
    bool is_over;
};

/* This thread's parse; jansson's allocator has no argument. */
static _Thread_local struct source *parsed;

static void *allocate(size_t size)
{
    void *block = malloc(size);
    if (parsed && block)
        parsed->tree_bytes += malloc_usable_size(block) + BLOCK_BYTES;
    return block;
}

static void release(void *block)
{
    if (parsed && block)
        parsed->tree_bytes -= malloc_usable_size(block) + BLOCK_BYTES;
    free(block);
}

/* Runs before any thread reads jansson's pointers to these functions. */
__attribute__((constructor)) static void count_memory(void)
{
    json_set_alloc_funcs(allocate, release);
}

/* Ends the text where its tree exceeds the bound. An allocation that fails would be unsafe instead:
 * jansson's lexer ignores that a byte of a string was not stored, and reads on to its quote. */
static size_t next_part(void *part, size_t size, void *arg)
{
    struct source *source = arg;
    source->is_over |= source->tree_bytes > source->max_tree_bytes;
    return source->is_over ? 0 : baton_json_feed_next(&source->text, part, size);
}

static enum baton_err parse(struct baton_json_feed text, size_t max_tree_bytes,
                            struct baton_json **root, size_t *tree_bytes, struct baton_why *why)
{
    json_error_t error;
    struct source source = {.text = text, .max_tree_bytes = max_tree_bytes};
    parsed = &source;
    /* ALLOW_NUL: a text may hold U+0000, and callers get lengths. */
    json_t *value = json_load_callback(
        next_part, &source, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    parsed = NULL;
    if (source.is_over) {
        json_decref(value);
        return baton_fail(why, BATON_LIMIT, "its values take more than %zu KiB of memory",
                          max_tree_bytes >> 10);
    }
    if (!value)
        return baton_fail(why, BATON_INVALID, "line %d column %d: %s", error.line, error.column,
                          error.text);
    if (tree_bytes)
        *tree_bytes = source.tree_bytes;
    *root = (struct baton_json *)value;
    return BATON_OK;
}

enum baton_err baton_json_parse_within(const void *text, size_t n, size_t max_tree_bytes,
                                       struct baton_json **root, size_t *tree_bytes,
                                       struct baton_why *why)
{
    return parse(baton_json_feed(text, n, false), max_tree_bytes, root, tree_bytes, why);
}

enum baton_err baton_json_parse_file(const void *text, size_t n, struct baton_json **root,
                                     struct baton_why *why)
{
    return parse(baton_json_feed(text, n, true), SIZE_MAX, root, NULL, why);
}

enum baton_err baton_json_parse(const void *text, size_t n, struct baton_json **root,
                                struct baton_why *why)
{
    return baton_json_parse_within(text, n, SIZE_MAX, root, NULL, why);
}

/* ---- values ---- */

enum baton_err baton_json_read_file(const char *path, size_t max_bytes, struct baton_json **root,
                                    struct baton_why *why)
{
    struct baton_buf text;
    struct baton_why reason;
    baton_buf_init(&text, max_bytes);
    enum baton_err err = baton_file_read(path, &text, why);
    if (!err) {
        err = baton_json_parse_file(baton_buf_text(&text), text.len, root, &reason);
        if (err)
            (void)baton_fail(why, err, "%s: %s", path, reason.text);
    }
    baton_buf_fini(&text);
    return err;
}

void baton_json_free(struct baton_json *root)
{
    json_decref(raw(root));
}

enum baton_json_kind baton_json_kind(const struct baton_json *value)
{
    if (!value)
        return BATON_JSON_NULL;
    switch (json_typeof(raw(value))) {
    case JSON_OBJECT:
        return BATON_JSON_OBJECT;
    case JSON_ARRAY:
        return BATON_JSON_ARRAY;
    case JSON_STRING:
        return BATON_JSON_STRING;
    case JSON_INTEGER:
        return BATON_JSON_INT;
    case JSON_REAL:
        return BATON_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return BATON_JSON_BOOL;
    case JSON_NULL:
        break;
    }
    return BATON_JSON_NULL;
}

const char *baton_json_kind_name(enum baton_json_kind kind)
{
    static const char *const names[] = {"null",   "boolean", "integer", "number",
                                        "string", "array",   "object"};
    return names[kind];
}

bool baton_json_bool(const struct baton_json *value)
{
    return value && json_is_true(raw(value));
}

int64_t baton_json_int(const struct baton_json *value)
{
    return value ? json_integer_value(raw(value)) : 0;
}

bool baton_json_whole(const struct baton_json *value, int64_t *number)
{
    double real = baton_json_number(value);
    bool is_int = baton_json_kind(value) == BATON_JSON_INT;
    /* 2^63 is a double, but no int64. */
    if (!is_int && (baton_json_kind(value) != BATON_JSON_REAL || real != floor(real) ||
                    real < -0x1p63 || real >= 0x1p63))
        return false;
    *number = is_int ? baton_json_int(value) : (int64_t)real;
    return true;
}

double baton_json_number(const struct baton_json *value)
{
    return value ? json_number_value(raw(value)) : 0;
}

const char *baton_json_string(const struct baton_json *value, size_t *n)
{
    if (n)
        *n = value ? json_string_length(raw(value)) : 0;
    return value ? json_string_value(raw(value)) : NULL;
}

bool baton_json_is(const struct baton_json *value, const char *text)
{
    const char *own = baton_json_string(value, NULL);
    return own && !strcmp(own, text);
}

size_t baton_json_size(const struct baton_json *value)
{
    enum baton_json_kind kind = baton_json_kind(value);
    if (kind == BATON_JSON_OBJECT)
        return json_object_size(raw(value));
    return kind == BATON_JSON_ARRAY ? json_array_size(raw(value)) : 0;
}

const struct baton_json *baton_json_at(const struct baton_json *array, size_t index)
{
    return array ? wrap(json_array_get(raw(array), index)) : NULL;
}

const struct baton_json *baton_json_get(const struct baton_json *object, const char *key)
{
    return object ? wrap(json_object_get(raw(object), key)) : NULL;
}

void *baton_json_first(const struct baton_json *object)
{
    return object ? json_object_iter(raw(object)) : NULL;
}

void *baton_json_next(const struct baton_json *object, void *it)
{
    return json_object_iter_next(raw(object), it);
}

const char *baton_json_key(void *it)
{
    return json_object_iter_key(it);
}

const struct baton_json *baton_json_member(void *it)
{
    return wrap(json_object_iter_value(it));
}

/* ---- construction ---- */

static struct baton_json *made(json_t *value)
{
    return (struct baton_json *)value;
}

struct baton_json *baton_json_new_object(void)
{
    return made(json_object());
}

struct baton_json *baton_json_new_array(void)
{
    return made(json_array());
}

struct baton_json *baton_json_new_bool(bool value)
{
    return made(json_boolean(value));
}

struct baton_json *baton_json_new_text(const char *text, size_t n)
{
    return made(json_stringn(text, n));
}

struct baton_json *baton_json_new_string(const char *text)
{
    return made(json_string(text));
}

struct baton_json *baton_json_share(const struct baton_json *value)
{
    return made(json_incref(raw(value)));
}

bool baton_json_push(struct baton_json *array, struct baton_json *value)
{
    return !json_array_append_new(raw(array), raw(value));
}

bool baton_json_set(struct baton_json *object, const char *key, struct baton_json *value)
{
    return !json_object_set_new(raw(object), key, raw(value));
}

/* ---- writing ---- */

static void put_escaped(struct baton_buf *buf, const char *text, size_t n)
{
    baton_buf_putc(buf, '"');
    size_t plain = 0; /* start of the run that was not written yet */
    for (size_t i = 0; i < n;) {
        size_t skip = 1;
        int length = baton_utf8_next(text + i, n - i, &skip);
        if (length == BATON_UTF8_INCOMPLETE)
            skip = n - i;
        unsigned char c = (unsigned char)text[i];
        if (length > 0 && c >= ' ' && c != '"' && c != '\\') {
            i += (size_t)length;
            continue;
        }
        baton_buf_append(buf, text + plain, i - plain);
        if (length <= 0)
            baton_buf_puts(buf, "\xef\xbf\xbd");
        else if (c == '"' || c == '\\')
            baton_buf_printf(buf, "\\%c", c);
        else if (c >= '\b' && c <= '\r' && c != '\v')
            baton_buf_printf(buf, "\\%c", "btnvfr"[c - '\b']);
        else
            baton_buf_printf(buf, "\\u%04x", c);
        i += length > 0 ? (size_t)length : skip;
        plain = i;
    }
    baton_buf_append(buf, text + plain, n - plain);
    baton_buf_putc(buf, '"');
}

/* Writes the comma before a value, if one is due, and its key. */
static void begin(struct baton_json_out *out, const char *key)
{
    if (out->comma)
        baton_buf_putc(out->buf, ',');
    if (key) {
        put_escaped(out->buf, key, strlen(key));
        baton_buf_putc(out->buf, ':');
    }
    out->comma = true;
}

void baton_json_open(struct baton_json_out *out, const char *key, char bracket)
{
    begin(out, key);
    baton_buf_putc(out->buf, bracket);
    out->comma = false;
}

void baton_json_close(struct baton_json_out *out, char bracket)
{
    baton_buf_putc(out->buf, bracket);
    out->comma = true;
}

void baton_json_put_text(struct baton_json_out *out, const char *key, const char *text, size_t n)
{
    begin(out, key);
    put_escaped(out->buf, text, n);
}

void baton_json_put_string(struct baton_json_out *out, const char *key, const char *text)
{
    baton_json_put_text(out, key, text, strlen(text));
}

void baton_json_put_string_or_null(struct baton_json_out *out, const char *key, const char *text)
{
    if (text)
        baton_json_put_string(out, key, text);
    else
        baton_json_put_null(out, key);
}

void baton_json_put_int(struct baton_json_out *out, const char *key, int64_t value)
{
    begin(out, key);
    baton_buf_printf(out->buf, "%" PRId64, value);
}

void baton_json_put_uint(struct baton_json_out *out, const char *key, uint64_t value)
{
    begin(out, key);
    baton_buf_printf(out->buf, "%" PRIu64, value);
}

static void put_digits(struct baton_json_out *out, const char *key, int n_digits, double value)
{
    if (!isfinite(value)) {
        baton_json_put_null(out, key);
        return;
    }
    begin(out, key);
    baton_buf_printf(out->buf, "%.*g", n_digits, value);
}

void baton_json_put_real(struct baton_json_out *out, const char *key, double value)
{
    put_digits(out, key, 9, value);
}

void baton_json_put_exact(struct baton_json_out *out, const char *key, double value)
{
    put_digits(out, key, 17, value);
}

void baton_json_put_float(struct baton_json_out *out, const char *key, float value)
{
    put_digits(out, key, 9, (double)value);
}

void baton_json_put_bool(struct baton_json_out *out, const char *key, bool value)
{
    begin(out, key);
    baton_buf_puts(out->buf, value ? "true" : "false");
}

void baton_json_put_raw(struct baton_json_out *out, const char *key, const char *json, size_t n)
{
    begin(out, key);
    baton_buf_append(out->buf, json, n);
}

void baton_json_put_null(struct baton_json_out *out, const char *key)
{
    begin(out, key);
    baton_buf_puts(out->buf, "null");
}

static void put_members(struct baton_json_out *out, const struct baton_json *object)
{
    void *it = baton_json_first(object);
    for (; it && !baton_buf_err(out->buf); it = baton_json_next(object, it))
        baton_json_put_value(out, baton_json_key(it), baton_json_member(it));
}

void baton_json_put_value(struct baton_json_out *out, const char *key,
                          const struct baton_json *value)
{
    size_t n = 0;
    const char *text;
    switch (baton_json_kind(value)) {
    case BATON_JSON_NULL:
        baton_json_put_null(out, key);
        break;
    case BATON_JSON_BOOL:
        baton_json_put_bool(out, key, baton_json_bool(value));
        break;
    case BATON_JSON_INT:
        baton_json_put_int(out, key, baton_json_int(value));
        break;
    case BATON_JSON_REAL:
        baton_json_put_exact(out, key, baton_json_number(value));
        break;
    case BATON_JSON_STRING:
        text = baton_json_string(value, &n);
        baton_json_put_text(out, key, text, n);
        break;
    case BATON_JSON_ARRAY:
        baton_json_open(out, key, '[');
        for (size_t i = 0; i < baton_json_size(value) && !baton_buf_err(out->buf); i++)
            baton_json_put_value(out, NULL, baton_json_at(value, i));
        baton_json_close(out, ']');
        break;
    case BATON_JSON_OBJECT:
        baton_json_open(out, key, '{');
        put_members(out, value);
        baton_json_close(out, '}');
        break;
    }
}
