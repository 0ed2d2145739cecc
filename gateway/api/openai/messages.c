#include "gateway/api/openai/messages.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_MESSAGES = 4096, TEXT_MAX_BYTES = 64 << 20 };

/* A message's content may come in parts. texts holds the joined parts. */
struct conversation {
    struct baton_chat_message *messages;
    struct baton_buf *texts;
    size_t n;
};

static void fail(struct gw_fields *fields, size_t i, const char *code, const char *what)
{
    gw_fields_fail(fields, "messages", code, "messages[%zu].%s", i, what);
}

static void read_role(struct gw_fields *fields, size_t i, const struct baton_json *message,
                      struct baton_chat_message *out)
{
    static const struct {
        const char *name;
        enum baton_role role;
    } roles[] = {{"system", BATON_ROLE_SYSTEM},
                 {"developer", BATON_ROLE_SYSTEM},
                 {"user", BATON_ROLE_USER},
                 {"assistant", BATON_ROLE_ASSISTANT}};
    const struct baton_json *role = baton_json_get(message, "role");
    const char *name = baton_json_string(role, NULL);
    for (size_t r = 0; name && r < sizeof roles / sizeof roles[0]; r++)
        if (!strcmp(roles[r].name, name)) {
            out->role = roles[r].role;
            return;
        }
    fail(fields, i, "invalid_value", "role: must be system, developer, user or assistant");
}

static void read_parts(struct gw_fields *fields, size_t i, const struct baton_json *parts,
                       struct baton_buf *text)
{
    for (size_t p = 0; p < baton_json_size(parts) && !fields->failed; p++) {
        const struct baton_json *part = baton_json_at(parts, p);
        const char *type = baton_json_string(baton_json_get(part, "type"), NULL);
        size_t n;
        const char *piece = baton_json_string(baton_json_get(part, "text"), &n);
        if (!type || strcmp(type, "text") != 0 || !piece)
            fail(fields, i, "invalid_value", "content: each part must be of type text");
        else
            baton_buf_append(text, piece, n);
    }
}

static void read_content(struct gw_fields *fields, size_t i, const struct baton_json *message,
                         struct baton_chat_message *out, struct baton_buf *text)
{
    const struct baton_json *content = baton_json_get(message, "content");
    enum baton_json_kind kind = baton_json_kind(content);
    if (kind == BATON_JSON_STRING) {
        out->content = baton_json_string(content, &out->n_bytes);
        return;
    }
    if (kind == BATON_JSON_ARRAY)
        read_parts(fields, i, content, text);
    else if (kind != BATON_JSON_NULL || out->role != BATON_ROLE_ASSISTANT)
        fail(fields, i, content ? "invalid_type" : "missing_field",
             "content: must be a string or an array of text parts");
    out->content = baton_buf_text(text);
    out->n_bytes = text->len;
}

static void read_message(struct gw_fields *fields, size_t i, const struct baton_json *message,
                         struct conversation *conversation)
{
    struct baton_chat_message *out = &conversation->messages[i];
    if (baton_json_kind(message) != BATON_JSON_OBJECT) {
        gw_fields_fail(fields, "messages", "invalid_type", "messages[%zu]: must be an object", i);
        return;
    }
    if (baton_json_size(baton_json_get(message, "tool_calls")))
        fail(fields, i, "unsupported_field", "tool_calls: tools are not supported");
    read_role(fields, i, message, out);
    read_content(fields, i, message, out, &conversation->texts[i]);
}

static void read_all(struct gw_fields *fields, struct conversation *conversation)
{
    const struct baton_json *messages = gw_field(fields, "messages");
    size_t n = baton_json_size(messages);
    if (!messages || baton_json_kind(messages) != BATON_JSON_ARRAY || !n || n > MAX_MESSAGES)
        gw_fields_fail(fields, "messages", messages ? "invalid_value" : "missing_field",
                       "messages: must be an array of 1 to %d messages", MAX_MESSAGES);
    if (fields->failed)
        return;
    conversation->messages = calloc(n, sizeof *conversation->messages);
    conversation->texts = calloc(n, sizeof *conversation->texts);
    if (!conversation->messages || !conversation->texts) {
        gw_fields_fail(fields, "messages", "out_of_memory", "messages: no memory for them");
        return;
    }
    conversation->n = n;
    for (size_t i = 0; i < n; i++)
        baton_buf_init(&conversation->texts[i], TEXT_MAX_BYTES);
    for (size_t i = 0; i < n && !fields->failed; i++)
        read_message(fields, i, baton_json_at(messages, i), conversation);
}

static void encode(struct gw_api *api, struct gw_fields *fields,
                   const struct conversation *conversation, struct gw_prompts *prompts)
{
    struct baton_tokens tokens = {0};
    struct baton_why why = {""};
    size_t max_tokens = (size_t)api->max_prompt_tokens;
    enum baton_err err = baton_chat_encode(api->chat, api->tokenizer, conversation->messages,
                                           conversation->n, max_tokens, &tokens, &why);
    if (err == BATON_LIMIT)
        gw_fields_fail(fields, "messages", "context_length_exceeded",
                       "messages: longer than the %zu tokens that a prompt may have", max_tokens);
    else if (err)
        gw_fields_fail(fields, "messages", "invalid_value", "messages: %s", why.text);
    else
        gw_prompts_take(api, fields, &tokens, prompts);
    baton_tokens_fini(&tokens);
}

void gw_messages_read(struct gw_api *api, struct gw_fields *fields, struct gw_prompts *prompts)
{
    struct conversation conversation = {0};
    const char *problem = baton_chat_problem(api->chat);
    read_all(fields, &conversation);
    if (!fields->failed && problem)
        gw_fields_fail(fields, "messages", "no_chat_template", "messages: %s", problem);
    if (!fields->failed)
        encode(api, fields, &conversation, prompts);
    for (size_t i = 0; i < conversation.n; i++)
        baton_buf_fini(&conversation.texts[i]);
    free(conversation.texts);
    free(conversation.messages);
}
