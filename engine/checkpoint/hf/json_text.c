#include "engine/checkpoint/hf/json_text.h"

#include <stdint.h>
#include <string.h>

#include "common/base/os/file.h"
#include "common/base/utf8.h"

static void pass_space(struct baton_json_text *text)
{
    while (text->at < text->end &&
           (*text->at == ' ' || *text->at == '\n' || *text->at == '\t' || *text->at == '\r'))
        text->at++;
}

bool baton_json_text_take(struct baton_json_text *text, char c)
{
    pass_space(text);
    if (text->at == text->end || *text->at != c)
        return false;
    text->at++;
    return true;
}

bool baton_json_text_ends(struct baton_json_text *text)
{
    pass_space(text);
    return text->at == text->end;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads four hexadecimal digits; -1 when they are not there. */
static int32_t take_unit(struct baton_json_text *text)
{
    int32_t unit = 0;
    if (text->end - text->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(*text->at++);
        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* Reads the character after \u, two units where the first is a high surrogate; -1 when it is
 * invalid.
 */
static int32_t take_escaped(struct baton_json_text *text)
{
    int32_t high = take_unit(text);
    if (high < 0xd800 || high >= 0xe000)
        return high;
    if (high >= 0xdc00 || text->end - text->at < 2 || text->at[0] != '\\' || text->at[1] != 'u')
        return -1;
    text->at += 2;
    int32_t low = take_unit(text);
    return low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) : -1;
}

/* Reads the escape after a backslash. Returns the number of bytes written; 0 when it is no
 * escape. */
static size_t take_escape(struct baton_json_text *text, char *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char name = text->at < text->end ? *text->at++ : 0;
    if (name == 'u') {
        int32_t c = take_escaped(text);
        return c < 0 ? 0 : baton_utf8_encode((uint32_t)c, out);
    }
    const char *found = name ? strchr(names, name) : NULL;
    if (!found)
        return 0;
    out[0] = values[found - names];
    return 1;
}

bool baton_json_text_string(struct baton_json_text *text, char *out, size_t *n)
{
    size_t written = 0;
    /* A string of ASCII, as most tokens are, needs no check of its UTF-8. */
    unsigned char all = 0;
    if (!baton_json_text_take(text, '"'))
        return false;
    while (text->at < text->end && *text->at != '"') {
        unsigned char c = (unsigned char)*text->at++;
        if (c < 0x20)
            return false;
        if (c == '\\') {
            size_t length = take_escape(text, out + written);
            if (!length)
                return false;
            written += length;
        } else {
            all |= c;
            out[written++] = (char)c;
        }
    }
    *n = written;
    return baton_json_text_take(text, '"') && (all < 0x80 || baton_utf8_valid(out, written));
}

bool baton_json_text_number(struct baton_json_text *text, struct baton_json_span *token)
{
    pass_space(text);
    token->start = text->at;
    while (text->at < text->end && *text->at && strchr("+-.0123456789eE", *text->at))
        text->at++;
    token->n = (size_t)(text->at - token->start);
    return token->n > 0;
}

static bool skip_string(struct baton_json_text *text)
{
    for (text->at++; text->at < text->end; text->at++) {
        if (*text->at == '"') {
            text->at++;
            return true;
        }
        if (*text->at == '\\')
            text->at++;
    }
    text->at = text->end;
    return false;
}

bool baton_json_text_skip(struct baton_json_text *text, struct baton_json_span *value)
{
    /* Kinds of brackets are not compared: the value is parsed or read later. */
    size_t depth = 0;
    pass_space(text);
    value->start = text->at;
    while (text->at < text->end) {
        char c = *text->at;
        if (!depth && (c == ',' || c == '}' || c == ']'))
            break;
        if (c == '"') {
            if (!skip_string(text))
                return false;
            continue;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        text->at++;
    }
    value->n = (size_t)(text->at - value->start);
    return !depth && value->n;
}

/* True when the string at text is the name, compared without escapes. Skips the string in any
 * case. */
static bool is_named(struct baton_json_text *text, const char *name)
{
    size_t n = strlen(name);
    pass_space(text);
    const char *start = text->at;
    if (start == text->end || *start != '"' || !skip_string(text))
        return false;
    return (size_t)(text->at - start) == n + 2 && !memcmp(start + 1, name, n);
}

struct baton_json_span baton_json_text_member(struct baton_json_span object, const char *name)
{
    struct baton_json_text text = baton_json_text_of(object);
    struct baton_json_span value = {.start = NULL};
    if (!object.start || !baton_json_text_take(&text, '{'))
        return value;
    do {
        bool found = is_named(&text, name);
        if (!baton_json_text_take(&text, ':') || !baton_json_text_skip(&text, &value))
            break;
        if (found)
            return value;
    } while (baton_json_text_take(&text, ','));
    return (struct baton_json_span){.start = NULL};
}

static enum baton_err parse_members(struct baton_json_span file, const char *const *names,
                                    size_t n_names, struct baton_json **object,
                                    struct baton_why *why)
{
    struct baton_buf text;
    /* 64 bytes are enough for a name with its quotes, colon and comma. */
    baton_buf_init(&text, file.n + 64 * (n_names + 1));
    baton_buf_putc(&text, '{');
    for (size_t i = 0; i < n_names; i++) {
        struct baton_json_span value = baton_json_text_member(file, names[i]);
        if (!value.start)
            continue;
        baton_buf_printf(&text, "%s\"%s\":", text.len > 1 ? "," : "", names[i]);
        baton_buf_append(&text, value.start, value.n);
    }
    baton_buf_putc(&text, '}');
    enum baton_err err = baton_buf_err(&text);
    if (!err)
        err = baton_json_parse(text.data, text.len, object, why);
    baton_buf_fini(&text);
    return err;
}

enum baton_err baton_json_read_members(const char *path, size_t max_bytes, const char *const *names,
                                       size_t n_names, struct baton_json **object,
                                       struct baton_why *why)
{
    struct baton_buf bytes;
    struct baton_why reason = {"out of memory"};
    baton_buf_init(&bytes, max_bytes);
    enum baton_err err = baton_file_read(path, &bytes, why);
    if (!err) {
        struct baton_json_span file = {.start = baton_buf_text(&bytes), .n = bytes.len}, whole;
        struct baton_json_text text = baton_json_text_of(file);
        if (baton_json_text_skip(&text, &whole) && baton_json_text_ends(&text))
            err = parse_members(file, names, n_names, object, &reason);
        else
            err = baton_fail(&reason, BATON_INVALID, "line 1: must hold one JSON value");
        if (err)
            err = baton_fail(why, err, "%s: %s", path, reason.text);
    }
    baton_buf_fini(&bytes);
    return err;
}
