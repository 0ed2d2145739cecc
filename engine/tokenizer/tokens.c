#include "engine/tokenizer/tokens.h"

#include <stdlib.h>

enum { FIRST_CAP = 16 };

void baton_tokens_fini(struct baton_tokens *tokens)
{
    free(tokens->ids);
    *tokens = (struct baton_tokens){0};
}

enum baton_err baton_tokens_reserve(struct baton_tokens *tokens, size_t n)
{
    size_t need, n_bytes;
    if (n <= tokens->cap - tokens->n)
        return BATON_OK;
    if (__builtin_add_overflow(tokens->n, n, &need))
        return BATON_NO_MEMORY;
    if (need < FIRST_CAP)
        need = FIRST_CAP;
    if (need / 2 < tokens->cap && __builtin_mul_overflow(tokens->cap, 2, &need))
        return BATON_NO_MEMORY;
    if (__builtin_mul_overflow(need, sizeof *tokens->ids, &n_bytes))
        return BATON_NO_MEMORY;
    uint32_t *ids = realloc(tokens->ids, n_bytes);
    if (!ids)
        return BATON_NO_MEMORY;
    tokens->ids = ids;
    tokens->cap = need;
    return BATON_OK;
}

enum baton_err baton_tokens_push(struct baton_tokens *tokens, uint32_t id)
{
    enum baton_err err = baton_tokens_reserve(tokens, 1);
    if (!err)
        tokens->ids[tokens->n++] = id;
    return err;
}
