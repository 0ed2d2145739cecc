/* What a request is promised before its prompt is run anywhere: blocks for all of its context, and
 * soon a place in the batch. Asked with Reserve; answered with Reserved or Rejected.
 *
 * More contexts than a step has places would wait for one with their first token out: readers would
 * see the first gap grow, and prompts would be run at the cost of steps. So they wait at their
 * gateway, before their prompt, where they can still go elsewhere or be turned away. A paused one
 * lends its place, so it has none.
 *
 * Ownership: contexts it makes are the list's.
 * Threading: main thread.
 * Errors:    none; want of memory is a want of room.
 */
#ifndef BATON_DECODE_ROOM_H
#define BATON_DECODE_ROOM_H

#include "common/worker/host.h"
#include "decode_worker/contexts.h"

struct dc_room {
    struct baton_host *host;
    struct dc_contexts *contexts;
    struct baton_kv *kv;
    int max_batch;
    bool shares_prefixes; /* blocks, among prompts that begin alike */
    /* prompt tokens that could be shared, and that were */
    uint64_t n_prefix_tokens, n_hit_tokens;
};

/* envelope is a Reserve that is not known yet; of the contexts, n_paused wait for credit. */
void dc_room_ask(struct dc_room *room, int n_paused, struct baton_link *gateway,
                 const baton_envelope *envelope);

#endif
