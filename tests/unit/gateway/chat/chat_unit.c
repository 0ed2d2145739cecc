#include "tests/unit/gateway/chat/chat_unit.h"

#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/chat_template.h"

static struct baton_json *parse(const char *text)
{
    struct baton_buf buf;
    struct baton_json *messages = NULL;
    baton_buf_init(&buf, 1 << 20);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_open(&out, NULL, '[');
    while (*text) {
        size_t n = strcspn(text + 2, "|");
        baton_json_open(&out, NULL, '{');
        baton_json_put_string(&out, "role",
                              *text == 's'   ? "system"
                              : *text == 'u' ? "user"
                                             : "assistant");
        baton_json_put_text(&out, "content", text + 2, n);
        baton_json_close(&out, '}');
        text += 2 + n;
        text += *text == '|';
    }
    baton_json_close(&out, ']');
    assert_ok(baton_json_parse(baton_buf_text(&buf), buf.len, &messages, NULL));
    baton_buf_fini(&buf);
    return messages;
}

struct baton_chat *chat_open_with_tools(const char *template, const char *tools,
                                        const char *override)
{
    struct baton_chat *chat = NULL;
    struct baton_why why = {.text = ""};
    struct baton_chat_template source = {.bos = strdup("<s>"), .eos = strdup("</s>")};
    source.jinja = template ? strdup(template) : NULL;
    source.n_jinja = template ? strlen(template) : 0;
    source.tools_jinja = tools ? strdup(tools) : NULL;
    source.n_tools_jinja = tools ? strlen(tools) : 0;
    if (baton_chat_create(&source, override, &chat, &why))
        fail_msg("%s", why.text);
    baton_chat_template_fini(&source);
    return chat;
}

struct baton_chat *chat_open(const char *template, const char *override)
{
    return chat_open_with_tools(template, NULL, override);
}

enum baton_err chat_render(const struct baton_chat *chat, const char *messages,
                           struct baton_chat_text *text, struct baton_why *why)
{
    struct baton_json *conversation = parse(messages);
    struct baton_chat_input input = {.messages = conversation};
    baton_chat_text_init(text);
    enum baton_err err = baton_chat_render(chat, &input, CHAT_NOW, text, why);
    baton_json_free(conversation);
    return err;
}

void assert_chat_renders(const struct baton_chat *chat, const char *messages, const char *expected)
{
    struct baton_chat_text text;
    struct baton_why why = {.text = ""};
    if (chat_render(chat, messages, &text, &why))
        fail_msg("%s: %s", messages, why.text);
    assert_string_equal(baton_buf_text(&text.bytes), expected);
    baton_chat_text_fini(&text);
}

enum baton_err chat_render_request(const struct baton_chat *chat, const char *request,
                                   struct baton_chat_text *text, struct baton_why *why)
{
    struct baton_json *body = NULL;
    assert_ok(baton_json_parse(request, strlen(request), &body, NULL));
    struct baton_chat_input input = {
        .messages = baton_json_get(body, "messages"),
        .tools = baton_json_get(body, "tools"),
        .documents = baton_json_get(body, "documents"),
        .kwargs = baton_json_get(body, "kwargs"),
        .reasoning_effort = baton_json_string(baton_json_get(body, "reasoning_effort"), NULL),
        .no_generation_prompt = baton_json_bool(baton_json_get(body, "closed")),
        .continues = baton_json_bool(baton_json_get(body, "continues")),
        .thinking = baton_json_get(body, "thinks") ? BATON_THINKING_OFF : BATON_THINKING_ANY};
    baton_chat_text_init(text);
    enum baton_err err = baton_chat_render(chat, &input, CHAT_NOW, text, why);
    baton_json_free(body);
    return err;
}

void assert_chat_request(const char *template, const char *request, const char *expected)
{
    struct baton_chat *chat = chat_open(template, "auto");
    struct baton_chat_text text;
    struct baton_why why = {.text = ""};
    if (chat_render_request(chat, request, &text, &why))
        fail_msg("%s", why.text);
    assert_string_equal(baton_buf_text(&text.bytes), expected);
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}
