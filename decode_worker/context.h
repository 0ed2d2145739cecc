/* One request in a decode worker, from the promise of blocks to the last token.
 *
 *     RESERVED --KvBegin--> PLACING --all blocks placed--> PLACED --DecodeStart (or before)-->
 * RUNNING any state --Cancel, loss, end--> gone, blocks free
 *
 * Ownership: the admission side owns every context; the engine thread borrows one while RUNNING.
 * Threading: main thread, except the fields under "shared", and those under "engine" while RUNNING.
 */
#ifndef BATON_DECODE_CONTEXT_H
#define BATON_DECODE_CONTEXT_H

#include <stdatomic.h>

#include "common/base/list.h"
#include "common/engine/kv.h"
#include "common/worker/asker.h"
#include "common/worker/plan.h"

enum dc_state { DC_RESERVED, DC_PLACING, DC_PLACED, DC_RUNNING };

struct dc_context {
    struct baton_node in_contexts;
    enum dc_state state;

    struct baton_asker asker;
    int n_prompt, max_new_tokens;
    struct baton_seq seq;

    /* placement */
    uint64_t source_link; /* link id of the prefill worker that sends */
    uint64_t total_bytes, placed_bytes, acked_bytes;
    uint32_t n_chunks;
    int64_t kv_began_ns, kv_placed_ns, ready_ns; /* ready: placed and started */

    /* from DecodeStart */
    bool started;
    uint32_t next_token; /* input of the next step */
    struct baton_plan plan;
    int64_t deadline_ns; /* 0: none */

    /* shared between the main and the engine thread */
    atomic_bool canceled;
    atomic_uint_least64_t credit_end; /* output index that may not be reached yet */

    /* engine */
    uint64_t n_output; /* tokens so far, the first (prefill's) included */
    uint32_t n_steps;
    double decode_s;
    bool cold;
};

BATON_LIST(dc_context_list, struct dc_context, in_contexts)

#endif
