#include "gateway/api/responses/input.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "gateway/api/json_util.h"
#include "gateway/api/openai/messages.h"
#include "gateway/api/responses/tools.h"
#include "gateway/chat/content.h"

enum { REASONING_MAX_BYTES = 16 << 20, INPUT_MAX_BYTES = 16 << 20, ID_BYTES = 256 };

/* ---- items ---- */

struct walk {
    struct gw_fields *fields;
    const char *name; /* of the field that has the items */
    const struct gw_responses_kept *kept;
    struct baton_json *messages;          /* all so far */
    struct baton_json *assistant, *calls; /* the next call is added here; NULL: to a new message */
    struct baton_json *reasoning;         /* for the assistant's next message; NULL: none */
    const struct baton_json *referred;    /* the message of the last item_reference */
    size_t i, n_earlier;                  /* items before the last one of the assistant */
};

static void fail(struct walk *walk, const char *code, const char *what)
{
    gw_fields_fail(walk->fields, walk->name, code, "%s[%zu]%s", walk->name, walk->i, what);
}

static void refuse_part(struct walk *walk, const struct baton_json *part)
{
    const char *type = baton_json_string(baton_json_get(part, "type"), NULL);
    gw_fields_fail(walk->fields, walk->name, "unsupported_field",
                   "%s[%zu]: content of type \"%.40s\" is not supported here; input_text and "
                   "output_text {text} are",
                   walk->name, walk->i, type ? type : "");
}

/* Adds a part as text. One without words, such as an image, becomes a note where it is history, and
 * is refused in what the user asks. */
static void add_part(struct walk *walk, const struct baton_json *part, size_t p, bool is_asked,
                     struct baton_json *parts)
{
    bool has_words = baton_chat_part_has_words(part);
    if (!gw_json_is_string(baton_json_get(part, "type")) || (!has_words && is_asked)) {
        refuse_part(walk, part);
        return;
    }
    if (!has_words)
        gw_fields_leave_out(walk->fields, "%s[%zu].content[%zu]", walk->name, walk->i, p);
    gw_json_push(walk->fields, parts, baton_chat_text_part(part));
}

/* The content in the form of chats: a string, or parts with text. */
static struct baton_json *content_of(struct walk *walk, const struct baton_json *content,
                                     bool is_asked, const char *wrong)
{
    if (gw_json_is_string(content))
        return baton_json_share(content);
    if (baton_json_kind(content) != BATON_JSON_ARRAY)
        fail(walk, content ? "invalid_type" : "missing_field", wrong);
    struct baton_json *parts = baton_json_new_array();
    for (size_t i = 0; i < baton_json_size(content); i++)
        add_part(walk, baton_json_at(content, i), i, is_asked, parts);
    return parts;
}

static struct baton_json *new_message(struct walk *walk, const char *role)
{
    struct baton_json *message = gw_json_message(walk->fields, role);
    walk->assistant = walk->calls = NULL;
    if (walk->reasoning && !strcmp(role, "assistant")) {
        gw_json_set(walk->fields, message, "reasoning_content", walk->reasoning);
        walk->reasoning = NULL;
    }
    return message;
}

static void add_message(struct walk *walk, const struct baton_json *item)
{
    static const char *const roles[] = {"user", "assistant", "system", "developer"};
    const struct baton_json *role = baton_json_get(item, "role");
    for (size_t i = 0; i < BATON_N_OF(roles); i++) {
        if (!baton_json_is(role, roles[i]))
            continue;
        struct baton_json *message = new_message(walk, roles[i]);
        gw_json_set(walk->fields, message, "content",
                    content_of(walk, baton_json_get(item, "content"),
                               i == 0 && walk->i >= walk->n_earlier,
                               ".content: must be a string or an array of parts"));
        gw_json_push(walk->fields, walk->messages, message);
        if (!walk->fields->failed && !strcmp(roles[i], "assistant"))
            walk->assistant = message;
        return;
    }
    fail(walk, "invalid_value", ".role: must be user, assistant, system or developer");
}

/* Opens the array of calls in the assistant's message, which is created if there is none. */
static void open_calls(struct walk *walk)
{
    struct baton_json *message = walk->assistant, *calls = baton_json_new_array();
    if (!message) {
        message = new_message(walk, "assistant");
        gw_json_set(walk->fields, message, "content", baton_json_new_string(""));
        gw_json_push(walk->fields, walk->messages, message);
    }
    if (walk->fields->failed) {
        baton_json_free(calls);
        return;
    }
    gw_json_set(walk->fields, message, "tool_calls", calls);
    walk->assistant = message;
    walk->calls = walk->fields->failed ? NULL : calls;
}

/* Whether the last message comes from an item_reference and already has the call: clients may send
 * a call both by reference and as an item. */
static bool has_call(const struct walk *walk, const struct baton_json *id)
{
    const struct baton_json *calls = baton_json_get(walk->referred, "tool_calls");
    size_t n = baton_json_size(walk->messages);
    bool is_last = walk->referred && n && baton_json_at(walk->messages, n - 1) == walk->referred;
    for (size_t i = 0; is_last && i < baton_json_size(calls); i++)
        if (baton_json_is(baton_json_get(baton_json_at(calls, i), "id"),
                          baton_json_string(id, NULL)))
            return true;
    return false;
}

/* The arguments as text; for a custom tool {"input":...}. NULL: it has none. */
static struct baton_json *arguments_of(const struct baton_json *item)
{
    const struct baton_json *arguments = baton_json_get(item, "arguments");
    const struct baton_json *input = baton_json_get(item, "input");
    struct baton_json *made = NULL;
    struct baton_buf text;
    size_t n = 0;
    if (!gw_json_is_type(item, "custom_tool_call"))
        return gw_json_is_string(arguments) ? baton_json_share(arguments) : NULL;
    if (!gw_json_is_string(input))
        return NULL;
    baton_buf_init(&text, INPUT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    const char *bytes = baton_json_string(input, &n);
    baton_json_open(&out, NULL, '{');
    baton_json_put_text(&out, "input", bytes, n);
    baton_json_close(&out, '}');
    if (!baton_buf_err(&text))
        made = baton_json_new_text(baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
    return made;
}

static void push_call(struct walk *walk, const struct baton_json *id, const struct baton_json *name,
                      const struct baton_json *arguments)
{
    struct baton_json *function;
    if (has_call(walk, id))
        return;
    if (!walk->calls)
        open_calls(walk);
    struct baton_json *call = gw_json_function(walk->fields, name, &function);
    gw_json_set(walk->fields, function, "arguments", baton_json_share(arguments));
    gw_json_set(walk->fields, call, "id", baton_json_share(id));
    gw_json_push(walk->fields, walk->calls, call);
}

static void add_call(struct walk *walk, const struct baton_json *item)
{
    const struct baton_json *id = baton_json_get(item, "call_id");
    struct baton_json *name = gw_response_tool_name(item), *arguments = arguments_of(item);
    if (gw_json_is_string(id) && name && arguments)
        push_call(walk, id, name, arguments);
    else
        fail(walk, "invalid_value",
             gw_json_is_type(item, "custom_tool_call")
                 ? ": a custom_tool_call has the strings call_id, name and input"
                 : ": a function_call has the strings call_id, name and arguments");
    baton_json_free(name);
    baton_json_free(arguments);
}

static void add_output(struct walk *walk, const struct baton_json *item)
{
    const struct baton_json *id = baton_json_get(item, "call_id");
    if (!gw_json_is_string(id)) {
        fail(walk, "missing_field", ".call_id: must be a string");
        return;
    }
    struct baton_json *message = new_message(walk, "tool");
    gw_json_set(walk->fields, message, "tool_call_id", baton_json_share(id));
    gw_json_set(walk->fields, message, "content",
                content_of(walk, baton_json_get(item, "output"), false,
                           ".output: must be a string or an array of parts"));
    gw_json_push(walk->fields, walk->messages, message);
}

static void add_reasoning(struct walk *walk, const struct baton_json *item)
{
    const struct baton_json *parts = baton_json_get(item, "content");
    struct baton_buf text;
    if (!baton_json_size(parts))
        parts = baton_json_get(item, "summary");
    baton_buf_init(&text, REASONING_MAX_BYTES);
    for (size_t i = 0; i < baton_json_size(parts); i++) {
        size_t n = 0;
        const struct baton_json *words = baton_json_get(baton_json_at(parts, i), "text");
        const char *piece = baton_json_string(words, &n);
        baton_buf_append(&text, piece ? piece : "", n);
    }
    walk->assistant = walk->calls = NULL;
    if (text.len) {
        baton_json_free(walk->reasoning);
        walk->reasoning = baton_json_new_text(baton_buf_text(&text), text.len);
    }
    baton_buf_fini(&text);
}

static bool is_item_id(const char *id)
{
    static const char *const prefixes[] = {"msg", "rs", "fc", "ctc"};
    for (size_t i = 0; id && i < BATON_N_OF(prefixes); i++)
        if (!strncmp(id, prefixes[i], strlen(prefixes[i])) && strchr(id, '-'))
            return true;
    return false;
}

/* Finds the response of a referenced item, whose id has the same end as the response's id. All
 * items of a response are one message, which is added once. */
static void add_reference(struct walk *walk, const struct baton_json *item)
{
    const char *id = baton_json_string(baton_json_get(item, "id"), NULL);
    const struct gw_stored_response *stored = NULL;
    struct gw_fields *fields = walk->fields;
    char name[ID_BYTES];
    if (is_item_id(id) && strlen(id) + sizeof "resp" <= sizeof name) {
        (void)snprintf(name, sizeof name, "resp%s", strchr(id, '-'));
        stored = gw_response_store_get(walk->kept->store, walk->kept->owner, name);
    }
    if (!stored) {
        gw_fields_fail(fields, walk->name, "item_not_found",
                       "%s[%zu]: item \"%.140s\" is not stored: its response was not stored, is "
                       "too old or was evicted; send the item itself",
                       walk->name, walk->i, id ? id : "");
        return;
    }
    const struct baton_json *message =
        baton_json_at(stored->messages, baton_json_size(stored->messages) - 1);
    walk->assistant = walk->calls = NULL;
    if (message == walk->referred)
        return;
    walk->referred = message;
    gw_json_push(fields, walk->messages, baton_json_share(message));
}

/* Adds nothing for what a server did on its own. */
static void leave_out(struct walk *walk, const struct baton_json *item)
{
    (void)item;
    walk->assistant = walk->calls = NULL;
    gw_fields_leave_out(walk->fields, "%s[%zu]", walk->name, walk->i);
}

/* Adds a note in place of the turns that another server compacted. */
static void add_compaction(struct walk *walk, const struct baton_json *item)
{
    struct baton_json *message = new_message(walk, "user"), *parts = baton_json_new_array();
    gw_json_push(walk->fields, parts, baton_chat_text_part(item));
    gw_json_set(walk->fields, message, "content", parts);
    gw_json_push(walk->fields, walk->messages, message);
    gw_fields_leave_out(walk->fields, "%s[%zu]", walk->name, walk->i);
}

/* Adds a call of a tool that the client ran under a name of its own, such as local_shell_call. */
static void add_client_call(struct walk *walk, const struct baton_json *item)
{
    const char *type = baton_json_string(baton_json_get(item, "type"), NULL);
    const struct baton_json *id = baton_json_get(item, "call_id");
    const struct baton_json *action = baton_json_get(item, "action");
    struct baton_json *name = baton_json_new_text(type, strlen(type) - strlen("_call"));
    struct baton_json *arguments =
        gw_json_is_object(action) ? baton_json_share(action) : baton_json_new_object();
    if (gw_json_is_string(id) && name && arguments)
        push_call(walk, id, name, arguments);
    else
        fail(walk, "missing_field", ".call_id: must be a string");
    baton_json_free(name);
    baton_json_free(arguments);
}

static void add_item(struct walk *walk, const struct baton_json *item)
{
    static const struct {
        const char *type;
        void (*add)(struct walk *walk, const struct baton_json *item);
    } kinds[] = {{"message", add_message},
                 {"function_call", add_call},
                 {"function_call_output", add_output},
                 {"custom_tool_call", add_call},
                 {"custom_tool_call_output", add_output},
                 {"reasoning", add_reasoning},
                 {"item_reference", add_reference},
                 {"local_shell_call", add_client_call},
                 {"local_shell_call_output", add_output},
                 {"shell_call", add_client_call},
                 {"shell_call_output", add_output},
                 {"compaction", add_compaction},
                 {"web_search_call", leave_out},
                 {"file_search_call", leave_out},
                 {"code_interpreter_call", leave_out},
                 {"image_generation_call", leave_out},
                 {"mcp_list_tools", leave_out},
                 {"mcp_call", leave_out},
                 {"mcp_approval_request", leave_out},
                 {"mcp_approval_response", leave_out}};
    const struct baton_json *type = baton_json_get(item, "type");
    const char *name = type ? baton_json_string(type, NULL) : "message";
    if (!gw_json_is_object(item)) {
        fail(walk, "invalid_type", ": must be an object");
        return;
    }
    for (size_t i = 0; i < BATON_N_OF(kinds); i++)
        if (name && !strcmp(kinds[i].type, name)) {
            kinds[i].add(walk, item);
            return;
        }
    gw_fields_fail(walk->fields, walk->name, "unsupported_field",
                   "%s[%zu]: items of type \"%.40s\" are not supported here; message, "
                   "function_call, function_call_output, custom_tool_call, "
                   "custom_tool_call_output, reasoning and item_reference are",
                   walk->name, walk->i, name ? name : "");
}

/* Counts the items before the last one of the assistant. */
static size_t count_earlier(const struct baton_json *input)
{
    static const char *const calls[] = {"function_call", "custom_tool_call", "reasoning"};
    for (size_t n = baton_json_size(input); n; n--) {
        const struct baton_json *item = baton_json_at(input, n - 1);
        if (baton_json_is(baton_json_get(item, "role"), "assistant"))
            return n;
        for (size_t i = 0; i < BATON_N_OF(calls); i++)
            if (gw_json_is_type(item, calls[i]))
                return n;
    }
    return 0;
}

static void add_items(struct walk *walk, const struct baton_json *items)
{
    for (walk->i = 0; walk->i < baton_json_size(items) && !walk->fields->failed; walk->i++)
        add_item(walk, baton_json_at(items, walk->i));
}

static void add_input(struct walk *walk)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "a string or an array of 1 to %d items",
                   GW_MAX_RESPONSE_ITEMS);
    const struct baton_json *input =
        gw_field_of(walk->fields, "input", GW_IS_STRING | GW_IS_ARRAY, wanted);
    size_t n = baton_json_size(input);
    if (gw_json_is_string(input)) {
        struct baton_json *message = new_message(walk, "user");
        gw_json_set(walk->fields, message, "content", baton_json_share(input));
        gw_json_push(walk->fields, walk->messages, message);
        return;
    }
    if (!n || n > GW_MAX_RESPONSE_ITEMS)
        gw_fields_fail(walk->fields, "input", input ? "invalid_value" : "missing_field",
                       "input: must be %s", wanted);
    walk->n_earlier = count_earlier(input);
    add_items(walk, input);
}

/* Adds a conversation that is in the form of chats already; it is checked where chats are. */
static void add_messages(struct walk *walk, const struct baton_json *messages)
{
    if (gw_field(walk->fields, "input"))
        gw_fields_fail(walk->fields, "input", "invalid_value",
                       "input: is another name of messages, which is given too; give one of them");
    for (size_t i = 0; i < baton_json_size(messages); i++)
        gw_json_push(walk->fields, walk->messages, baton_json_share(baton_json_at(messages, i)));
}

struct baton_json *gw_responses_conversation(struct gw_fields *fields,
                                             const struct gw_responses_kept *kept,
                                             const struct baton_json *before)
{
    struct walk walk = {
        .fields = fields, .name = "input", .kept = kept, .messages = baton_json_new_array()};
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "an array of 1 to %d messages", GW_MAX_MESSAGES);
    const struct baton_json *messages = gw_field_of(fields, "messages", GW_IS_ARRAY, wanted);
    for (size_t i = 0; i < baton_json_size(before); i++)
        gw_json_push(fields, walk.messages, baton_json_share(baton_json_at(before, i)));
    walk.n_earlier = baton_json_size(kept->items);
    add_items(&walk, kept->items);
    if (messages)
        add_messages(&walk, messages);
    else
        add_input(&walk);
    baton_json_free(walk.reasoning);
    if (!fields->failed)
        return walk.messages;
    baton_json_free(walk.messages);
    return NULL;
}

void gw_responses_check_items(struct gw_fields *fields, const char *name,
                              const struct gw_responses_kept *kept, const struct baton_json *items)
{
    struct walk walk = {
        .fields = fields, .name = name, .kept = kept, .messages = baton_json_new_array()};
    add_items(&walk, items);
    baton_json_free(walk.reasoning);
    baton_json_free(walk.messages);
}
