#include "decode_worker/prompt_lookup.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/hash.h"

enum {
    PAIR = 2,
    MIN_KINDS = 16,
    MOST_PLACES = 32, /* places that are compared: more would cost what a draft saves */
    MOST_AGREED = 32  /* tokens that are compared: a longer match is no better */
};

enum baton_err dc_prompt_lookup_init(struct dc_prompt_lookup *lookup, size_t n_max)
{
    size_t n_kinds = MIN_KINDS;
    if (n_max > UINT32_MAX / 2)
        return BATON_NO_MEMORY;
    while (n_kinds < n_max)
        n_kinds *= 2;
    struct dc_prompt_lookup made = {.tokens = malloc(n_max * sizeof *made.tokens),
                                    .earlier = malloc(n_max * sizeof *made.earlier),
                                    .latest = calloc(n_kinds, sizeof *made.latest),
                                    .n_max = n_max,
                                    .n_kinds = n_kinds};
    if (!made.tokens || !made.earlier || !made.latest) {
        dc_prompt_lookup_fini(&made);
        return BATON_NO_MEMORY;
    }
    *lookup = made;
    return BATON_OK;
}

void dc_prompt_lookup_fini(struct dc_prompt_lookup *lookup)
{
    free(lookup->tokens);
    free(lookup->earlier);
    free(lookup->latest);
    *lookup = (struct dc_prompt_lookup){0};
}

static size_t kind_of(const struct dc_prompt_lookup *lookup, const uint32_t *pair)
{
    return baton_hash_pair(pair[0], pair[1]) & (lookup->n_kinds - 1);
}

void dc_prompt_lookup_add(struct dc_prompt_lookup *lookup, uint32_t token)
{
    assert(lookup->n < lookup->n_max);
    size_t end = lookup->n++;
    lookup->tokens[end] = token;
    lookup->earlier[end] = 0;
    if (lookup->n < PAIR)
        return;
    uint32_t *latest = &lookup->latest[kind_of(lookup, &lookup->tokens[lookup->n - PAIR])];
    lookup->earlier[end] = *latest;
    *latest = (uint32_t)lookup->n;
}

/* The number of tokens before `next` that equal those at the text's end. */
static int agreed_before(const struct dc_prompt_lookup *lookup, size_t next)
{
    const uint32_t *tokens = lookup->tokens;
    size_t n = 0;
    while (n < MOST_AGREED && n < next && tokens[next - 1 - n] == tokens[lookup->n - 1 - n])
        n++;
    return (int)n;
}

struct dc_lookup_match dc_prompt_lookup_find(const struct dc_prompt_lookup *lookup)
{
    struct dc_lookup_match best = {0};
    uint32_t next = lookup->n ? lookup->earlier[lookup->n - 1] : 0;
    for (int i = 0; next && i < MOST_PLACES && best.n_agreed < MOST_AGREED; i++) {
        int n = agreed_before(lookup, next);
        if (n >= PAIR && n > best.n_agreed) /* fewer than PAIR: another pair with the same hash */
            best = (struct dc_lookup_match){.next = next, .n_agreed = n};
        next = lookup->earlier[next - 1];
    }
    return best;
}

void dc_prompt_lookup_read(const struct dc_prompt_lookup *lookup, struct dc_lookup_match match,
                           uint32_t *drafts, int n)
{
    for (int i = 0; i < n; i++) {
        size_t at = match.next + (size_t)i; /* past the text's end it continues in the drafts */
        drafts[i] = at < lookup->n ? lookup->tokens[at] : drafts[at - lookup->n];
    }
}
