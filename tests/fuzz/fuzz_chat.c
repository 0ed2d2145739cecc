/* Whatever a template and a conversation hold: a known template writes out what every user wrote,
 * its ids decode to that text, and no special token comes from what users wrote.
 *
 * Input: template 0xff message 0xff message ...; a message is one byte for its role, then its
 * content. A template of "!" and a byte is none, with a family chosen by that byte. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/chat/chat_parts.h"
#include "common/chat/chat_text.h"
#include "common/checkpoint/chat_template.h"

enum { MAX_MESSAGES = 16, SEPARATOR = 0xff };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct baton_tokenizer *story_tokenizer(void)
{
    static struct baton_tokenizer *tokenizer;
    if (!tokenizer && baton_tokenizer_open("models/tale", &tokenizer, NULL))
        abort();
    return tokenizer;
}

static size_t part_length(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, SEPARATOR, size);
    return end ? (size_t)(end - data) : size;
}

static const char *chosen_family(uint8_t choice)
{
    size_t n = 0;
    while (baton_chat_shapes[n].family)
        n++;
    return baton_chat_shapes[choice % n].family;
}

static struct baton_chat *open_chat(const uint8_t *data, size_t n)
{
    struct baton_chat *chat = NULL;
    struct baton_chat_template source = {.bos = strdup("<|endoftext|>"), .eos = strdup("</s>")};
    const char *override = n == 2 && data[0] == '!' ? chosen_family(data[1]) : "auto";
    if (!strcmp(override, "auto") && (source.jinja = malloc(n + 1))) {
        memcpy(source.jinja, data, n);
        source.jinja[n] = 0;
        source.n_jinja = n;
    }
    if (baton_chat_create(&source, override, &chat, NULL))
        abort();
    baton_chat_template_fini(&source);
    return chat;
}

static size_t read_messages(const uint8_t *data, size_t size, struct baton_chat_message *messages)
{
    size_t n = 0;
    while (size && n < MAX_MESSAGES) {
        size_t length = part_length(data, size);
        if (length)
            messages[n++] = (struct baton_chat_message){.role = (enum baton_role)(data[0] % 3),
                                                        .content = (const char *)data + 1,
                                                        .n_bytes = length - 1};
        length += length < size;
        data += length;
        size -= length;
    }
    return n;
}

static void check_contents(const struct baton_chat_text *text,
                           const struct baton_chat_message *messages, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *content = messages[i].content;
        size_t length = messages[i].n_bytes;
        baton_chat_trim_start(&content, &length);
        baton_chat_trim_end(content, &length);
        if (messages[i].role == BATON_ROLE_USER &&
            !memmem(baton_buf_text(&text->bytes), text->bytes.len, content, length))
            abort();
    }
    for (size_t i = 0; i < text->n_spans; i++)
        if (text->spans[i].start >= text->spans[i].end || text->spans[i].end > text->bytes.len ||
            (i && text->spans[i].start <= text->spans[i - 1].end))
            abort();
}

static int is_in_span(const struct baton_chat_text *text, size_t start, size_t end)
{
    for (size_t i = 0; i < text->n_spans; i++)
        if (text->spans[i].start <= start && end <= text->spans[i].end)
            return 1;
    return 0;
}

static void check_ids(const struct baton_chat_text *text, const struct baton_tokens *tokens)
{
    size_t at = 0, n;
    for (size_t i = 0; i < tokens->n; i++, at += n) {
        const char *bytes = baton_tokenizer_bytes(story_tokenizer(), tokens->ids[i], &n);
        if (!bytes || n > text->bytes.len - at || memcmp(bytes, text->bytes.data + at, n) != 0)
            abort();
        if (baton_tokenizer_is_special(story_tokenizer(), tokens->ids[i]) &&
            !is_in_span(text, at, at + n))
            abort();
    }
    if (at != text->bytes.len)
        abort();
}

static void check(const struct baton_chat *chat, const struct baton_chat_message *messages,
                  size_t n)
{
    struct baton_chat_text text;
    struct baton_tokens tokens = {0};
    struct baton_chat_marks marks = {.bos = chat->bos, .eos = chat->eos};
    baton_chat_text_init(&text);
    enum baton_err err =
        baton_chat_render(chat->shape, &chat->style, &marks, messages, n, &text, NULL);
    if (!err)
        check_contents(&text, messages, n);
    if (!err && !baton_utf8_valid(baton_buf_text(&text.bytes), text.bytes.len))
        err = BATON_INVALID;
    if (baton_chat_encode(chat, story_tokenizer(), messages, n, SIZE_MAX, &tokens, NULL) != err)
        abort();
    if (!err)
        check_ids(&text, &tokens);
    else if (tokens.n)
        abort();
    baton_tokens_fini(&tokens);
    baton_chat_text_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct baton_chat_message messages[MAX_MESSAGES];
    uint32_t id;
    size_t n_template = part_length(data, size);
    size_t n = read_messages(data + n_template, size - n_template, messages);
    struct baton_chat *chat = open_chat(data, n_template);
    if (chat->shape)
        check(chat, messages, n);
    if (!chat->shape != !!baton_chat_problem(chat))
        abort();
    if (baton_chat_stop_ids(chat, story_tokenizer(), &id, 1) > 1)
        abort();
    baton_chat_close(chat);
    return 0;
}
