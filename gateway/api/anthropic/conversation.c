#include "gateway/api/anthropic/conversation.h"

#include <stdio.h>

#include "gateway/api/json_util.h"
#include "gateway/api/params/thinking.h"
#include "gateway/chat/content.h"

enum { MAX_MESSAGES = 4096, MAX_TOOLS = 1024 };

static bool is_text_block(const struct baton_json *block)
{
    return gw_json_is_type(block, "text") && gw_json_is_string(baton_json_get(block, "text"));
}

/* A string, or an array of text blocks. */
static bool is_plain(const struct baton_json *content)
{
    if (gw_json_is_string(content))
        return true;
    bool plain = baton_json_kind(content) == BATON_JSON_ARRAY;
    for (size_t i = 0; plain && i < baton_json_size(content); i++)
        plain = is_text_block(baton_json_at(content, i));
    return plain;
}

/* ---- messages ---- */

/* The result of one message's blocks. */
struct parts {
    struct gw_fields *fields;
    size_t i, block;                  /* the message's index in the body, and its block's */
    bool is_earlier;                  /* the assistant has answered the message */
    bool of_user;                     /* false: the assistant's */
    struct baton_json *texts, *calls; /* NULL: none yet */
    struct baton_json *results;       /* all messages; a tool result becomes one of its own */
    const struct baton_json *thinking;
};

/* Returns a tool's result as text; other blocks, such as images, become notes. */
static struct baton_json *result_of(struct parts *parts, const struct baton_json *content)
{
    if (!content || baton_json_kind(content) == BATON_JSON_NULL)
        return baton_json_new_string("");
    if (is_plain(content))
        return baton_json_share(content);
    struct baton_json *made = baton_json_new_array();
    for (size_t i = 0; i < baton_json_size(content); i++) {
        const struct baton_json *block = baton_json_at(content, i);
        if (!baton_chat_part_has_words(block))
            gw_fields_leave_out(parts->fields, "messages[%zu].content[%zu].content[%zu]", parts->i,
                                parts->block, i);
        gw_json_push(parts->fields, made, baton_chat_text_part(block));
    }
    return made;
}

static void add_result(struct parts *parts, const struct baton_json *block)
{
    const struct baton_json *content = baton_json_get(block, "content");
    struct baton_json *message = gw_json_message(parts->fields, "tool");
    if (content && !gw_json_is_string(content) && baton_json_kind(content) != BATON_JSON_ARRAY &&
        baton_json_kind(content) != BATON_JSON_NULL)
        gw_fields_fail(parts->fields, "messages", "invalid_type",
                       "messages[%zu]: a tool_result's content must be a string or an array of "
                       "blocks",
                       parts->i);
    gw_json_set(parts->fields, message, "tool_call_id",
                baton_json_share(baton_json_get(block, "tool_use_id")));
    gw_json_set(parts->fields, message, "content", result_of(parts, content));
    gw_json_push(parts->fields, parts->results, message);
}

static void add_call(struct parts *parts, const struct baton_json *block)
{
    struct baton_json *function;
    struct baton_json *call =
        gw_json_function(parts->fields, baton_json_get(block, "name"), &function);
    if (!parts->calls)
        parts->calls = baton_json_new_array();
    gw_json_set(parts->fields, function, "arguments",
                baton_json_share(baton_json_get(block, "input")));
    gw_json_set(parts->fields, call, "id", baton_json_share(baton_json_get(block, "id")));
    gw_json_push(parts->fields, parts->calls, call);
}

static bool is_call(const struct baton_json *block)
{
    return gw_json_is_type(block, "tool_use") && gw_json_is_string(baton_json_get(block, "id")) &&
           gw_json_is_string(baton_json_get(block, "name")) &&
           baton_json_kind(baton_json_get(block, "input")) == BATON_JSON_OBJECT;
}

static bool is_thinking(const struct baton_json *block)
{
    return gw_json_is_type(block, "redacted_thinking") ||
           (gw_json_is_type(block, "thinking") &&
            gw_json_is_string(baton_json_get(block, "thinking")));
}

static void refuse_block(const struct parts *parts, const struct baton_json *block)
{
    const char *type = baton_json_string(baton_json_get(block, "type"), NULL);
    gw_fields_fail(parts->fields, "messages", "unsupported_field",
                   "messages[%zu]: content of type \"%.40s\" is not supported here; %s are",
                   parts->i, type ? type : "",
                   parts->of_user
                       ? "text {text} and tool_result {tool_use_id, content}"
                       : "text {text}, thinking {thinking} and tool_use {id, name, input}");
}

static void add_text(struct parts *parts, struct baton_json *text)
{
    if (!parts->texts)
        parts->texts = baton_json_new_array();
    gw_json_push(parts->fields, parts->texts, text);
}

/* Adds the text of a block of another type: its words, or a note where it is history. */
static void add_other(struct parts *parts, const struct baton_json *block)
{
    bool has_words = baton_chat_part_has_words(block);
    if (!baton_json_get(block, "type") || gw_json_is_type(block, "text") ||
        gw_json_is_type(block, "tool_use") || gw_json_is_type(block, "tool_result") ||
        (!has_words && parts->of_user && !parts->is_earlier)) {
        refuse_block(parts, block);
        return;
    }
    if (!has_words)
        gw_fields_leave_out(parts->fields, "messages[%zu].content[%zu]", parts->i, parts->block);
    add_text(parts, baton_chat_text_part(block));
}

static void add_block(struct parts *parts, const struct baton_json *block)
{
    bool of_user = parts->of_user;
    if (is_text_block(block)) {
        add_text(parts, baton_json_share(block));
    } else if (of_user && gw_json_is_type(block, "tool_result") &&
               gw_json_is_string(baton_json_get(block, "tool_use_id"))) {
        add_result(parts, block);
    } else if (!of_user && is_call(block)) {
        add_call(parts, block);
    } else if (!of_user && is_thinking(block)) {
        parts->thinking = baton_json_get(block, "thinking");
    } else {
        add_other(parts, block);
    }
}

/* Adds the message of all blocks that did not become messages of their own. */
static void add_rest(struct parts *parts, bool has_results)
{
    bool empty = !parts->texts && !parts->calls;
    if (empty && has_results)
        return;
    struct baton_json *message =
        gw_json_message(parts->fields, parts->of_user ? "user" : "assistant");
    if (parts->texts || !parts->calls)
        gw_json_set(parts->fields, message, "content",
                    empty ? baton_json_new_string("") : parts->texts);
    if (parts->calls)
        gw_json_set(parts->fields, message, "tool_calls", parts->calls);
    if (parts->thinking)
        gw_json_set(parts->fields, message, "reasoning_content", baton_json_share(parts->thinking));
    gw_json_push(parts->fields, parts->results, message);
}

/* Adds a system message in the middle of a conversation, which coding agents send although
 * Anthropic's API has only the field. */
static void add_later_system(struct gw_fields *fields, size_t i, const struct baton_json *content,
                             struct baton_json *messages)
{
    if (!is_plain(content)) {
        gw_fields_fail(fields, "messages", content ? "invalid_type" : "missing_field",
                       "messages[%zu].content: of the role system must be a string or an array of "
                       "text blocks",
                       i);
        return;
    }
    struct baton_json *message = gw_json_message(fields, "system");
    gw_json_set(fields, message, "content", baton_json_share(content));
    gw_json_push(fields, messages, message);
}

static void add_message(struct gw_fields *fields, size_t i, const struct baton_json *message,
                        bool is_earlier, struct baton_json *messages)
{
    const struct baton_json *role = baton_json_get(message, "role");
    const struct baton_json *content = baton_json_get(message, "content");
    struct parts parts = {.fields = fields,
                          .i = i,
                          .is_earlier = is_earlier,
                          .of_user = baton_json_is(role, "user"),
                          .results = messages};
    size_t n_before = baton_json_size(messages);
    if (baton_json_is(role, "system")) {
        add_later_system(fields, i, content, messages);
    } else if (!parts.of_user && !baton_json_is(role, "assistant")) {
        gw_fields_fail(fields, "messages", "invalid_value",
                       "messages[%zu].role: must be user, assistant or system", i);
    } else if (gw_json_is_string(content)) {
        struct baton_json *plain = gw_json_message(fields, parts.of_user ? "user" : "assistant");
        gw_json_set(fields, plain, "content", baton_json_share(content));
        gw_json_push(fields, messages, plain);
    } else if (baton_json_kind(content) != BATON_JSON_ARRAY) {
        gw_fields_fail(fields, "messages", content ? "invalid_type" : "missing_field",
                       "messages[%zu].content: must be a string or an array of blocks", i);
    } else {
        for (; parts.block < baton_json_size(content); parts.block++)
            add_block(&parts, baton_json_at(content, parts.block));
        add_rest(&parts, baton_json_size(messages) > n_before);
    }
}

static void add_system(struct gw_fields *fields, struct baton_json *messages)
{
    const struct baton_json *system = gw_field_of(fields, "system", GW_IS_STRING | GW_IS_ARRAY,
                                                  "a string or an array of text blocks");
    if (!system)
        return;
    if (!is_plain(system)) {
        gw_fields_fail(fields, "system", "invalid_type",
                       "system: must be a string or an array of text blocks");
        return;
    }
    struct baton_json *message = gw_json_message(fields, "system");
    gw_json_set(fields, message, "content", baton_json_share(system));
    gw_json_push(fields, messages, message);
}

static struct baton_json *read_messages(struct gw_fields *fields)
{
    struct baton_json *messages = baton_json_new_array();
    add_system(fields, messages);
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "an array of 1 to %d messages", MAX_MESSAGES);
    const struct baton_json *given = gw_field_of(fields, "messages", GW_IS_ARRAY, wanted);
    size_t n = baton_json_size(given), n_earlier = n;
    while (n_earlier &&
           !baton_json_is(baton_json_get(baton_json_at(given, n_earlier - 1), "role"), "assistant"))
        n_earlier--;
    if (baton_json_kind(given) != BATON_JSON_ARRAY || !n || n > MAX_MESSAGES)
        gw_fields_fail(fields, "messages", given ? "invalid_value" : "missing_field",
                       "messages: must be %s", wanted);
    for (size_t i = 0; i < n && !fields->failed; i++)
        add_message(fields, i, baton_json_at(given, i), i < n_earlier, messages);
    return messages;
}

/* Whether the assistant's text is the last message: the answer then continues it. */
static bool ends_with_words(const struct baton_json *messages)
{
    size_t n = baton_json_size(messages);
    const struct baton_json *last = n ? baton_json_at(messages, n - 1) : NULL;
    return baton_json_is(baton_json_get(last, "role"), "assistant") &&
           !baton_json_get(last, "tool_calls");
}

/* ---- tools ---- */

/* Adds a tool of the client's. Those that the server would run have no effect. */
static void add_tool(struct gw_fields *fields, size_t i, const struct baton_json *tool,
                     struct baton_json *tools)
{
    const struct baton_json *type = baton_json_get(tool, "type");
    const struct baton_json *description = baton_json_get(tool, "description");
    const struct baton_json *strict = baton_json_get(tool, "strict");
    bool has_schema = baton_json_kind(baton_json_get(tool, "input_schema")) == BATON_JSON_OBJECT;
    if (gw_json_is_string(type) && !baton_json_is(type, "custom") && !has_schema) {
        gw_fields_leave_out(fields, "tools[%zu]", i);
        return;
    }
    if (!gw_json_is_string(baton_json_get(tool, "name")) || !has_schema) {
        gw_fields_fail(fields, "tools", "unsupported_field",
                       "tools[%zu]: must be {\"name\":...,\"input_schema\":{...}}; the server runs "
                       "no tools of its own",
                       i);
        return;
    }
    struct baton_json *function;
    struct baton_json *made = gw_json_function(fields, baton_json_get(tool, "name"), &function);
    if (gw_json_is_string(description))
        gw_json_set(fields, function, "description", baton_json_share(description));
    gw_json_set(fields, function, "parameters",
                baton_json_share(baton_json_get(tool, "input_schema")));
    if (strict)
        gw_json_set(fields, function, "strict", baton_json_share(strict));
    gw_json_push(fields, tools, made);
}

/* tools: as the client gave them; already checked. */
static const char *read_tool_name(struct gw_fields *fields, const struct baton_json *choice,
                                  const struct baton_json *tools)
{
    const char *name = baton_json_string(baton_json_get(choice, "name"), NULL);
    bool is_there = false;
    for (size_t i = 0; i < baton_json_size(tools) && name && !is_there; i++)
        is_there = baton_json_is(baton_json_get(baton_json_at(tools, i), "name"), name);
    if (!is_there)
        gw_fields_fail(fields, "tool_choice", "invalid_value",
                       "tool_choice: the type \"tool\" needs the name of one of the tools, not "
                       "\"%.64s\"",
                       name ? name : "");
    return name;
}

static struct gw_tool_choice read_tool_choice(struct gw_fields *fields,
                                              const struct baton_json *tools)
{
    static const char wanted[] = "an object with the type auto, any, tool or none";
    const struct baton_json *given = gw_field_of(fields, "tool_choice", GW_IS_OBJECT, wanted);
    struct gw_tool_choice choice = {
        .schema = "input_schema",
        .is_none = gw_json_is_type(given, "none"),
        .is_single = baton_json_bool(baton_json_get(given, "disable_parallel_tool_use"))};
    if (!given || choice.is_none || gw_json_is_type(given, "auto"))
        return choice;
    choice.is_forced = true;
    if (gw_json_is_type(given, "tool")) {
        choice.name = read_tool_name(fields, given, tools);
        choice.is_single = true;
    } else if (!gw_json_is_type(given, "any")) {
        gw_fields_fail(fields, "tool_choice", "invalid_value", "tool_choice: must be %s", wanted);
    } else if (!baton_json_size(tools)) {
        gw_fields_fail(fields, "tool_choice", "invalid_value",
                       "tool_choice: the type \"any\" needs tools");
    }
    return choice;
}

/* The tools in the form of chats; NULL: the model sees none. */
static struct baton_json *read_tools(struct gw_fields *fields, struct gw_tool_choice *choice)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "an array of up to %d objects", MAX_TOOLS);
    const struct baton_json *given = gw_field_of(fields, "tools", GW_IS_ARRAY, wanted);
    size_t n = baton_json_size(given);
    if (n > MAX_TOOLS)
        gw_fields_fail(fields, "tools", "invalid_type", "tools: must be %s", wanted);
    *choice = read_tool_choice(fields, given);
    if (fields->failed || !n || choice->is_none)
        return NULL;
    struct baton_json *tools = baton_json_new_array();
    for (size_t i = 0; i < n && !fields->failed; i++)
        add_tool(fields, i, baton_json_at(given, i), tools);
    gw_tool_choice_leave_out(fields, tools, choice);
    if (fields->failed || baton_json_size(tools))
        return tools;
    if (choice->is_forced)
        gw_fields_fail(fields, "tool_choice", "invalid_value",
                       "tool_choice: none of the tools can be called; the server runs no tools of "
                       "its own");
    baton_json_free(tools);
    return NULL;
}

/* ---- output_config ---- */

static const char *read_effort(struct gw_fields *fields, const struct baton_json *config)
{
    const struct baton_json *effort = baton_json_get(config, "effort");
    if (!effort || baton_json_kind(effort) == BATON_JSON_NULL)
        return NULL;
    if (!gw_json_is_string(effort))
        gw_fields_fail(fields, "output_config", "invalid_type",
                       "output_config.effort: must be a string");
    return baton_json_string(effort, NULL);
}

static const struct baton_json *read_schema(struct gw_fields *fields,
                                            const struct baton_json *config)
{
    const struct baton_json *format = baton_json_get(config, "format");
    const struct baton_json *schema = baton_json_get(format, "schema");
    if (!format || baton_json_kind(format) == BATON_JSON_NULL)
        return NULL;
    if (!gw_json_is_type(format, "json_schema") || !gw_json_is_object(schema))
        gw_fields_fail(fields, "output_config", "invalid_value",
                       "output_config.format: must be {\"type\":\"json_schema\",\"schema\":{...}}");
    return schema;
}

void gw_conversation_read(struct gw_fields *fields, struct gw_conversation *conversation)
{
    *conversation = (struct gw_conversation){.messages = read_messages(fields)};
    const struct baton_json *config =
        gw_field_of(fields, "output_config", GW_IS_OBJECT, "an object {\"effort\", \"format\"}");
    conversation->tools = read_tools(fields, &conversation->choice);
    conversation->schema = read_schema(fields, config);
    conversation->input =
        (struct baton_chat_input){.messages = conversation->messages,
                                  .tools = conversation->tools,
                                  .reasoning_effort = read_effort(fields, config),
                                  .continues = ends_with_words(conversation->messages)};
    gw_thinking_read_object(fields, &conversation->input);
    gw_thinking_read_bounds(fields, &conversation->input);
}

void gw_conversation_fini(struct gw_conversation *conversation)
{
    baton_json_free(conversation->messages);
    baton_json_free(conversation->tools);
    *conversation = (struct gw_conversation){0};
}
