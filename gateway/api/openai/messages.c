#include "gateway/api/openai/messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "gateway/api/params/thinking.h"
#include "gateway/chat/content.h"

enum { MAX_TOOLS = 1024, MAX_ROLE_BYTES = 64 };

static void fail(struct gw_fields *fields, size_t i, const char *code, const char *what)
{
    gw_fields_fail(fields, "messages", code, "messages[%zu].%s", i, what);
}

static bool is_object(const struct baton_json *json)
{
    return baton_json_kind(json) == BATON_JSON_OBJECT;
}

static bool is_string(const struct baton_json *json)
{
    return baton_json_kind(json) == BATON_JSON_STRING;
}

/* ---- messages ---- */

/* Other roles than system, developer, user, assistant and tool are for templates that write their
 * names. */
static void check_role(struct gw_fields *fields, size_t i, const struct baton_json *message)
{
    size_t n = 0;
    const char *role = baton_json_string(baton_json_get(message, "role"), &n);
    if (!role || !n || n > MAX_ROLE_BYTES)
        fail(fields, i, "invalid_value",
             "role: must be system, developer, user, assistant, tool or another word");
}

/* Checks the parts of a message. Parts without words, such as images, have no effect in earlier
 * turns and in results; a question about one is refused. */
static void check_parts(struct gw_fields *fields, size_t i, const struct baton_json *parts,
                        bool is_asked)
{
    for (size_t p = 0; p < baton_json_size(parts) && !fields->failed; p++) {
        const struct baton_json *part = baton_json_at(parts, p);
        if (!is_object(part))
            fail(fields, i, "invalid_type", "content: each part must be an object");
        else if (baton_json_is(baton_json_get(part, "type"), "text") &&
                 !is_string(baton_json_get(part, "text")))
            fail(fields, i, "invalid_value", "content: each part of type text must have a text");
        else if (baton_chat_part_has_words(part))
            continue;
        else if (is_asked)
            gw_fields_fail(fields, "messages", "unsupported_field",
                           "messages[%zu].content[%zu]: %.40s is not supported: the model reads "
                           "text only",
                           i, p, baton_chat_part_kind(part));
        else
            gw_fields_leave_out(fields, "messages[%zu].content[%zu]", i, p);
    }
}

static void check_content(struct gw_fields *fields, size_t i, const struct baton_json *message,
                          bool is_earlier)
{
    const struct baton_json *content = baton_json_get(message, "content");
    enum baton_json_kind kind = baton_json_kind(content);
    bool is_user = baton_json_is(baton_json_get(message, "role"), "user");
    if (kind == BATON_JSON_ARRAY)
        check_parts(fields, i, content, is_user && !is_earlier);
    else if (kind != BATON_JSON_STRING && kind != BATON_JSON_NULL)
        fail(fields, i, "invalid_type", "content: must be a string or an array of text parts");
    else if (!content && !baton_json_is(baton_json_get(message, "role"), "assistant"))
        fail(fields, i, "missing_field", "content: must be a string or an array of text parts");
    if (baton_json_size(baton_json_get(message, "images"))) {
        if (is_user && !is_earlier)
            fail(fields, i, "unsupported_field", "images: is not supported");
        gw_fields_leave_out(fields, "messages[%zu].images", i);
    }
}

static bool is_call(const struct baton_json *call)
{
    const struct baton_json *function = baton_json_get(call, "function");
    const struct baton_json *arguments = baton_json_get(function, "arguments");
    const struct baton_json *type = baton_json_get(call, "type");
    return (!type || baton_json_is(type, "function")) &&
           is_string(baton_json_get(function, "name")) &&
           (is_string(arguments) || is_object(arguments) ||
            baton_json_kind(arguments) == BATON_JSON_NULL);
}

static void check_calls(struct gw_fields *fields, size_t i, const struct baton_json *message)
{
    const struct baton_json *calls = baton_json_get(message, "tool_calls");
    if (baton_json_kind(calls) == BATON_JSON_NULL)
        return;
    if (baton_json_kind(calls) != BATON_JSON_ARRAY)
        fail(fields, i, "invalid_type", "tool_calls: must be an array");
    if (baton_json_size(calls) && !baton_json_is(baton_json_get(message, "role"), "assistant"))
        fail(fields, i, "invalid_value", "tool_calls: only an assistant's message may have them");
    for (size_t c = 0; c < baton_json_size(calls) && !fields->failed; c++)
        if (!is_call(baton_json_at(calls, c)))
            fail(fields, i, "invalid_value",
                 "tool_calls: each must be {\"type\":\"function\",\"function\":{\"name\":..., "
                 "\"arguments\":...}}");
}

static void check_message(struct gw_fields *fields, size_t i, const struct baton_json *message,
                          bool is_earlier)
{
    if (!is_object(message)) {
        gw_fields_fail(fields, "messages", "invalid_type", "messages[%zu]: must be an object", i);
        return;
    }
    check_role(fields, i, message);
    check_content(fields, i, message, is_earlier);
    check_calls(fields, i, message);
}

/* Counts the messages before the assistant's last one, and this one. */
static size_t count_earlier(const struct baton_json *messages)
{
    size_t n = baton_json_size(messages);
    while (n && !baton_json_is(baton_json_get(baton_json_at(messages, n - 1), "role"), "assistant"))
        n--;
    return n;
}

const struct baton_json *gw_messages_read_list(struct gw_fields *fields)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "an array of 1 to %d messages", GW_MAX_MESSAGES);
    const struct baton_json *messages = gw_field_of(fields, "messages", GW_IS_ARRAY, wanted);
    size_t n = baton_json_size(messages), n_earlier = count_earlier(messages);
    if (!n || n > GW_MAX_MESSAGES)
        gw_fields_fail(fields, "messages", messages ? "invalid_value" : "missing_field",
                       "messages: must be %s", wanted);
    for (size_t i = 0; i < n && !fields->failed; i++)
        check_message(fields, i, baton_json_at(messages, i), i < n_earlier);
    return messages;
}

/* ---- tools, documents, variables ---- */

/* Reads an array of objects; NULL if it is absent or empty. */
static const struct baton_json *read_objects(struct gw_fields *fields, const char *name)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "an array of up to %d objects", MAX_TOOLS);
    const struct baton_json *array = gw_field_of(fields, name, GW_IS_ARRAY, wanted);
    bool wrong = baton_json_size(array) > MAX_TOOLS;
    for (size_t i = 0; i < baton_json_size(array) && !wrong; i++)
        wrong = !is_object(baton_json_at(array, i));
    if (wrong)
        gw_fields_fail(fields, name, "invalid_type", "%s: must be %s", name, wanted);
    return baton_json_size(array) && !wrong ? array : NULL;
}

static const struct baton_json *read_tools(struct gw_fields *fields)
{
    const struct baton_json *tools = read_objects(fields, "tools");
    for (size_t i = 0; i < baton_json_size(tools) && !fields->failed; i++) {
        const struct baton_json *tool = baton_json_at(tools, i);
        if (!baton_json_is(baton_json_get(tool, "type"), "function") ||
            !is_string(baton_json_get(baton_json_get(tool, "function"), "name")))
            gw_fields_fail(fields, "tools", "invalid_value",
                           "tools[%zu]: must be {\"type\":\"function\",\"function\":{\"name\":"
                           "...}}",
                           i);
    }
    return tools;
}

/* Whether the variable is set by a field of the request or by the model. */
static bool is_reserved(const char *name)
{
    static const char *const reserved[] = {
        "messages",  "tools",    "documents", "add_generation_prompt", "continue_final_message",
        "bos_token", "eos_token"};
    for (size_t i = 0; i < BATON_N_OF(reserved); i++)
        if (!strcmp(name, reserved[i]))
            return true;
    return false;
}

static const struct baton_json *read_kwargs(struct gw_fields *fields)
{
    const struct baton_json *kwargs =
        gw_field_of(fields, "chat_template_kwargs", GW_IS_OBJECT, "an object {variable: value}");
    for (void *it = baton_json_first(kwargs); it; it = baton_json_next(kwargs, it))
        if (is_reserved(baton_json_key(it)))
            gw_fields_fail(fields, "chat_template_kwargs", "invalid_value",
                           "chat_template_kwargs: %s cannot be set here", baton_json_key(it));
    return kwargs;
}

static const char *read_effort(struct gw_fields *fields)
{
    const struct baton_json *effort =
        gw_field_of(fields, "reasoning_effort", GW_IS_STRING, "a string");
    return baton_json_string(effort, NULL);
}

static void read_openings(struct gw_fields *fields, struct baton_chat_input *input)
{
    bool opens = true, given = gw_field(fields, "add_generation_prompt") != NULL;
    gw_field_bool(fields, "add_generation_prompt", &opens);
    gw_field_bool(fields, "continue_final_message", &input->continues);
    input->no_generation_prompt = !opens;
    size_t n = baton_json_size(input->messages);
    const struct baton_json *last = n ? baton_json_at(input->messages, n - 1) : NULL;
    if (input->continues && given && opens)
        gw_fields_fail(fields, "continue_final_message", "invalid_value",
                       "continue_final_message: not together with add_generation_prompt");
    if (input->continues && !baton_json_is(baton_json_get(last, "role"), "assistant"))
        gw_fields_fail(fields, "continue_final_message", "invalid_value",
                       "continue_final_message: the last message is not the assistant's");
}

void gw_messages_read(struct gw_fields *fields, struct baton_chat_input *input,
                      struct gw_tool_choice *choice)
{
    input->messages = gw_messages_read_list(fields);
    input->tools = read_tools(fields);
    *choice = gw_tool_choice_read(fields, input->tools);
    gw_tool_choice_leave_out(fields, input->tools, choice);
    if (choice->is_none)
        input->tools = NULL; /* so that the model does not see them */
    input->documents = read_objects(fields, "documents");
    input->kwargs = read_kwargs(fields);
    input->reasoning_effort = read_effort(fields);
    gw_thinking_read(fields, input);
    read_openings(fields, input);
}
