/* Writes values as JSON, in the form of Python's json.dumps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

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
    /* A copy is sorted: the map keeps its order. */
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
        jinja_put_number(run, &json->text, value);
        break;
    case JINJA_FLOAT:
        if (isfinite(value.real))
            jinja_put_number(run, &json->text, value);
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
    /* The JSON of a container is foreign text, because its values come from the request. */
    return jinja_is_container(value) ? jinja_text_foreign(run, &json.text)
                                     : jinja_text_end(run, &json.text);
}
