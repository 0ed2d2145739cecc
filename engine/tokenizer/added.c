#include "engine/tokenizer/added.h"

#include <stdint.h>
#include <stdlib.h>

#include "common/base/array.h"

void baton_added_fini(struct baton_added *added)
{
    free(added->tokens);
    baton_text_set_fini(&added->texts);
    *added = (struct baton_added){0};
}

enum baton_err baton_added_add(struct baton_added *added, struct baton_added_token token)
{
    if (BATON_RESERVE(added->tokens, added->cap, added->n_tokens + 1))
        return BATON_NO_MEMORY;
    struct baton_text_entry entry = {
        .text = token.text, .n_bytes = token.n_bytes, .value = (uint32_t)added->n_tokens};
    enum baton_err err = baton_text_set_add(&added->texts, entry);
    if (!err)
        added->tokens[added->n_tokens++] = token;
    return err;
}

void baton_added_seal(struct baton_added *added)
{
    baton_text_set_seal(&added->texts);
    added->left_steps = SIZE_MAX;
}

static const struct baton_added_token *longest_at(struct baton_added *added, const char *text,
                                                  size_t n)
{
    const struct baton_text_entry *longest = NULL;
    struct baton_text_range range;
    bool is_begun = baton_text_set_begin(&added->texts, text[0], &range);
    while (is_begun) {
        const struct baton_text_entry *entry = baton_text_set_complete(&added->texts, &range);
        /* Keep the last complete text: deeper entries are longer ones. */
        longest = entry ? entry : longest;
        if (range.depth == n || !baton_text_set_narrow(&added->texts, text[range.depth], &range))
            break;
    }
    added->left_steps -= range.depth < added->left_steps ? range.depth : added->left_steps;
    return longest ? &added->tokens[longest->value] : NULL;
}

const struct baton_added_token *baton_added_find(struct baton_added *added, const char *text,
                                                 size_t n, size_t start, size_t *at)
{
    if (!added->n_tokens)
        return NULL;
    for (size_t i = start; i < n && added->left_steps; i++) {
        const struct baton_added_token *token = longest_at(added, text + i, n - i);
        if (token) {
            *at = i;
            return token;
        }
    }
    return NULL;
}
