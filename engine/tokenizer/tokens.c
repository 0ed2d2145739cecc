#include "engine/tokenizer/tokens.h"

#include <stdlib.h>

#include "common/base/array.h"

void baton_tokens_fini(struct baton_tokens *tokens)
{
    free(tokens->ids);
    *tokens = (struct baton_tokens){0};
}

enum baton_err baton_tokens_reserve(struct baton_tokens *tokens, size_t n)
{
    size_t need;
    if (__builtin_add_overflow(tokens->n, n, &need))
        return BATON_NO_MEMORY;
    return BATON_RESERVE(tokens->ids, tokens->cap, need);
}

enum baton_err baton_tokens_push(struct baton_tokens *tokens, uint32_t id)
{
    enum baton_err err = baton_tokens_reserve(tokens, 1);
    if (!err)
        tokens->ids[tokens->n++] = id;
    return err;
}
