/* Writes values as Python's str and repr do. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

/* ---- numbers ---- */

/* Writes the shortest digits that read back as the same number, as Python's repr does: with an
 * exponent below 1e-4 and from 1e16 on. */
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
    int exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
    if (exponent >= -4 && exponent < 16)
        (void)snprintf(out, 40, "%.*f", precision - 1 > exponent ? precision - 1 - exponent : 1,
                       value);
    else
        (void)snprintf(out, 40, "%s", digits);
}

void jinja_put_number(struct jinja_run *run, struct jinja_text *out, struct jinja_value value)
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
        jinja_put_repr(run, out, list->items[i]);
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
        jinja_put_repr(run, out, dict->entries[i].key);
        jinja_text_puts(run, out, ": ");
        jinja_put_repr(run, out, dict->entries[i].value);
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
        jinja_put_number(run, out, value);
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

void jinja_put_repr(struct jinja_run *run, struct jinja_text *out, struct jinja_value value)
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

const struct jinja_string *jinja_str(struct jinja_run *run, struct jinja_value value)
{
    static const struct jinja_string empty = {.bytes = "", .own = true};
    struct jinja_text text = {0};
    if (value.kind == JINJA_STRING)
        return value.string;
    if (value.kind == JINJA_UNDEFINED)
        return &empty;
    jinja_put_repr(run, &text, value);
    /* The spelling of a list or map depends on the values of the request. */
    struct jinja_value made =
        jinja_is_container(value) ? jinja_text_foreign(run, &text) : jinja_text_end(run, &text);
    return made.kind == JINJA_STRING ? made.string : &empty;
}
