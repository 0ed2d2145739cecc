#include "gateway/chat/toolcall/structure.h"

#include <stdio.h>
#include <string.h>

#include "gateway/chat/toolcall/structure_arguments.h"
#include "gateway/chat/toolcall/structure_elements.h"

enum { MAX_NAME_JSON = 6 * BATON_TOOL_NAME_MAX_BYTES };

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

/* ---- a call ---- */

/* Writes {"name": "f", "arguments": . */
static void put_json_head(struct baton_json_out *out, const struct baton_tool_format *format,
                          const char *name)
{
    struct baton_buf head;
    baton_buf_init(&head, MAX_NAME_JSON);
    struct baton_json_out name_out = baton_json_out(&head);
    baton_buf_puts(&head, "{");
    if (!format->name_is_key)
        baton_buf_printf(&head, "\"%s\": ", format->name_key);
    baton_json_put_string(&name_out, NULL, name);
    if (format->name_is_key)
        baton_buf_puts(&head, ": ");
    else
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
    if (format->id_end) {
        put_regex(out, "[a-z0-9]{10}");
        put_marker(out, format->id_end);
    }
    if (format->name_prefix)
        put_text(out, format->name_prefix);
    put_text(out, name);
    if (format->is_numbered)
        put_regex(out, ":[0-9]{1,2}");
    put_marker(out, format->middle);
}

/* True for forms whose arguments are JSON as a whole. */
static bool has_json(const struct baton_tool_format *format)
{
    return format->syntax == BATON_TOOL_JSON || format->syntax == BATON_TOOL_CHANNELS;
}

/* True when all calls stand in one list. */
static bool is_list(const struct baton_tool_format *format)
{
    return format->is_list || format->syntax == BATON_TOOL_PYTHON;
}

/* Writes a call. Calls in one list share its begin and end. A channel's message is ended by the
 * token that ends the turn. */
static void put_call(struct baton_json_out *out, const struct baton_tool_format *format,
                     const struct baton_json *tool, const struct baton_json *schema, bool opens)
{
    const bool is_own = !is_list(format);
    const bool has_name = has_json(format) && !format->middle;
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
    if (has_json(format))
        put_schema(out, schema);
    else
        baton_structure_put_arguments(out, format, schema);
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
        /* Arguments one by one need the schema in any case, to know their keys. */
        if (wish->is_forced || baton_tool_is_strict(tool) || !has_json(format))
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
                           (!format->begin && !is_list(format));
    open_list(out, "sequence", "elements");
    if (format->close || format->opens_each) {
        put_marker(out, format->open);
        put_space(out);
    }
    if (is_list(format)) {
        put_marker(out, format->begin);
        put_text(out, "[");
    }
    open_format(out, NULL, "tags_with_separator");
    baton_json_put_string(out, "separator",
                          is_list(format)     ? ", "
                          : format->separator ? format->separator
                                              : "");
    baton_json_put_bool(out, "at_least_one", true);
    baton_json_put_bool(out, "stop_after_first", is_single);
    baton_json_open(out, "tags", '[');
    enum baton_err err = put_each(out, format, wish, !form->opens_call);
    close_list(out);
    if (is_list(format)) {
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
    const struct baton_tool_format *format = form->tools;
    const char *first = format->close || format->opens_each ? format->open : format->begin;
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

/* Any text without the strings and the marker, of which each may be NULL. */
static void put_thought(struct baton_json_out *out, const struct baton_json *excluded,
                        const char *marker)
{
    open_list(out, "any_text", "excludes");
    for (size_t i = 0; i < baton_json_size(excluded); i++)
        baton_json_put_value(out, NULL, baton_json_at(excluded, i));
    if (marker)
        baton_json_put_string(out, NULL, marker);
    close_list(out);
}

void baton_structure_put_reasoning(struct baton_json_out *out, const struct baton_answer_form *form,
                                   const struct baton_json *excluded)
{
    const struct baton_reasoning_format *format = form->reasoning;
    if (form->skips_reasoning)
        return;
    if ((format && format->has_channels) ||
        (form->tools && form->tools->syntax == BATON_TOOL_CHANNELS)) {
        open_maybe(out);
        put_marker(out, "<|channel|>analysis<|message|>");
        put_thought(out, excluded, NULL);
        put_marker(out, "<|end|><|start|>assistant");
        close_maybe(out);
    } else if (format) {
        if (!form->opens_reasoning) {
            open_maybe(out);
            put_marker(out, format->begin);
        }
        put_thought(out, excluded, format->end);
        put_marker(out, format->end);
        /* Models write up to two line breaks between reasoning and answer. */
        put_regex(out, "\\n{0,2}");
        if (!form->opens_reasoning)
            close_maybe(out);
    }
}

/* ---- all of it ---- */

bool baton_call_structure_triggers(const struct baton_tool_format *format)
{
    return format && format->begin && format->syntax != BATON_TOOL_CHANNELS && !format->text_begin;
}

enum baton_err baton_call_structure_put(struct baton_json_out *out,
                                        const struct baton_answer_form *form,
                                        const struct baton_call_wish *wish)
{
    enum baton_err err;
    if (!wish->is_forced && !wish->answer && !baton_call_structure_triggers(form->tools))
        return BATON_INVALID;
    open_list(out, "sequence", "elements");
    baton_structure_put_reasoning(out, form, NULL);
    if (wish->is_forced)
        err = put_calls(out, form, wish);
    else if (wish->answer)
        err = put_calls_or_answer(out, form, wish);
    else
        err = put_text_and_calls(out, form, wish);
    close_list(out);
    return err ? err : baton_buf_err(out->buf);
}
