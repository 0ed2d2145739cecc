#include "gateway/chat/toolcall/arguments.h"

#include <string.h>

#include "common/base/json.h"
#include "common/base/utf8.h"
#include "gateway/chat/toolcall/bytes.h"

enum { HELD_MAX_BYTES = 1 << 20, ESCAPE_BYTES = 6 };

void baton_arguments_init(struct baton_arguments *arguments)
{
    *arguments = (struct baton_arguments){0};
    baton_buf_init(&arguments->held, HELD_MAX_BYTES);
}

void baton_arguments_fini(struct baton_arguments *arguments)
{
    baton_buf_fini(&arguments->held);
}

/* Writes the value of a text that is JSON; false if it is not. */
static bool put_valid(struct baton_buf *out, const char *text, size_t n)
{
    struct baton_json *value;
    struct baton_why why;
    struct baton_json_out json = baton_json_out(out);
    if (baton_json_parse(text, n, &value, &why))
        return false;
    baton_json_put_value(&json, NULL, value);
    baton_json_free(value);
    return true;
}

/* ---- strings ---- */

static size_t character_bytes(const char *text, size_t n)
{
    size_t skip = 1;
    int length = baton_utf8_next(text, n, &skip);
    return length == BATON_UTF8_INCOMPLETE ? 0 : length > 0 ? (size_t)length : skip;
}

/* The bytes of the next unit of a string: a character, an escape, or two that make a character. 0:
 * more bytes decide. */
static size_t unit_bytes(const char *text, size_t n)
{
    if (text[0] != '\\')
        return character_bytes(text, n);
    if (n < 2)
        return 0;
    if (text[1] != 'u')
        return 2;
    if (n < ESCAPE_BYTES)
        return 0;
    bool is_high = (text[2] == 'd' || text[2] == 'D') && strchr("89abAB", text[3]);
    if (!is_high || (n > ESCAPE_BYTES && text[ESCAPE_BYTES] != '\\') ||
        (n > ESCAPE_BYTES + 1 && text[ESCAPE_BYTES + 1] != 'u'))
        return ESCAPE_BYTES;
    return n < 2 * ESCAPE_BYTES ? 0 : 2 * ESCAPE_BYTES;
}

/* Writes the content of a string, without quotes; false if it is not JSON. */
static bool put_valid_content(struct baton_buf *out, const char *text, size_t n)
{
    struct baton_buf quoted, written;
    baton_buf_init(&quoted, n + 2);
    baton_buf_init(&written, 8 * n + 2);
    baton_buf_putc(&quoted, '"');
    baton_buf_append(&quoted, text, n);
    baton_buf_putc(&quoted, '"');
    bool is_valid = put_valid(&written, quoted.data, quoted.len);
    if (is_valid)
        baton_buf_append(out, written.data + 1, written.len - 2);
    baton_buf_fini(&written);
    baton_buf_fini(&quoted);
    return is_valid;
}

/* Writes the content of a string: units that are not JSON as they are. */
static void put_content(struct baton_buf *out, const char *text, size_t n)
{
    if (!n || put_valid_content(out, text, n))
        return;
    for (size_t at = 0, unit; at < n; at += unit) {
        unit = unit_bytes(text + at, n - at);
        unit = unit ? unit : n - at;
        if (!put_valid_content(out, text + at, unit))
            baton_buf_append(out, text + at, unit);
    }
}

/* Reads the held bytes up to the string's end, or to a unit that is not complete. */
static void read_string(struct baton_arguments *arguments, struct baton_buf *out)
{
    struct baton_buf *held = &arguments->held;
    size_t at = 0, unit = 1;
    while (at < held->len && held->data[at] != '"' &&
           (unit = unit_bytes(held->data + at, held->len - at)) > 0)
        at += unit;
    put_content(out, held->data, at);
    arguments->in_string = at == held->len || held->data[at] != '"';
    if (!arguments->in_string) {
        baton_buf_putc(out, '"');
        at++;
    }
    baton_buf_consume(held, at);
}

/* ---- the rest ---- */

static void put_word(struct baton_arguments *arguments, struct baton_buf *out)
{
    const struct baton_buf *held = &arguments->held;
    if (held->len && !put_valid(out, held->data, held->len))
        baton_buf_append(out, held->data, held->len);
    baton_buf_reset(&arguments->held);
}

/* A byte outside of strings. */
static void read_byte(struct baton_arguments *arguments, char c, struct baton_buf *out)
{
    if (!baton_is_space(c) && !strchr("{}[]:,\"", c)) {
        baton_buf_putc(&arguments->held, c);
        return;
    }
    put_word(arguments, out);
    if (baton_is_space(c))
        return;
    baton_buf_putc(out, c);
    arguments->in_string = c == '"';
    arguments->depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    arguments->is_over = arguments->depth <= 0;
}

size_t baton_arguments_push(struct baton_arguments *arguments, const char *text, size_t n,
                            struct baton_buf *out)
{
    size_t at = 0;
    while (at < n && !arguments->is_over) {
        if (!arguments->in_string) {
            read_byte(arguments, text[at++], out);
            continue;
        }
        /* A quote may be escaped, so the string's bytes go through the held ones up to each. */
        const char *quote = memchr(text + at, '"', n - at);
        size_t n_read = quote ? (size_t)(quote - (text + at)) + 1 : n - at;
        baton_buf_append(&arguments->held, text + at, n_read);
        read_string(arguments, out);
        at += n_read;
    }
    return at;
}

void baton_arguments_cut(struct baton_arguments *arguments, struct baton_buf *out)
{
    if (!arguments->in_string)
        put_word(arguments, out);
    baton_buf_reset(&arguments->held);
}
