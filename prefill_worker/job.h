/* One prompt on its way through a prefill worker.
 *
 *     WAITING --blocks taken, given to the engine thread--> RUNNING --pass done--> SHIPPING -->
 * gone |  naive mode: no credit
 *                                                             +--> PAUSED --TokenAck--> RUNNING
 *
 * Ownership: the service owns every job; the engine thread borrows one while it is RUNNING.
 * Threading: main thread, except the fields under "shared", and the fields under "engine" while
 * RUNNING.
 */
#ifndef BATON_PREFILL_JOB_H
#define BATON_PREFILL_JOB_H

#include <stdatomic.h>

#include "common/base/list.h"
#include "common/engine/kv.h"
#include "common/worker/asker.h"
#include "common/worker/plan.h"

enum pf_state { PF_WAITING, PF_RUNNING, PF_PAUSED, PF_SHIPPING };

struct pf_job {
    struct baton_node in_jobs;
    enum pf_state state;

    struct baton_asker asker;
    int64_t received_ns, deadline_ns; /* deadline 0: none */

    uint32_t *tokens; /* the prompt; in naive mode with room for what is generated */
    int n_prompt, n_tokens, max_new_tokens;
    struct baton_plan plan;
    bool naive, prompt_logprobs;
    struct baton_seq seq;

    /* shared between the main and the engine thread */
    atomic_bool canceled;
    atomic_int layers_ready;          /* layers whose K and V are in seq's blocks */
    atomic_uint_least64_t credit_end; /* naive: output index that may not be reached yet */

    /* engine */
    bool has_first_token, finished;
    double decode_s; /* naive: sum over steps after the first */

    /* hand-off, main thread */
    struct {
        bool wanted; /* set once: the engine thread reads it, too */
        bool began, ended, complete, over;
        char url[BATON_MAX_TEXT_BYTES + 1];
        uint64_t epoch; /* life of the decode worker */
        struct pf_peer *peer;
        int layer, block; /* next to send */
        uint64_t sent_bytes, acked_bytes, credit_bytes;
        uint32_t n_chunks;
        int64_t began_ns;
    } handoff;
};

BATON_LIST(pf_job_list, struct pf_job, in_jobs)

#endif
