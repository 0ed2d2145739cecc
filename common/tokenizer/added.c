#include "common/tokenizer/added.h"

#include <stdlib.h>
#include <string.h>

void baton_added_fini(struct baton_added *added)
{
    free(added->tokens);
    *added = (struct baton_added){0};
}

enum baton_err baton_added_add(struct baton_added *added, struct baton_added_token token)
{
    if (added->n_tokens == added->cap) {
        size_t cap = added->cap ? 2 * added->cap : 8, n_bytes;
        if (__builtin_mul_overflow(cap, sizeof token, &n_bytes))
            return BATON_NO_MEMORY;
        struct baton_added_token *tokens = realloc(added->tokens, n_bytes);
        if (!tokens)
            return BATON_NO_MEMORY;
        added->tokens = tokens;
        added->cap = cap;
    }
    added->tokens[added->n_tokens++] = token;
    added->begins[(unsigned char)token.text[0]] = true;
    return BATON_OK;
}

/* By bytes, then by id; a token comes before the longer ones that begin with it. */
static int by_text(const void *a, const void *b)
{
    const struct baton_added_token *x = a, *y = b;
    size_t n = x->n_bytes < y->n_bytes ? x->n_bytes : y->n_bytes;
    int order = memcmp(x->text, y->text, n);
    if (!order)
        order = (x->n_bytes > y->n_bytes) - (x->n_bytes < y->n_bytes);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

void baton_added_seal(struct baton_added *added)
{
    if (added->n_tokens)
        qsort(added->tokens, added->n_tokens, sizeof *added->tokens, by_text);
}

/* In tokens low..high - 1, which agree in their first depth bytes, the first one whose next byte is
 * at least c (a token that ends at depth counts as less than every byte). */
static size_t lower_bound(const struct baton_added *added, size_t low, size_t high, size_t depth,
                          unsigned c)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct baton_added_token *token = &added->tokens[middle];
        if (token->n_bytes == depth || (unsigned char)token->text[depth] < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct baton_added_token *longest_at(const struct baton_added *added, const char *text,
                                                  size_t n)
{
    const struct baton_added_token *longest = NULL;
    size_t low = 0, high = added->n_tokens;
    for (size_t depth = 0; depth < n; depth++) {
        unsigned c = (unsigned char)text[depth];
        low = lower_bound(added, low, high, depth, c);
        high = lower_bound(added, low, high, depth, c + 1);
        if (low == high)
            break;
        if (added->tokens[low].n_bytes == depth + 1)
            longest = &added->tokens[low];
    }
    return longest;
}

const struct baton_added_token *baton_added_find(const struct baton_added *added, const char *text,
                                                 size_t n, size_t start, size_t *at)
{
    if (!added->n_tokens)
        return NULL;
    for (size_t i = start; i < n; i++) {
        if (!added->begins[(unsigned char)text[i]])
            continue;
        const struct baton_added_token *token = longest_at(added, text + i, n - i);
        if (token) {
            *at = i;
            return token;
        }
    }
    return NULL;
}
