#include "engine/tokenizer/model/vocab.h"

#include <stdlib.h>

enum { MAX_BYTES = 256 << 20 };

void baton_vocab_init(struct baton_vocab *vocab)
{
    *vocab = (struct baton_vocab){0};
    baton_buf_init(&vocab->bytes, MAX_BYTES);
}

void baton_vocab_fini(struct baton_vocab *vocab)
{
    free(vocab->tokens);
    baton_buf_fini(&vocab->bytes);
    *vocab = (struct baton_vocab){0};
}

enum baton_err baton_vocab_reserve(struct baton_vocab *vocab, size_t n_tokens)
{
    if (n_tokens <= vocab->n_tokens)
        return BATON_OK;
    if (n_tokens > BATON_MAX_TOKEN_IDS)
        return BATON_LIMIT;
    struct baton_vocab_token *tokens = realloc(vocab->tokens, n_tokens * sizeof *tokens);
    if (!tokens)
        return BATON_NO_MEMORY;
    for (size_t i = vocab->n_tokens; i < n_tokens; i++)
        tokens[i] = (struct baton_vocab_token){.offset = BATON_NO_TOKEN};
    vocab->tokens = tokens;
    vocab->n_tokens = n_tokens;
    return BATON_OK;
}

enum baton_err baton_vocab_put(struct baton_vocab *vocab, uint32_t id, const char *bytes, size_t n)
{
    struct baton_vocab_token *token = &vocab->tokens[id];
    if (token->offset != BATON_NO_TOKEN)
        return BATON_INVALID;
    uint32_t offset = (uint32_t)vocab->bytes.len;
    baton_buf_append(&vocab->bytes, bytes, n);
    if (baton_buf_err(&vocab->bytes))
        return baton_buf_err(&vocab->bytes);
    token->offset = offset;
    token->n_bytes = (uint32_t)n & (INT32_MAX >> 1); /* n fits: the block is smaller than 1 GiB */
    if (n > vocab->longest_bytes)
        vocab->longest_bytes = n;
    return BATON_OK;
}

const char *baton_vocab_bytes(const struct baton_vocab *vocab, uint32_t id, size_t *n)
{
    if (id >= vocab->n_tokens || vocab->tokens[id].offset == BATON_NO_TOKEN)
        return NULL;
    *n = vocab->tokens[id].n_bytes;
    return baton_buf_text(&vocab->bytes) + vocab->tokens[id].offset;
}
