#include "decode_worker/output_blocks.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = BATON_KV_BLOCK_TOKENS };

void dc_output_blocks_reserve(struct dc_output_blocks *blocks, const struct baton_prefix *prefix)
{
    blocks->first = prefix->n_hashes;
    if (prefix->n_hashes)
        blocks->last = prefix->hashes[prefix->n_hashes - 1];
}

enum baton_err dc_output_blocks_start(struct dc_output_blocks *blocks,
                                      const Baton__V1__DecodeStart *start, int n_prompt)
{
    if (!start->n_tail || !blocks->first)
        return BATON_OK;
    if (start->n_tail != (size_t)(n_prompt - blocks->first * BLOCK))
        return BATON_INVALID;
    size_t capacity = start->n_tail + start->max_new_tokens;
    blocks->tokens = malloc(capacity * sizeof *blocks->tokens);
    if (!blocks->tokens)
        return BATON_OK;
    memcpy(blocks->tokens, start->tail, start->n_tail * sizeof *blocks->tokens);
    blocks->n = start->n_tail;
    blocks->capacity = capacity;
    dc_output_blocks_add(blocks, start->first_token);
    return BATON_OK;
}

void dc_output_blocks_add(struct dc_output_blocks *blocks, uint32_t token)
{
    if (blocks->n < blocks->capacity)
        blocks->tokens[blocks->n++] = token;
}

void dc_output_blocks_register(const struct dc_output_blocks *blocks, struct baton_seq *seq)
{
    int n_known = blocks->first + (int)(blocks->n / BLOCK), n_whole = seq->n_tokens / BLOCK;
    int n = (n_whole < n_known ? n_whole : n_known) - blocks->first;
    if (!blocks->tokens || n <= 0)
        return;
    struct baton_block_hash *hashes = malloc((size_t)n * sizeof *hashes);
    if (hashes &&
        !baton_block_hash_tokens(&blocks->last, blocks->tokens, BLOCK, hashes, (size_t)n)) {
        baton_seq_register(seq, blocks->first, hashes, n);
        baton_seq_register_states(seq, blocks->first, hashes, n);
    }
    free(hashes);
}

void dc_output_blocks_fini(struct dc_output_blocks *blocks)
{
    free(blocks->tokens);
    *blocks = (struct dc_output_blocks){0};
}
