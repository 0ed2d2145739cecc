/* The blocks of an output, which enter the prefix cache when the sequence ends: the next turn of a
 * conversation begins with them.
 *
 * A block's hash needs all tokens before it. The reservation has the hashes of the prompt's blocks,
 * DecodeStart the tokens behind the last of these (tail), and the steps give the rest.
 *
 * Ownership: embedded in a context; owns the tokens. Zeroed it registers nothing.
 * Threading: add on the thread that has the sequence, the rest on the main thread while the engine
 *            thread does not have it.
 * Errors:    start: INVALID. Without memory nothing is registered, which costs time later.
 */
#ifndef BATON_DECODE_WORKER_OUTPUT_BLOCKS_H
#define BATON_DECODE_WORKER_OUTPUT_BLOCKS_H

#include "engine/kv.h"
#include "proto/baton.pb-c.h"
#include "worker/kv/prefix_cache.h"

/* The positions between two copies of a state: a copy is as much traffic as the state in one step,
 * and the next turn computes half of them again on average. */
enum { DC_STATE_EVERY = 64 };

struct dc_output_blocks {
    struct baton_block_hash last; /* of the prompt's block before `first` */
    int first;                    /* block of the sequence; 0: the prompt has no hashes */
    uint32_t *tokens;             /* [n] of the sequence from this block on; NULL: none */
    size_t n, capacity;
};

/* Notes the hashes that the reservation came with. */
void dc_output_blocks_reserve(struct dc_output_blocks *blocks, const struct baton_prefix *prefix);

/* Takes the tail of a DecodeStart for a context of n_prompt tokens. INVALID: it does not begin
 * where the hashes end. */
enum baton_err dc_output_blocks_start(struct dc_output_blocks *blocks,
                                      const Baton__V1__DecodeStart *start,
                                      int n_prompt) BATON_MUST_CHECK;

void dc_output_blocks_add(struct dc_output_blocks *blocks, uint32_t token);

/* Registers the whole blocks behind the prompt's and a state, if there is one at a block's end. No
 * step may follow. */
void dc_output_blocks_register(const struct dc_output_blocks *blocks, struct baton_seq *seq);

void dc_output_blocks_fini(struct dc_output_blocks *blocks);

#endif
