/* Formats values with % and with {}. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

/* ---- % ---- */

struct percent {
    const struct jinja_string *format;
    const struct jinja_args *args;
    size_t next;
    struct jinja_text text;
};

/* True for flags, then a width, then a precision: the spec is passed to snprintf. */
static bool is_spec(const char *spec)
{
    spec += strspn(spec, "-+ #0");
    spec += strspn(spec, "0123456789");
    spec += *spec == '.';
    return !spec[strspn(spec, "0123456789")];
}

static void put_formatted_number(struct jinja_run *run, struct percent *percent, const char *spec,
                                 char letter, struct jinja_value value)
{
    char text[400], format[24];
    bool real = strchr("fFeEgG", letter) != NULL;
    if (!jinja_is_number(value) ||
        (!real && letter != 'd' && letter != 'i' && letter != 'u' && value.kind == JINJA_FLOAT)) {
        jinja_fail(run, "%%%c needs a number, not '%s'", letter, jinja_type_name(value));
        return;
    }
    if (real) {
        (void)snprintf(format, sizeof format, "%%%s%c", spec, letter);
        (void)snprintf(text, sizeof text, format, jinja_as_real(value));
    } else {
        int64_t whole =
            value.kind == JINJA_FLOAT ? (int64_t)jinja_as_real(value) : jinja_as_int(value);
        /* C prints negative hexadecimal as two's complement, Python with a sign. */
        bool negative_hex = whole < 0 && strchr("xXo", letter);
        (void)snprintf(format, sizeof format, "%s%%%sl%c", negative_hex ? "-" : "", spec,
                       letter == 'u' || letter == 'i' ? 'd' : letter);
        (void)snprintf(text, sizeof text, format, negative_hex ? -whole : whole);
    }
    jinja_text_puts(run, &percent->text, text);
}

/* Writes text in at least the width of the spec, cut to its precision. */
static void put_padded(struct jinja_run *run, struct percent *percent, const char *spec,
                       const struct jinja_string *string)
{
    bool left = strchr(spec, '-') != NULL;
    const char *point = strchr(spec, '.'), *digits = spec + strspn(spec, "-+ #0");
    size_t width = (size_t)strtoul(digits, NULL, 10), n = string->n;
    if (point)
        n = jinja_char_at(string, (size_t)strtoul(point + 1, NULL, 10));
    struct jinja_string shown = {.bytes = string->bytes, .n = n};
    size_t n_chars = jinja_count_chars(&shown);
    for (size_t i = n_chars; i < width && !left; i++)
        jinja_text_puts(run, &percent->text, " ");
    jinja_text_put_part(run, &percent->text, string, 0, n);
    for (size_t i = n_chars; i < width && left; i++)
        jinja_text_puts(run, &percent->text, " ");
}

static void put_conversion(struct jinja_run *run, struct percent *percent, const char *spec,
                           char letter)
{
    if (letter == '%') {
        jinja_text_puts(run, &percent->text, "%");
        return;
    }
    if (percent->next >= percent->args->n) {
        jinja_fail(run, "a format has more places than values");
        return;
    }
    if (!is_spec(spec)) {
        jinja_fail(run, "a format has an unknown conversion");
        return;
    }
    struct jinja_value value = percent->args->items[percent->next++];
    struct jinja_text repr = {0};
    if (letter == 'r') {
        jinja_put_repr(run, &repr, value);
        value = jinja_text_end(run, &repr);
    }
    if (letter == 's' || letter == 'r')
        put_padded(run, percent, spec, jinja_str(run, value));
    else if (letter && strchr("diufFeEgGxXo", letter))
        put_formatted_number(run, percent, spec, letter, value);
    else
        jinja_fail(run, "a format has an unknown conversion");
}

struct jinja_value jinja_percent(struct jinja_run *run, const struct jinja_string *format,
                                 const struct jinja_args *args)
{
    struct percent percent = {.format = format, .args = args};
    size_t at = 0;
    while (at < format->n && !jinja_failed(run)) {
        const char *found = memchr(format->bytes + at, '%', format->n - at);
        size_t end = found ? (size_t)(found - format->bytes) : format->n, n = 0;
        char spec[12] = "";
        jinja_text_put_part(run, &percent.text, format, at, end - at);
        at = end + 1;
        if (!found)
            break;
        while (at < format->n && format->bytes[at] &&
               strchr("-+ #0123456789.", format->bytes[at])) {
            /* 5 characters keep the number within its buffer of 400 bytes. */
            if (n == 5)
                return jinja_fail(run, "a format is too wide");
            spec[n++] = format->bytes[at++];
        }
        put_conversion(run, &percent, spec, at < format->n ? format->bytes[at] : 0);
        at++;
    }
    bool has_map = args->n == 1 && args->items[0].kind == JINJA_DICT;
    if (percent.next < args->n && !has_map && !jinja_failed(run))
        return jinja_fail(run, "a format has fewer places than values");
    return jinja_text_end(run, &percent.text);
}

/* ---- {} ---- */

static struct jinja_value field_value(struct jinja_run *run, const struct jinja_args *args,
                                      const char *name, size_t n, size_t *next)
{
    size_t index = 0;
    if (!n)
        index = (*next)++;
    else if (isdigit((unsigned char)*name))
        for (size_t i = 0; i < n && index < args->n; i++)
            index = 10 * index + (size_t)(name[i] - '0');
    else
        index = SIZE_MAX;
    if (index < args->n)
        return args->items[index];
    for (size_t i = 0; i < args->n_named; i++)
        if (args->named[i].name->n == n && !memcmp(args->named[i].name->bytes, name, n))
            return args->named[i].value;
    return jinja_fail(run, "a format names a value that was not given");
}

/* Writes the field after the opening brace at at. Returns the position after the closing brace. */
static size_t put_field(struct jinja_run *run, struct jinja_text *text,
                        const struct jinja_string *format, size_t at, const struct jinja_args *args,
                        size_t *next)
{
    const char *end = memchr(format->bytes + at, '}', format->n - at);
    size_t n = end ? (size_t)(end - format->bytes) - at : 0;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)format->bytes[at + i]) && format->bytes[at + i] != '_')
            jinja_fail(run, "a format may hold {}, {0} and {name} only");
    if (!end)
        jinja_fail(run, "a format has a { without }");
    if (jinja_failed(run))
        return format->n;
    struct jinja_value value = field_value(run, args, format->bytes + at, n, next);
    if (!jinja_failed(run))
        jinja_text_put_string(run, text, jinja_str(run, value));
    return at + n + 1;
}

struct jinja_value jinja_braces(struct jinja_run *run, const struct jinja_string *format,
                                const struct jinja_args *args)
{
    struct jinja_text text = {0};
    size_t at = 0, next = 0;
    while (at < format->n && !jinja_failed(run)) {
        char c = format->bytes[at];
        bool doubled = at + 1 < format->n && format->bytes[at + 1] == c;
        if ((c == '{' || c == '}') && doubled) {
            jinja_text_put_part(run, &text, format, at, 1);
            at += 2;
        } else if (c == '{') {
            at = put_field(run, &text, format, at + 1, args, &next);
        } else if (c == '}') {
            return jinja_fail(run, "a format has a } without {");
        } else {
            jinja_text_put_part(run, &text, format, at++, 1);
        }
    }
    return jinja_text_end(run, &text);
}
