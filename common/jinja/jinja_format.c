/* Values as text: str, repr, JSON, and formats with % and {}. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "common/jinja/jinja_eval.h"
#include "common/jinja/jinja_text.h"

static void put_repr(struct jinja_run *run, struct jinja_text *out, struct jinja_value value);

/* ---- numbers ---- */

/* The shortest digits that read back as the same number, as Python's repr: with an exponent below
 * 1e-4 and from 1e16 on. */
static void format_real(char out[40], double value)
{
    char digits[32] = "";
    if (isnan(value) || isinf(value)) {
        (void)snprintf(out, 40, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    int precision = 1;
    for (; precision <= 17; precision++) {
        (void)snprintf(digits, sizeof digits, "%.*e", precision - 1, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent >= -4 && exponent < 16)
        (void)snprintf(out, 40, "%.*f", precision - 1 > exponent ? precision - 1 - exponent : 1,
                       value);
    else
        (void)snprintf(out, 40, "%s", digits);
}

static void put_number(struct jinja_run *run, struct jinja_text *out, struct jinja_value value)
{
    char text[40];
    if (value.kind == JINJA_FLOAT)
        format_real(text, value.real);
    else
        (void)snprintf(text, sizeof text, "%" PRId64, value.integer);
    jinja_text_puts(run, out, text);
}

/* ---- repr ---- */

static bool is_printable(int32_t c)
{
    if (c < 0x7f)
        return c >= 0x20;
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
        return false;
    default:
        return true;
    }
}

static void put_escaped(struct jinja_run *run, struct jinja_text *out, int32_t c)
{
    char text[16];
    if (c == '\n' || c == '\r' || c == '\t')
        (void)snprintf(text, sizeof text, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else
        (void)snprintf(text, sizeof text,
                       c < 0x100     ? "\\x%02x"
                       : c < 0x10000 ? "\\u%04x"
                                     : "\\U%08x",
                       (unsigned)c);
    jinja_text_puts(run, out, text);
}

static void put_string_repr(struct jinja_run *run, struct jinja_text *out,
                            const struct jinja_string *string)
{
    bool has_single = memchr(string->bytes, '\'', string->n) != NULL;
    bool has_double = memchr(string->bytes, '"', string->n) != NULL;
    char quote[2] = {has_single && !has_double ? '"' : '\'', 0};
    jinja_text_puts(run, out, quote);
    for (size_t at = 0, n; at < string->n && !jinja_failed(run); at += n) {
        int32_t c = (int32_t)jinja_code_point(string->bytes + at, string->n - at);
        n = jinja_char_bytes(string->bytes + at, string->n - at);
        if (c == quote[0] || c == '\\')
            jinja_text_puts(run, out, "\\");
        if (is_printable(c))
            jinja_text_put_part(run, out, string, at, n);
        else
            put_escaped(run, out, c);
    }
    jinja_text_puts(run, out, quote);
}

static void put_items(struct jinja_run *run, struct jinja_text *out, const struct jinja_list *list)
{
    for (size_t i = 0; i < list->n && !jinja_failed(run); i++) {
        if (i)
            jinja_text_puts(run, out, ", ");
        put_repr(run, out, list->items[i]);
    }
}

static void put_range(struct jinja_run *run, struct jinja_text *out, const struct jinja_list *range)
{
    char text[96];
    if (range->step == 1)
        (void)snprintf(text, sizeof text, "range(%" PRId64 ", %" PRId64 ")", range->start,
                       range->stop);
    else
        (void)snprintf(text, sizeof text, "range(%" PRId64 ", %" PRId64 ", %" PRId64 ")",
                       range->start, range->stop, range->step);
    jinja_text_puts(run, out, text);
}

static void put_list(struct jinja_run *run, struct jinja_text *out, struct jinja_value value)
{
    if (value.kind == JINJA_VIEW) {
        jinja_text_puts(run, out, value.list->name);
        jinja_text_puts(run, out, "(");
    }
    jinja_text_puts(run, out, value.kind == JINJA_TUPLE ? "(" : "[");
    put_items(run, out, value.list);
    if (value.kind == JINJA_TUPLE)
        jinja_text_puts(run, out, value.list->n == 1 ? ",)" : ")");
    else
        jinja_text_puts(run, out, value.kind == JINJA_VIEW ? "])" : "]");
}

static void put_dict(struct jinja_run *run, struct jinja_text *out, const struct jinja_dict *dict)
{
    jinja_text_puts(run, out, "{");
    for (size_t i = 0; i < dict->n && !jinja_failed(run); i++) {
        if (i)
            jinja_text_puts(run, out, ", ");
        put_repr(run, out, dict->entries[i].key);
        jinja_text_puts(run, out, ": ");
        put_repr(run, out, dict->entries[i].value);
    }
    jinja_text_puts(run, out, "}");
}

static void put_plain(struct jinja_run *run, struct jinja_text *out, struct jinja_value value)
{
    switch (value.kind) {
    case JINJA_NONE:
        jinja_text_puts(run, out, "None");
        break;
    case JINJA_BOOL:
        jinja_text_puts(run, out, value.boolean ? "True" : "False");
        break;
    case JINJA_INT:
    case JINJA_FLOAT:
        put_number(run, out, value);
        break;
    case JINJA_RANGE:
        put_range(run, out, value.list);
        break;
    case JINJA_UNDEFINED:
        jinja_text_puts(run, out, "Undefined");
        break;
    default:
        jinja_text_puts(run, out, "<");
        jinja_text_puts(run, out, jinja_type_name(value));
        jinja_text_puts(run, out, ">");
    }
}

static void put_repr(struct jinja_run *run, struct jinja_text *out, struct jinja_value value)
{
    if (!jinja_step(run, 1) || !jinja_enter(run))
        return;
    if (value.kind == JINJA_STRING)
        put_string_repr(run, out, value.string);
    else if (value.kind == JINJA_LIST || value.kind == JINJA_TUPLE || value.kind == JINJA_VIEW)
        put_list(run, out, value);
    else if (value.kind == JINJA_DICT)
        put_dict(run, out, value.dict);
    else
        put_plain(run, out, value);
    jinja_leave(run);
}

static bool is_container(struct jinja_value value)
{
    return jinja_is_listed(value) || value.kind == JINJA_DICT;
}

const struct jinja_string *jinja_str(struct jinja_run *run, struct jinja_value value)
{
    static const struct jinja_string empty = {.bytes = "", .own = true};
    struct jinja_text text = {0};
    if (value.kind == JINJA_STRING)
        return value.string;
    if (value.kind == JINJA_UNDEFINED)
        return &empty;
    put_repr(run, &text, value);
    /* How a list or a map is written is the work of whoever sent it. */
    struct jinja_value made =
        is_container(value) ? jinja_text_foreign(run, &text) : jinja_text_end(run, &text);
    return made.kind == JINJA_STRING ? made.string : &empty;
}

/* ---- JSON ---- */

struct json {
    const struct jinja_json_style *style;
    struct jinja_text text;
    size_t depth;
};

static void put_json(struct jinja_run *run, struct json *json, struct jinja_value value);

static void put_json_escape(struct jinja_run *run, struct jinja_text *out, uint32_t c)
{
    static const char letters[] = "\"\\\n\r\t\f\b", written[] = "\"\\nrtfb";
    const char *found = c && c < 0x80 ? strchr(letters, (int)c) : NULL;
    char text[16];
    if (found)
        (void)snprintf(text, sizeof text, "\\%c", written[found - letters]);
    else if (c < 0x10000)
        (void)snprintf(text, sizeof text, "\\u%04x", c);
    else
        (void)snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                       0xdc00 + ((c - 0x10000) & 0x3ff));
    jinja_text_puts(run, out, text);
}

static void put_json_string(struct jinja_run *run, struct json *json,
                            const struct jinja_string *string)
{
    size_t plain = 0, at = 0, n;
    jinja_text_puts(run, &json->text, "\"");
    for (; at < string->n && !jinja_failed(run); at += n) {
        uint32_t c = jinja_code_point(string->bytes + at, string->n - at);
        n = jinja_char_bytes(string->bytes + at, string->n - at);
        if (c >= 0x20 && c != '"' && c != '\\' && !(json->style->ascii && c > 0x7e && c != 0x7f))
            continue;
        jinja_text_put_part(run, &json->text, string, plain, at - plain);
        put_json_escape(run, &json->text, c);
        plain = at + n;
    }
    jinja_text_put_part(run, &json->text, string, plain, at - plain);
    jinja_text_puts(run, &json->text, "\"");
}

static void put_line(struct jinja_run *run, struct json *json)
{
    if (!json->style->indented)
        return;
    jinja_text_puts(run, &json->text, "\n");
    for (size_t i = 0; i < json->depth && json->style->indent && !jinja_failed(run); i++)
        jinja_text_put_string(run, &json->text, json->style->indent);
}

static void put_separator(struct jinja_run *run, struct json *json)
{
    if (json->style->item_separator)
        jinja_text_put_string(run, &json->text, json->style->item_separator);
    else
        jinja_text_puts(run, &json->text, json->style->indented ? "," : ", ");
    put_line(run, json);
}

static void put_json_list(struct jinja_run *run, struct json *json, const struct jinja_list *list)
{
    jinja_text_puts(run, &json->text, "[");
    json->depth++;
    for (size_t i = 0; i < list->n && !jinja_failed(run); i++) {
        if (i)
            put_separator(run, json);
        else
            put_line(run, json);
        put_json(run, json, list->items[i]);
    }
    json->depth--;
    if (list->n)
        put_line(run, json);
    jinja_text_puts(run, &json->text, "]");
}

static void put_json_key(struct jinja_run *run, struct json *json, struct jinja_value key)
{
    if (key.kind == JINJA_STRING) {
        put_json_string(run, json, key.string);
    } else if (key.kind <= JINJA_FLOAT && key.kind != JINJA_UNDEFINED) {
        jinja_text_puts(run, &json->text, "\"");
        put_json(run, json, key);
        jinja_text_puts(run, &json->text, "\"");
    } else {
        jinja_fail(run, "tojson: a key cannot be of type '%s'", jinja_type_name(key));
    }
    if (json->style->key_separator)
        jinja_text_put_string(run, &json->text, json->style->key_separator);
    else
        jinja_text_puts(run, &json->text, ": ");
}

static int by_key(const void *a, const void *b, void *run)
{
    const struct jinja_entry *x = a, *y = b;
    return jinja_compare(run, x->key, y->key);
}

static void put_json_dict(struct jinja_run *run, struct json *json, const struct jinja_dict *dict)
{
    struct jinja_entry *entries = jinja_alloc(run, dict->n, sizeof *entries);
    if (!entries)
        return;
    if (dict->n)
        memcpy(entries, dict->entries, dict->n * sizeof *entries);
    if (json->style->sort_keys)
        qsort_r(entries, dict->n, sizeof *entries, by_key, run);
    jinja_text_puts(run, &json->text, "{");
    json->depth++;
    for (size_t i = 0; i < dict->n && !jinja_failed(run); i++) {
        if (i)
            put_separator(run, json);
        else
            put_line(run, json);
        put_json_key(run, json, entries[i].key);
        put_json(run, json, entries[i].value);
    }
    json->depth--;
    if (dict->n)
        put_line(run, json);
    jinja_text_puts(run, &json->text, "}");
}

static void put_json_plain(struct jinja_run *run, struct json *json, struct jinja_value value)
{
    switch (value.kind) {
    case JINJA_NONE:
        jinja_text_puts(run, &json->text, "null");
        break;
    case JINJA_BOOL:
        jinja_text_puts(run, &json->text, value.boolean ? "true" : "false");
        break;
    case JINJA_INT:
        put_number(run, &json->text, value);
        break;
    case JINJA_FLOAT:
        if (isfinite(value.real))
            put_number(run, &json->text, value);
        else
            jinja_text_puts(run, &json->text,
                            isnan(value.real) ? "NaN"
                            : value.real < 0  ? "-Infinity"
                                              : "Infinity");
        break;
    case JINJA_STRING:
        put_json_string(run, json, value.string);
        break;
    default:
        jinja_fail(run, "tojson: a value of type '%s' has no JSON", jinja_type_name(value));
    }
}

static void put_json(struct jinja_run *run, struct json *json, struct jinja_value value)
{
    if (!jinja_step(run, 1) || !jinja_enter(run))
        return;
    if (value.kind == JINJA_LIST || value.kind == JINJA_TUPLE)
        put_json_list(run, json, value.list);
    else if (value.kind == JINJA_DICT)
        put_json_dict(run, json, value.dict);
    else
        put_json_plain(run, json, value);
    jinja_leave(run);
}

struct jinja_value jinja_to_json(struct jinja_run *run, struct jinja_value value,
                                 const struct jinja_json_style *style)
{
    struct json json = {.style = style};
    put_json(run, &json, value);
    return is_container(value) ? jinja_text_foreign(run, &json.text)
                               : jinja_text_end(run, &json.text);
}

/* ---- % ---- */

struct percent {
    const struct jinja_string *format;
    const struct jinja_args *args;
    size_t next;
    struct jinja_text text;
};

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
        bool negative_hex = whole < 0 && strchr("xXo", letter);
        (void)snprintf(format, sizeof format, "%s%%%sl%c", negative_hex ? "-" : "", spec,
                       letter == 'u' || letter == 'i' ? 'd' : letter);
        (void)snprintf(text, sizeof text, format, negative_hex ? -whole : whole);
    }
    jinja_text_puts(run, &percent->text, text);
}

/* Text in at least the width of the spec, cut to its precision. */
static void put_padded(struct jinja_run *run, struct percent *percent, const char *spec,
                       const struct jinja_string *string)
{
    bool left = strchr(spec, '-') != NULL;
    const char *point = strchr(spec, '.'), *digits = spec + strspn(spec, "-+ #0");
    size_t width = (size_t)atoi(digits), n = string->n;
    if (point)
        n = jinja_char_at(string, (size_t)atoi(point + 1));
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
    struct jinja_value value = percent->args->items[percent->next++];
    struct jinja_text repr = {0};
    if (letter == 'r') {
        put_repr(run, &repr, value);
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
    return jinja_fail(run, "a format names no value that was given");
}

/* at is behind the opening brace. Returns the byte behind the closing one. */
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
