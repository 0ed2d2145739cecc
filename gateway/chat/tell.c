#include "gateway/chat/tell.h"

#include <string.h>

#include "common/base/buf.h"

enum { TOLD_MAX_BYTES = 256 << 20 };

static void put(struct baton_buf *text, const char *part)
{
    baton_buf_puts(text, part ? part : "");
}

static void put_argument(struct baton_buf *text, const struct baton_tool_format *form)
{
    const struct baton_tool_tags *tags = &form->tags;
    put(text, tags->key_begin);
    put(text, "<argument-name>");
    put(text, tags->key_end);
    put(text, tags->string_begin ? tags->string_begin : tags->value_begin);
    put(text, tags->pad);
    put(text, "<value>");
    put(text, tags->pad);
    put(text, tags->value_end);
    put(text, tags->ends_by_key ? "<argument-name>>" : NULL);
}

/* Writes a call without the markers around it. */
static void put_body(struct baton_buf *text, const struct baton_tool_format *form)
{
    bool has_name = form->syntax == BATON_TOOL_JSON && !form->middle;
    if (form->syntax == BATON_TOOL_PYTHON) {
        put(text, "[<function-name>(<argument-name>=<value>)]");
    } else if (has_name) {
        put(text, form->is_list ? "[" : NULL);
        if (form->name_is_key)
            put(text, "{<function-name>: <args-json-object>}");
        else
            baton_buf_printf(text, "{\"%s\": <function-name>, \"%s\": <args-json-object>}",
                             form->name_key, form->arguments_key);
        put(text, form->is_list ? "]" : NULL);
    } else {
        put(text, form->id_end ? "<id>" : NULL);
        put(text, form->id_end);
        put(text, form->name_prefix);
        put(text, "<function-name>");
        put(text, form->is_numbered ? ":0" : "");
        put(text, form->middle);
        if (form->syntax == BATON_TOOL_TAGS)
            put_argument(text, form);
        else
            put(text, "<args-json-object>");
    }
}

static void put_call(struct baton_buf *text, const struct baton_tool_format *form)
{
    const char *space = form->begin && form->syntax == BATON_TOOL_JSON && !form->middle ? "\n" : "";
    put(text, form->close ? form->open : NULL);
    put(text, form->begin);
    put(text, space);
    put_body(text, form);
    put(text, space);
    put(text, form->end);
    put(text, form->close);
}

struct baton_json *baton_chat_tell_tools(const struct baton_tool_format *form,
                                         const struct baton_json *tools)
{
    struct baton_buf text;
    struct baton_json *made = NULL;
    baton_buf_init(&text, TOLD_MAX_BYTES);
    baton_buf_puts(&text, "# Tools\n\nYou may call one or more functions to assist with the user "
                          "query.\n\nYou are provided with function signatures within "
                          "<tools></tools> XML tags:\n<tools>\n");
    for (size_t i = 0; i < baton_json_size(tools); i++) {
        struct baton_json_out out = baton_json_out(&text);
        baton_json_put_value(&out, NULL, baton_json_at(tools, i));
        baton_buf_putc(&text, '\n');
    }
    baton_buf_puts(&text, "</tools>\n\nTo call a function, write its name and its arguments as "
                          "follows, and nothing after the calls:\n");
    put_call(&text, form);
    if (!baton_buf_err(&text))
        made = baton_json_new_text(baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
    return made;
}
