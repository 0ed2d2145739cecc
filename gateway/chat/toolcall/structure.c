#include "gateway/chat/toolcall/structure.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"

enum { MAX_NAME_JSON = 6 * BATON_TOOL_NAME_MAX_BYTES };

/* ---- elements of a structure, written to the open array ---- */

static void open_format(struct baton_json_out *out, const char *key, const char *type)
{
    baton_json_open(out, key, '{');
    baton_json_put_string(out, "type", type);
}

static void open_list(struct baton_json_out *out, const char *type, const char *list)
{
    open_format(out, NULL, type);
    baton_json_open(out, list, '[');
}

static void close_list(struct baton_json_out *out)
{
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static void put_one(struct baton_json_out *out, const char *type, const char *key, const char *text,
                    size_t n)
{
    if (!n)
        return;
    open_format(out, NULL, type);
    baton_json_put_text(out, key, text, n);
    baton_json_close(out, '}');
}

static void put_text(struct baton_json_out *out, const char *text)
{
    put_one(out, "const_string", "value", text, strlen(text));
}

static void put_regex(struct baton_json_out *out, const char *pattern)
{
    put_one(out, "regex", "pattern", pattern, strlen(pattern));
}

/* Returns the length of the token in brackets at the start of the text; 0 when there is none. If
 * the vocabulary has no such token, the structure accepts it as text. */
static size_t token_at(const char *text)
{
    const char *end = *text == '<' ? strchr(text, '>') : *text == '[' ? strchr(text, ']') : NULL;
    return end ? (size_t)(end - text) + 1 : 0;
}

static void put_marker(struct baton_json_out *out, const char *marker)
{
    size_t n_text = 0;
    for (; marker && marker[n_text];) {
        size_t n_token = token_at(marker + n_text);
        if (!n_token) {
            n_text++;
            continue;
        }
        put_one(out, "const_string", "value", marker, n_text);
        put_one(out, "token", "token", marker + n_text, n_token);
        marker += n_text + n_token;
        n_text = 0;
    }
    put_one(out, "const_string", "value", marker, n_text);
}

/* Allows the white space of templates. */
static void put_space(struct baton_json_out *out)
{
    put_regex(out, "\\n?");
}

static void put_text_until(struct baton_json_out *out, const char *excluded)
{
    open_list(out, "any_text", "excludes");
    if (excluded)
        baton_json_put_string(out, NULL, excluded);
    close_list(out);
}

/* Makes the elements between open_maybe and close_maybe optional. */
static void open_maybe(struct baton_json_out *out)
{
    open_format(out, NULL, "repeat");
    baton_json_put_int(out, "min", 0);
    baton_json_put_int(out, "max", 1);
    open_format(out, "content", "sequence");
    baton_json_open(out, "elements", '[');
}

static void close_maybe(struct baton_json_out *out)
{
    close_list(out);
    baton_json_close(out, '}');
}

static void put_schema(struct baton_json_out *out, const struct baton_json *schema)
{
    open_format(out, NULL, "json_schema");
    baton_json_put_value(out, "json_schema", schema);
    baton_json_close(out, '}');
}

/* ---- tools ---- */

static const struct baton_json *function_of(const struct baton_json *tool)
{
    return baton_json_get(tool, "function");
}

static const char *name_of(const struct baton_json *tool)
{
    return baton_json_string(baton_json_get(function_of(tool), "name"), NULL);
}

bool baton_tool_is_strict(const struct baton_json *tool)
{
    return baton_json_bool(baton_json_get(function_of(tool), "strict"));
}

struct baton_json *baton_tool_schema(const struct baton_json *given)
{
    bool is_object = baton_json_kind(given) == BATON_JSON_OBJECT;
    if (is_object && baton_json_get(given, "type"))
        return baton_json_share(given);
    struct baton_json *schema = baton_json_new_object();
    bool is_made = schema && baton_json_set(schema, "type", baton_json_new_string("object"));
    for (void *it = is_object ? baton_json_first(given) : NULL; it && is_made;
         it = baton_json_next(given, it))
        is_made = baton_json_set(schema, baton_json_key(it),
                                 baton_json_share(baton_json_get(given, baton_json_key(it))));
    if (is_made && !is_object) /* OpenAI: a function without parameters takes none */
        is_made = baton_json_set(schema, "additionalProperties", baton_json_new_bool(false));
    if (is_made)
        return schema;
    baton_json_free(schema);
    return NULL;
}

static struct baton_json *schema_of(const struct baton_json *tool)
{
    return baton_tool_schema(baton_json_get(function_of(tool), "parameters"));
}

/* ---- arguments between tags ---- */

static bool is_plain_text(const struct baton_json *schema)
{
    return baton_json_is(baton_json_get(schema, "type"), "string") &&
           !baton_json_get(schema, "enum") && !baton_json_get(schema, "const");
}

/* Returns the values of enum, if all are strings. */
static const struct baton_json *texts_of(const struct baton_json *schema)
{
    const struct baton_json *values = baton_json_get(schema, "enum");
    for (size_t i = 0; i < baton_json_size(values); i++)
        if (baton_json_kind(baton_json_at(values, i)) != BATON_JSON_STRING)
            return NULL;
    return baton_json_size(values) ? values : NULL;
}

/* Writes a property's schema with the definitions that it may refer to. */
static void put_property_schema(struct baton_json_out *out, const struct baton_json *schema,
                                const struct baton_json *root)
{
    static const char *const shared[] = {"$defs", "definitions"};
    open_format(out, NULL, "json_schema");
    if (baton_json_kind(schema) != BATON_JSON_OBJECT) {
        baton_json_put_value(out, "json_schema", schema);
    } else {
        baton_json_open(out, "json_schema", '{');
        for (void *it = baton_json_first(schema); it; it = baton_json_next(schema, it))
            baton_json_put_value(out, baton_json_key(it),
                                 baton_json_get(schema, baton_json_key(it)));
        /* References are into the root of a schema, which the property becomes. */
        for (size_t i = 0; i < BATON_N_OF(shared); i++)
            if (baton_json_get(root, shared[i]) && !baton_json_get(schema, shared[i]))
                baton_json_put_value(out, shared[i], baton_json_get(root, shared[i]));
        baton_json_close(out, '}');
    }
    baton_json_close(out, '}');
}

/* Writes a value: strings as they are, all other values as JSON. */
static void put_value(struct baton_json_out *out, const struct baton_tool_tags *tags,
                      const struct baton_json *schema, const struct baton_json *root)
{
    const struct baton_json *texts = texts_of(schema);
    if (is_plain_text(schema)) {
        put_text_until(out, tags->value_end);
    } else if (texts) {
        open_list(out, "or", "elements");
        for (size_t i = 0; i < baton_json_size(texts); i++)
            put_text(out, baton_json_string(baton_json_at(texts, i), NULL));
        close_list(out);
    } else {
        put_property_schema(out, schema, root);
    }
}

static void put_property(struct baton_json_out *out, const struct baton_tool_tags *tags,
                         const char *key, const struct baton_json *schema,
                         const struct baton_json *root)
{
    const bool is_string = is_plain_text(schema) || texts_of(schema);
    const char *begin = is_string && tags->string_begin ? tags->string_begin : tags->value_begin;
    put_space(out);
    put_marker(out, tags->key_begin);
    put_text(out, key);
    put_marker(out, tags->key_end);
    if (begin) {
        put_space(out);
        put_marker(out, begin);
    }
    put_text(out, tags->pad);
    put_value(out, tags, schema, root);
    put_text(out, tags->pad);
    put_marker(out, tags->value_end);
}

static bool is_required(const struct baton_json *schema, const char *key)
{
    const struct baton_json *required = baton_json_get(schema, "required");
    for (size_t i = 0; i < baton_json_size(required); i++)
        if (baton_json_is(baton_json_at(required, i), key))
            return true;
    return false;
}

static void put_properties(struct baton_json_out *out, const struct baton_tool_tags *tags,
                           const struct baton_json *schema)
{
    const struct baton_json *properties = baton_json_get(schema, "properties");
    for (void *it = baton_json_first(properties); it; it = baton_json_next(properties, it)) {
        const char *key = baton_json_key(it);
        bool may_lack = !is_required(schema, key);
        if (may_lack)
            open_maybe(out);
        put_property(out, tags, key, baton_json_get(properties, key), schema);
        if (may_lack)
            close_maybe(out);
    }
}

/* ---- a call ---- */

/* Writes {"name": "f", "arguments": . */
static void put_json_head(struct baton_json_out *out, const struct baton_tool_format *format,
                          const char *name)
{
    struct baton_buf head;
    baton_buf_init(&head, MAX_NAME_JSON);
    baton_buf_printf(&head, "{\"%s\": ", format->name_key);
    struct baton_json_out name_out = baton_json_out(&head);
    baton_json_put_string(&name_out, NULL, name);
    baton_buf_printf(&head, ", \"%s\": ", format->arguments_key);
    if (baton_buf_err(&head))
        out->buf->err = out->buf->err ? out->buf->err : baton_buf_err(&head);
    else
        put_text(out, baton_buf_text(&head));
    baton_buf_fini(&head);
}

static void put_name(struct baton_json_out *out, const struct baton_tool_format *format,
                     const char *name)
{
    if (format->name_prefix)
        put_text(out, format->name_prefix);
    put_text(out, name);
    if (format->is_numbered)
        put_regex(out, ":[0-9]{1,2}");
    put_marker(out, format->middle);
}

/* Writes a call. Calls in one list share its begin and end. A channel's message is ended by the
 * token that ends the turn. */
static void put_call(struct baton_json_out *out, const struct baton_tool_format *format,
                     const struct baton_json *tool, const struct baton_json *schema, bool opens)
{
    const bool is_own = !format->is_list, has_name = !format->middle && format->name_key;
    open_list(out, "sequence", "elements");
    if (is_own && opens) {
        put_marker(out, format->begin);
        if (has_name && format->begin)
            put_space(out);
    }
    if (has_name)
        put_json_head(out, format, name_of(tool));
    else
        put_name(out, format, name_of(tool));
    if (format->syntax == BATON_TOOL_TAGS)
        put_properties(out, &format->tags, schema);
    else
        put_schema(out, schema);
    if (has_name)
        put_text(out, "}");
    if (is_own && format->end && format->syntax != BATON_TOOL_CHANNELS) {
        put_space(out);
        put_marker(out, format->end);
    }
    close_list(out);
}

/* ---- calls ---- */

static bool may_call(const struct baton_call_wish *wish, const struct baton_json *tool)
{
    return !wish->name || baton_json_is(baton_json_get(function_of(tool), "name"), wish->name);
}

static enum baton_err put_each(struct baton_json_out *out, const struct baton_tool_format *format,
                               const struct baton_call_wish *wish, bool opens)
{
    struct baton_json *any = baton_json_new_object();
    bool is_made = any && baton_json_set(any, "type", baton_json_new_string("object"));
    for (size_t i = 0; i < baton_json_size(wish->tools) && is_made; i++) {
        const struct baton_json *tool = baton_json_at(wish->tools, i);
        struct baton_json *schema = NULL;
        if (!may_call(wish, tool))
            continue;
        /* Arguments in tags need the schema in any case, to know their keys. */
        if (wish->is_forced || baton_tool_is_strict(tool) || format->syntax == BATON_TOOL_TAGS)
            is_made = (schema = schema_of(tool)) != NULL;
        if (is_made)
            put_call(out, format, tool, schema ? schema : any, opens);
        baton_json_free(schema);
    }
    baton_json_free(any);
    return is_made ? BATON_OK : BATON_NO_MEMORY;
}

/* Writes one or several calls with the markers around them. */
static enum baton_err put_calls(struct baton_json_out *out, const struct baton_answer_form *form,
                                const struct baton_call_wish *wish)
{
    const struct baton_tool_format *format = form->tools;
    /* A second call needs its own begin marker, which is missing in these forms. */
    const bool is_single = wish->is_single || form->opens_call ||
                           format->syntax == BATON_TOOL_CHANNELS ||
                           (!format->begin && !format->is_list);
    open_list(out, "sequence", "elements");
    if (format->close) {
        put_marker(out, format->open);
        put_space(out);
    }
    if (format->is_list) {
        put_marker(out, format->begin);
        put_text(out, "[");
    }
    open_format(out, NULL, "tags_with_separator");
    baton_json_put_string(out, "separator",
                          format->is_list     ? ", "
                          : format->separator ? format->separator
                                              : "");
    baton_json_put_bool(out, "at_least_one", true);
    baton_json_put_bool(out, "stop_after_first", is_single);
    baton_json_open(out, "tags", '[');
    enum baton_err err = put_each(out, format, wish, !form->opens_call);
    close_list(out);
    if (format->is_list) {
        put_text(out, "]");
        put_marker(out, format->end);
    }
    if (format->close) {
        put_space(out);
        put_marker(out, format->close);
    }
    close_list(out);
    return err;
}

/* Writes text in which the first marker begins calls. */
static enum baton_err put_text_and_calls(struct baton_json_out *out,
                                         const struct baton_answer_form *form,
                                         const struct baton_call_wish *wish)
{
    const char *first = form->tools->close ? form->tools->open : form->tools->begin;
    /* The grammar triggers on one token, which the model cannot write by accident. */
    size_t n = token_at(first);
    open_format(out, NULL, "triggered_tags");
    baton_json_put_bool(out, "stop_after_first", wish->is_single);
    baton_json_open(out, "triggers", '[');
    baton_json_put_text(out, NULL, first, n ? n : strlen(first));
    baton_json_close(out, ']');
    baton_json_open(out, "tags", '[');
    enum baton_err err = put_calls(out, form, wish);
    close_list(out);
    return err;
}

static enum baton_err put_calls_or_answer(struct baton_json_out *out,
                                          const struct baton_answer_form *form,
                                          const struct baton_call_wish *wish)
{
    open_list(out, "or", "elements");
    enum baton_err err = put_calls(out, form, wish);
    put_schema(out, wish->answer);
    close_list(out);
    return err;
}

/* ---- reasoning ---- */

static void put_reasoning(struct baton_json_out *out, const struct baton_answer_form *form)
{
    const struct baton_reasoning_format *format = form->reasoning;
    if (form->tools->syntax == BATON_TOOL_CHANNELS) {
        open_maybe(out);
        put_marker(out, "<|channel|>analysis<|message|>");
        put_text_until(out, NULL);
        put_marker(out, "<|end|><|start|>assistant");
        close_maybe(out);
    } else if (format) {
        if (!form->opens_reasoning) {
            open_maybe(out);
            put_marker(out, format->begin);
        }
        put_text_until(out, format->end);
        put_marker(out, format->end);
        /* Models write up to two line breaks between reasoning and answer. */
        put_regex(out, "\\n{0,2}");
        if (!form->opens_reasoning)
            close_maybe(out);
    }
}

/* ---- all of it ---- */

bool baton_call_structure_forces(const struct baton_tool_format *format)
{
    return format && format->syntax != BATON_TOOL_PYTHON && format->syntax != BATON_TOOL_GEMMA;
}

bool baton_call_structure_triggers(const struct baton_tool_format *format)
{
    return baton_call_structure_forces(format) && format->begin &&
           format->syntax != BATON_TOOL_CHANNELS && !format->text_begin;
}

enum baton_err baton_call_structure_put(struct baton_json_out *out,
                                        const struct baton_answer_form *form,
                                        const struct baton_call_wish *wish)
{
    enum baton_err err;
    if (!baton_call_structure_forces(form->tools) ||
        (!wish->is_forced && !wish->answer && !baton_call_structure_triggers(form->tools)))
        return BATON_INVALID;
    open_list(out, "sequence", "elements");
    put_reasoning(out, form);
    if (wish->is_forced)
        err = put_calls(out, form, wish);
    else if (wish->answer)
        err = put_calls_or_answer(out, form, wish);
    else
        err = put_text_and_calls(out, form, wish);
    close_list(out);
    return err ? err : baton_buf_err(out->buf);
}
