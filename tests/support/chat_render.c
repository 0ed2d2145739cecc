/* Renders conversations for tests: one JSON object a line on stdin, one on stdout.
 *
 *     {"template": text, "messages": [...], "tools": [...], "continues": bool,
 *     "thinks": bool}
 *     {"tool_form": name, "abilities": {...}, "text": text, "messages": [...], "tools": [...]}, or
 *     {"tool_form": name, "abilities": {...}, "error": text}
 *
 * The messages and tools of the answer are those that the template got. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/chat_template.h"
#include "gateway/chat/parts.h"

enum { LINE_MAX_BYTES = 256 << 20, NOW = 1700000000 };

static struct baton_chat *open_chat(const struct baton_json *template)
{
    struct baton_chat *chat = NULL;
    struct baton_why why = {""};
    struct baton_chat_template source = {.bos = strdup("<s>"), .eos = strdup("</s>")};
    const char *text = baton_json_string(template, &source.n_jinja);
    source.jinja = strdup(text ? text : "");
    if (baton_chat_create(&source, "auto", &chat, &why))
        (void)fprintf(stderr, "chat_render: %s\n", why.text);
    baton_chat_template_fini(&source);
    return chat;
}

static void put_rendered(struct baton_json_out *out, const struct baton_chat *chat,
                         const struct baton_chat_input *input)
{
    struct baton_chat_text text;
    struct baton_why why = {""};
    struct baton_chat_rewritten rewritten = {0};
    baton_chat_text_init(&text);
    if (baton_chat_render(chat, input, NOW, &text, &why) ||
        baton_chat_adapt(chat, input, &rewritten, &why)) {
        baton_json_put_string(out, "error", why.text);
    } else {
        baton_json_put_text(out, "text", baton_buf_text(&text.bytes), text.bytes.len);
        baton_json_put_value(out, "messages", rewritten.messages);
        baton_json_put_value(out, "tools", rewritten.tools);
    }
    baton_chat_rewritten_fini(&rewritten);
    baton_chat_text_fini(&text);
}

static void answer(const struct baton_json *job, const struct baton_chat *chat)
{
    const struct baton_json *thinks = baton_json_get(job, "thinks");
    const struct baton_chat_input input = {
        .thinking = !thinks                   ? BATON_THINKING_ANY
                    : baton_json_bool(thinks) ? BATON_THINKING_ON
                                              : BATON_THINKING_OFF,
        .messages = baton_json_get(job, "messages"),
        .tools =
            baton_json_size(baton_json_get(job, "tools")) ? baton_json_get(job, "tools") : NULL,
        .continues = baton_json_bool(baton_json_get(job, "continues"))};
    struct baton_buf line;
    baton_buf_init(&line, LINE_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&line);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string_or_null(&out, "tool_form", baton_chat_tool_form(chat));
    baton_chat_put_abilities(chat, &out, "abilities");
    if (baton_chat_problem(chat))
        baton_json_put_string(&out, "error", baton_chat_problem(chat));
    else
        put_rendered(&out, chat, &input);
    baton_json_close(&out, '}');
    (void)puts(baton_buf_text(&line));
    (void)fflush(stdout);
    baton_buf_fini(&line);
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    struct baton_chat *chat = NULL;
    while ((n = getline(&line, &cap, stdin)) > 0) {
        struct baton_json *job = NULL;
        struct baton_why why;
        if (baton_json_parse(line, (size_t)n, &job, &why)) {
            (void)fprintf(stderr, "chat_render: %s\n", why.text);
            return 1;
        }
        /* A job with a template replaces that of the jobs before it. */
        if (baton_json_get(job, "template")) {
            baton_chat_close(chat);
            chat = open_chat(baton_json_get(job, "template"));
        }
        if (!chat)
            return 1;
        answer(job, chat);
        baton_json_free(job);
    }
    baton_chat_close(chat);
    free(line);
    return 0;
}
