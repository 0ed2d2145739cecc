/* Whatever a template and a conversation hold: the spans of what is written out are in order, the
 * ids decode to that text, and no special token comes from what users wrote.
 *
 * Input: template 0xff message 0xff message ...; a message is one byte for its role, then its
 * content. A template of "!" and a byte is a built-in one, chosen by that byte. */
#include "tests/fuzz/fuzz.h"

#include "common/base/utf8.h"
#include "engine/checkpoint/chat_template.h"
#include "gateway/chat/builtin.h"
#include "gateway/chat/parts.h"

enum { MAX_MESSAGES = 16, SEPARATOR = 0xff };

static struct baton_tokenizer *story_tokenizer(void)
{
    static struct baton_tokenizer *tokenizer;
    check(tokenizer || !baton_tokenizer_open("models/tale", &tokenizer, NULL));
    return tokenizer;
}

static size_t part_length(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, SEPARATOR, size);
    return end ? (size_t)(end - data) : size;
}

static const char *chosen(uint8_t choice)
{
    size_t n = 0;
    while (baton_chat_builtins[n].name)
        n++;
    return baton_chat_builtins[choice % n].name;
}

static struct baton_chat *open_chat(const uint8_t *data, size_t n)
{
    struct baton_chat *chat = NULL;
    struct baton_chat_template source = {.bos = strdup("<|endoftext|>"), .eos = strdup("</s>")};
    const char *override = n == 2 && data[0] == '!' ? chosen(data[1]) : "auto";
    if (!strcmp(override, "auto") && (source.jinja = malloc(n + 1))) {
        memcpy(source.jinja, data, n);
        source.jinja[n] = 0;
        source.n_jinja = n;
    }
    check(!baton_chat_create(&source, override, &chat, NULL));
    baton_chat_template_fini(&source);
    return chat;
}

static struct baton_json *read_messages(const uint8_t *data, size_t size)
{
    static const char *const roles[] = {"system", "user", "assistant", "tool", "developer"};
    struct baton_json *messages = NULL;
    struct baton_buf buf;
    baton_buf_init(&buf, SIZE_MAX / 4);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_open(&out, NULL, '[');
    for (int n = 0; size && n < MAX_MESSAGES; n++) {
        size_t length = part_length(data, size);
        if (length) {
            baton_json_open(&out, NULL, '{');
            baton_json_put_string(&out, "role", roles[data[0] % 5]);
            baton_json_put_text(&out, "content", (const char *)data + 1, length - 1);
            baton_json_close(&out, '}');
        }
        length += length < size;
        data += length;
        size -= length;
    }
    baton_json_close(&out, ']');
    check(!baton_json_parse(baton_buf_text(&buf), buf.len, &messages, NULL));
    baton_buf_fini(&buf);
    return messages;
}

static void check_spans(const struct baton_chat_text *text)
{
    for (size_t i = 0; i < text->n_spans; i++)
        check(text->spans[i].start < text->spans[i].end && text->spans[i].end <= text->bytes.len &&
              (!i || text->spans[i].start > text->spans[i - 1].end));
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
        check(bytes && n <= text->bytes.len - at && memcmp(bytes, text->bytes.data + at, n) == 0);
        check(!baton_tokenizer_is_special(story_tokenizer(), tokens->ids[i]) ||
              is_in_span(text, at, at + n));
    }
    check(at == text->bytes.len);
}

static void check_text(const struct baton_chat *chat, const struct baton_chat_input *input)
{
    struct baton_chat_text text;
    struct baton_tokens tokens = {0};
    baton_chat_text_init(&text);
    enum baton_err err = baton_chat_render(chat, input, 0, &text, NULL);
    if (!err)
        check_spans(&text);
    check(err || baton_utf8_valid(baton_buf_text(&text.bytes), text.bytes.len));
    check(err || !baton_tokenizer_encode_spans(story_tokenizer(), baton_buf_text(&text.bytes),
                                               text.bytes.len, text.spans, text.n_spans, SIZE_MAX,
                                               &tokens, NULL));
    if (!err)
        check_ids(&text, &tokens);
    baton_tokens_fini(&tokens);
    baton_chat_text_fini(&text);
}

FUZZ(data, size)
{
    uint32_t id;
    size_t n_template = part_length(data, size);
    struct baton_json *messages = read_messages(data + n_template, size - n_template);
    struct baton_chat *chat = open_chat(data, n_template);
    struct baton_chat_input input = {.messages = messages};
    if (!baton_chat_problem(chat))
        check_text(chat, &input);
    check(baton_chat_stop_ids(chat, story_tokenizer(), NULL, &id, 1) <= 1);
    baton_chat_close(chat);
    baton_json_free(messages);
}
