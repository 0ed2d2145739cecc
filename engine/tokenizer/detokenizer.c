#include "engine/tokenizer/detokenizer.h"

#include "engine/tokenizer/internal.h"

void baton_detokenizer_init(struct baton_detokenizer *detokenizer,
                            const struct baton_tokenizer *tokenizer, bool begins_text)
{
    *detokenizer = (struct baton_detokenizer){.tokenizer = tokenizer};
    if (!begins_text)
        return;
    detokenizer->n_strip = tokenizer->text_rule.n_strip;
    detokenizer->is_first = true;
}

/* Counts the bytes that a decoder strips at the start of the text. */
static size_t count_stripped(struct baton_detokenizer *detokenizer, uint32_t id, const char *bytes,
                             size_t n)
{
    const struct baton_text_rule *rule = &detokenizer->tokenizer->text_rule;
    bool keeps_space = detokenizer->tokenizer->vocab.tokens[id].keeps_space;
    size_t at = 0;
    if (detokenizer->is_first && rule->drops_first && !keeps_space)
        while (at < n && bytes[at] == ' ')
            at++;
    /* A later token is not the first, even when this one added nothing. */
    detokenizer->is_first = false;
    for (; at < n && detokenizer->n_strip && bytes[at] == rule->strip; at++)
        detokenizer->n_strip--;
    /* The strip ends at the first other byte, not at the end of the first token. */
    if (at < n)
        detokenizer->n_strip = 0;
    return at;
}

const char *baton_detokenizer_next(struct baton_detokenizer *detokenizer, uint32_t id, size_t *n)
{
    const char *bytes = baton_tokenizer_bytes(detokenizer->tokenizer, id, n);
    if (!bytes || (!detokenizer->is_first && !detokenizer->n_strip))
        return bytes;
    size_t at = count_stripped(detokenizer, id, bytes, *n);
    *n -= at;
    return bytes + at;
}

void baton_detokenizer_push(struct baton_detokenizer *detokenizer, uint32_t id,
                            struct baton_text_stream *stream, struct baton_buf *out)
{
    size_t n = 0;
    const char *bytes = baton_detokenizer_next(detokenizer, id, &n);
    stream->each_byte = detokenizer->tokenizer->text_rule.each_byte;
    if (bytes)
        baton_text_stream_push(stream, bytes, n, out);
}

void baton_detokenize(const struct baton_tokenizer *tokenizer, const uint32_t *ids, size_t n,
                      bool skip_special, struct baton_buf *out)
{
    struct baton_detokenizer detokenizer;
    struct baton_text_stream stream = {.n_stops = 0};
    baton_detokenizer_init(&detokenizer, tokenizer, true);
    for (size_t i = 0; i < n; i++)
        if (!skip_special || !baton_tokenizer_is_special(tokenizer, ids[i]))
            baton_detokenizer_push(&detokenizer, ids[i], &stream, out);
    baton_text_stream_end(&stream, out);
}
