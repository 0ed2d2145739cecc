#include "gateway/api/openai/chat_body.h"

#include <stdio.h>
#include <string.h>

#include "gateway/api/json_util.h"
#include "gateway/api/openai/tools.h"

enum { ID_BYTES = 16, INPUT_MAX_BYTES = 16 << 20 };

/* The messages so far. */
struct walk {
    struct gw_fields *fields;
    int n_calls;            /* of the older form */
    char last_id[ID_BYTES]; /* of the last of them; "": none */
};

static bool has(const struct baton_json *object, const char *key)
{
    return baton_json_kind(baton_json_get(object, key)) != BATON_JSON_NULL;
}

bool gw_chat_body_has_functions(const struct baton_json *body)
{
    return has(body, "functions");
}

bool gw_chat_body_is_custom(const struct baton_json *tools, const char *name, size_t n)
{
    for (size_t i = 0; i < baton_json_size(tools); i++) {
        const struct baton_json *tool = baton_json_at(tools, i);
        size_t n_own = 0;
        const char *own =
            baton_json_string(baton_json_get(baton_json_get(tool, "custom"), "name"), &n_own);
        if (gw_json_is_type(tool, "custom") && own && n_own == n && !memcmp(own, name, n))
            return true;
    }
    return false;
}

/* {"type":"function","function":function}; takes the function over. */
static struct baton_json *function_tool(struct gw_fields *fields, struct baton_json *function)
{
    struct baton_json *made = baton_json_new_object();
    gw_json_set(fields, made, "type", baton_json_new_string("function"));
    gw_json_set(fields, made, "function", function);
    return made;
}

/* ---- tools ---- */

static struct baton_json *tool_of(struct gw_fields *fields, const struct baton_json *tool)
{
    const struct baton_json *custom = baton_json_get(tool, "custom");
    const struct baton_json *name = baton_json_get(custom, "name");
    const struct baton_json *format = baton_json_get(custom, "format");
    struct baton_json *function;
    if (!gw_json_is_type(tool, "custom") || !gw_json_is_string(name))
        return baton_json_share(tool);
    struct baton_json *made = gw_json_function(fields, name, &function);
    if (function)
        gw_tools_add_input(fields, function, baton_json_get(custom, "description"),
                           baton_json_get(baton_json_get(format, "grammar"), "definition"));
    return made;
}

static struct baton_json *tools_of(struct gw_fields *fields, const struct baton_json *tools)
{
    if (baton_json_kind(tools) != BATON_JSON_ARRAY)
        return baton_json_share(tools);
    struct baton_json *made = baton_json_new_array();
    for (size_t i = 0; i < baton_json_size(tools); i++)
        gw_json_push(fields, made, tool_of(fields, baton_json_at(tools, i)));
    return made;
}

static struct baton_json *choice_of(struct gw_fields *fields, const struct baton_json *choice)
{
    const struct baton_json *name = baton_json_get(baton_json_get(choice, "custom"), "name");
    struct baton_json *function;
    return gw_json_is_type(choice, "custom") && gw_json_is_string(name)
               ? gw_json_function(fields, name, &function)
               : baton_json_share(choice);
}

/* ---- functions ---- */

static void take_functions(struct gw_fields *fields, struct baton_json *made)
{
    const struct baton_json *functions =
        gw_field_of(fields, "functions", GW_IS_ARRAY, "an array of {\"name\":...}");
    struct baton_json *tools = baton_json_new_array();
    if (functions && has(fields->body, "tools"))
        gw_fields_fail(fields, "functions", "invalid_value", "functions: not together with tools");
    for (size_t i = 0; i < baton_json_size(functions) && !fields->failed; i++) {
        const struct baton_json *function = baton_json_at(functions, i);
        if (!gw_json_is_string(baton_json_get(function, "name")))
            gw_fields_fail(fields, "functions", "invalid_value",
                           "functions[%zu]: must be {\"name\":...}", i);
        else
            gw_json_push(fields, tools, function_tool(fields, baton_json_share(function)));
    }
    if (functions) {
        gw_json_set(fields, made, "tools", tools);
        /* An answer has room for one call. */
        gw_json_set(fields, made, "parallel_tool_calls", baton_json_new_bool(false));
    } else {
        baton_json_free(tools);
    }
}

static bool is_named(const struct baton_json *functions, const struct baton_json *name)
{
    size_t n;
    bool found = false;
    for (size_t i = 0; i < baton_json_size(functions) && !found; i++)
        found = baton_json_is(baton_json_get(baton_json_at(functions, i), "name"),
                              baton_json_string(name, &n));
    return found;
}

static void take_function_call(struct gw_fields *fields, struct baton_json *made)
{
    static const char wanted[] = "\"auto\", \"none\" or {\"name\":...}";
    const struct baton_json *call =
        gw_field_of(fields, "function_call", GW_IS_STRING | GW_IS_OBJECT, wanted);
    const struct baton_json *name = baton_json_get(call, "name");
    if (!call)
        return;
    if (has(fields->body, "tool_choice"))
        gw_fields_fail(fields, "function_call", "invalid_value",
                       "function_call: not together with tool_choice");
    else if (gw_json_is_string(name) && !is_named(baton_json_get(fields->body, "functions"), name))
        gw_fields_fail(fields, "function_call", "invalid_value",
                       "function_call.name: must be that of one of the functions");
    else if (gw_json_is_string(name))
        gw_json_set(fields, made, "tool_choice", function_tool(fields, baton_json_share(call)));
    else if (baton_json_is(call, "auto") || baton_json_is(call, "none"))
        gw_json_set(fields, made, "tool_choice", baton_json_share(call));
    else
        gw_fields_fail(fields, "function_call", "invalid_value", "function_call: must be %s",
                       wanted);
}

/* ---- messages ---- */

static struct baton_json *custom_call(struct gw_fields *fields, const struct baton_json *call)
{
    const struct baton_json *custom = baton_json_get(call, "custom");
    struct baton_buf text;
    struct baton_json *function;
    if (!gw_json_is_type(call, "custom") || !gw_json_is_string(baton_json_get(custom, "name")))
        return baton_json_share(call);
    baton_buf_init(&text, INPUT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    baton_json_open(&out, NULL, '{');
    baton_json_put_value(&out, "input", baton_json_get(custom, "input"));
    baton_json_close(&out, '}');
    struct baton_json *made = gw_json_function(fields, baton_json_get(custom, "name"), &function);
    if (function)
        gw_json_set(fields, function, "arguments",
                    baton_buf_err(&text) ? NULL
                                         : baton_json_new_text(baton_buf_text(&text), text.len));
    if (has(call, "id"))
        gw_json_set(fields, made, "id", baton_json_share(baton_json_get(call, "id")));
    baton_buf_fini(&text);
    return made;
}

static struct baton_json *calls_of(struct gw_fields *fields, const struct baton_json *calls)
{
    if (baton_json_kind(calls) != BATON_JSON_ARRAY)
        return baton_json_share(calls);
    struct baton_json *made = baton_json_new_array();
    for (size_t i = 0; i < baton_json_size(calls); i++)
        gw_json_push(fields, made, custom_call(fields, baton_json_at(calls, i)));
    return made;
}

/* Adds the call of the older form, which has no id. Templates want one. */
static void add_call(struct walk *walk, struct baton_json *made, const struct baton_json *call)
{
    struct baton_json *calls = baton_json_new_array();
    struct baton_json *tool = baton_json_new_object();
    (void)snprintf(walk->last_id, sizeof walk->last_id, "call%05d", walk->n_calls++ % 100000);
    gw_json_set(walk->fields, tool, "id", baton_json_new_string(walk->last_id));
    gw_json_set(walk->fields, tool, "type", baton_json_new_string("function"));
    gw_json_set(walk->fields, tool, "function", baton_json_share(call));
    gw_json_push(walk->fields, calls, tool);
    gw_json_set(walk->fields, made, "tool_calls", calls);
}

static struct baton_json *message_of(struct walk *walk, const struct baton_json *message)
{
    bool is_result = baton_json_is(baton_json_get(message, "role"), "function");
    bool has_calls = baton_json_size(baton_json_get(message, "tool_calls"));
    if (!gw_json_is_object(message))
        return baton_json_share(message);
    struct baton_json *made = baton_json_new_object();
    for (void *it = baton_json_first(message); it; it = baton_json_next(message, it)) {
        const char *key = baton_json_key(it);
        const struct baton_json *member = baton_json_member(it);
        if (!strcmp(key, "tool_calls"))
            gw_json_set(walk->fields, made, key, calls_of(walk->fields, member));
        else if (!strcmp(key, "role") && is_result)
            gw_json_set(walk->fields, made, key, baton_json_new_string("tool"));
        else if (strcmp(key, "function_call") != 0)
            gw_json_set(walk->fields, made, key, baton_json_share(member));
        else if (gw_json_is_object(member) && !has_calls)
            add_call(walk, made, member);
    }
    if (is_result && *walk->last_id && !has(message, "tool_call_id"))
        gw_json_set(walk->fields, made, "tool_call_id", baton_json_new_string(walk->last_id));
    return made;
}

static struct baton_json *messages_of(struct gw_fields *fields, const struct baton_json *messages)
{
    struct walk walk = {.fields = fields};
    if (baton_json_kind(messages) != BATON_JSON_ARRAY)
        return baton_json_share(messages);
    struct baton_json *made = baton_json_new_array();
    for (size_t i = 0; i < baton_json_size(messages) && !fields->failed; i++)
        gw_json_push(fields, made, message_of(&walk, baton_json_at(messages, i)));
    return made;
}

/* ---- the body ---- */

/* Returns NULL for members that others replace. */
static struct baton_json *member_of(struct gw_fields *fields, const char *key,
                                    const struct baton_json *member)
{
    if (!strcmp(key, "functions") || !strcmp(key, "function_call"))
        return NULL;
    return !strcmp(key, "messages")      ? messages_of(fields, member)
           : !strcmp(key, "tools")       ? tools_of(fields, member)
           : !strcmp(key, "tool_choice") ? choice_of(fields, member)
                                         : baton_json_share(member);
}

struct baton_json *gw_chat_body(struct gw_fields *fields)
{
    if (!gw_json_is_object(fields->body))
        return baton_json_share(fields->body);
    struct baton_json *made = baton_json_new_object();
    for (void *it = baton_json_first(fields->body); it && !fields->failed;
         it = baton_json_next(fields->body, it)) {
        struct baton_json *member = member_of(fields, baton_json_key(it), baton_json_member(it));
        if (member)
            gw_json_set(fields, made, baton_json_key(it), member);
    }
    take_functions(fields, made);
    take_function_call(fields, made);
    if (!fields->failed)
        gw_tools_restrict(fields, made);
    if (!fields->failed)
        return made;
    baton_json_free(made);
    return NULL;
}
