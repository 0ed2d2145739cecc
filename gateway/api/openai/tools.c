#include "gateway/api/openai/tools.h"

#include <string.h>

#include "gateway/api/json_util.h"

enum { DESCRIPTION_MAX_BYTES = 1 << 20 };

/* ---- custom tools ---- */

static void put_text(struct baton_buf *out, const char *before, const struct baton_json *text)
{
    size_t n = 0;
    const char *bytes = baton_json_string(text, &n);
    baton_buf_append(out, before, bytes ? strlen(before) : 0);
    baton_buf_append(out, bytes, bytes ? n : 0);
}

void gw_tools_add_input(struct gw_fields *fields, struct baton_json *function,
                        const struct baton_json *description, const struct baton_json *definition)
{
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":"
                                 "\"string\"}},\"required\":[\"input\"],"
                                 "\"additionalProperties\":false}";
    struct baton_json *parameters = NULL;
    struct baton_buf text;
    baton_buf_init(&text, DESCRIPTION_MAX_BYTES);
    put_text(&text, "", description);
    put_text(&text, "\n\nThe input is text of this grammar:\n", definition);
    if (baton_json_parse(schema, strlen(schema), &parameters, NULL))
        parameters = NULL; /* no memory: setting NULL below reports it */
    if (text.len)
        gw_json_set(fields, function, "description",
                    baton_json_new_text(baton_buf_text(&text), text.len));
    gw_json_set(fields, function, "parameters", parameters);
    baton_buf_fini(&text);
}

void gw_tools_put_input(struct baton_json_out *out, const char *key,
                        const struct gw_tool_call *call)
{
    struct baton_json *arguments = NULL;
    const char *text = NULL;
    size_t n = 0;
    if (!baton_json_parse(call->arguments, call->n_arguments, &arguments, NULL))
        text = baton_json_string(baton_json_get(arguments, "input"), &n);
    if (text)
        baton_json_put_text(out, key, text, n);
    else
        baton_json_put_text(out, key, call->arguments, call->n_arguments);
    baton_json_free(arguments);
}

/* ---- allowed tools ---- */

/* The name that a listed tool has: {"type":T,T:{"name"}} in chats, {"type":T,"name"} elsewhere. */
static const char *name_of(const struct baton_json *tool)
{
    const char *type = baton_json_string(baton_json_get(tool, "type"), NULL);
    const struct baton_json *inner = type ? baton_json_get(tool, type) : NULL;
    return baton_json_string(baton_json_get(inner ? inner : tool, "name"), NULL);
}

static const struct baton_json *find(const struct baton_json *tools, const char *name)
{
    for (size_t i = 0; name && i < baton_json_size(tools); i++) {
        const struct baton_json *function = baton_json_get(baton_json_at(tools, i), "function");
        if (baton_json_is(baton_json_get(function, "name"), name))
            return baton_json_at(tools, i);
    }
    return NULL;
}

/* Returns the listed ones among the tools. Those of the server have no names: they are left out. */
static struct baton_json *choose(struct gw_fields *fields, const struct baton_json *tools,
                                 const struct baton_json *listed)
{
    struct baton_json *chosen = baton_json_new_array();
    for (size_t i = 0; i < baton_json_size(listed) && !fields->failed; i++) {
        const char *name = name_of(baton_json_at(listed, i));
        const struct baton_json *tool = find(tools, name);
        if (!name || (tool && find(chosen, name)))
            continue;
        if (tool)
            gw_json_push(fields, chosen, baton_json_share(tool));
        else
            gw_fields_fail(fields, "tool_choice", "invalid_value",
                           "tool_choice: tools has no function called %.64s, which allowed_tools "
                           "lists",
                           name);
    }
    return chosen;
}

void gw_tools_restrict(struct gw_fields *fields, struct baton_json *body)
{
    const struct baton_json *choice = baton_json_get(body, "tool_choice");
    const struct baton_json *inner = baton_json_get(choice, "allowed_tools");
    const struct baton_json *allowed = inner ? inner : choice;
    const struct baton_json *mode = baton_json_get(allowed, "mode"),
                            *listed = baton_json_get(allowed, "tools");
    if (!gw_json_is_type(choice, "allowed_tools"))
        return;
    if (!baton_json_size(listed) || baton_json_kind(listed) != BATON_JSON_ARRAY ||
        (!baton_json_is(mode, "auto") && !baton_json_is(mode, "required"))) {
        gw_fields_fail(fields, "tool_choice", "invalid_value",
                       "tool_choice: allowed_tools must have the mode auto or required, and tools, "
                       "an array with one tool or more");
        return;
    }
    struct baton_json *kept = baton_json_share(mode); /* the choice is replaced below */
    gw_json_set(fields, body, "tools", choose(fields, baton_json_get(body, "tools"), listed));
    gw_json_set(fields, body, "tool_choice", kept);
}
