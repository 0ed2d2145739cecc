/* One prompt on its way through a prefill worker.
 *
 *     WAITING --blocks taken, submitted--> RUNNING --first token--> SENDING --> gone
 *      |   ^                                |   ^
 *      |   |     naive mode: out of credit  |   |  TokenAck
 *      v   |                                v   |
 *     LOADING                              PAUSED
 *
 * A job of a prompt that several workers compute (parts.h) is WAITING, with its blocks, until all
 * of them have theirs.
 *
 * LOADING: blocks are read from disk (worker/kv/disk.h), at most once a job. SENDING lasts
 * until the decode worker has the context; a job without a hand-off leaves it at once. A canceled
 * job is freed in any state but RUNNING and LOADING, where the other thread must return it first.
 *
 * Ownership: the service owns every job; the engine thread borrows one while it is RUNNING.
 * Threading: main thread, except the fields under "shared", and those under "engine" while RUNNING.
 * Errors:    none.
 */
#ifndef BATON_PREFILL_WORKER_JOB_H
#define BATON_PREFILL_WORKER_JOB_H

#include <stdatomic.h>
#include <stddef.h>

#include "common/policy/priority.h"
#include "engine/checkpoint/facts.h"
#include "engine/kv.h"
#include "engine/sampling/sampled_token.h"
#include "prefill_worker/parts.h"
#include "worker/kv/disk.h"
#include "worker/kv/prefix_cache.h"
#include "worker/kv/send.h"
#include "worker/request_table.h"

enum pf_state { PF_WAITING, PF_LOADING, PF_RUNNING, PF_PAUSED, PF_SENDING, PF_N_STATES };

struct pf_job {
    struct baton_request_node in_requests;
    enum pf_state state; /* pf_job_set_state alone changes it */
    int64_t state_ns;    /* since when */

    struct baton_origin origin;
    int64_t received_ns, deadline_ns; /* deadline 0: none */

    uint32_t *tokens; /* the prompt and what earlier attempts made; naive: followed by the output */
    int n_prompt, n_tokens; /* what came with the request; with the output made here */
    int n_resumed;          /* of n_prompt, output that earlier attempts made */
    int max_new_tokens;     /* to be made here */
    struct baton_sampling_state sampling;
    bool naive, prompt_logprobs, prompt_progress;
    enum baton_priority priority;
    enum baton_pooling pooling; /* NONE: a token is wanted, not an embedding */
    struct baton_seq seq;

    /* prefix cache, main thread */
    struct baton_prefix prefix;
    int n_cached_tokens; /* found in the cache; set before the engine thread sees the job */
    int n_disk_tokens;   /* of them, on disk */
    struct baton_kv_load load;
    bool has_looked_on_disk;

    /* shared between the main and the engine thread */
    atomic_bool canceled;
    baton_kv_progress_word progress;  /* of K and V in seq's blocks */
    atomic_uint_least64_t credit_end; /* naive: first output index without credit */
    atomic_int_least64_t chosen_ns;   /* when the first token was sampled; 0: not yet */

    /* engine */
    bool has_first_token, finished;
    bool done;           /* nothing to compute, for now */
    int64_t runnable_ns; /* since when it waits for a step: received, submitted or stepped */
    int64_t begun_ns;    /* its first step; 0: none yet */
    double decode_s;     /* naive: sum over steps after the first */
    double *pooled;      /* [C] with pooling: sum of final hidden states so far */

    struct pf_parts parts; /* says itself whose its fields are */

    /* hand-off, main thread */
    bool is_delivered; /* otherwise the context stays here */
    struct baton_kv_target target;
    struct baton_kv_send send; /* the engine thread also reads its `overlaps` */
    bool transfer_over;        /* complete or broken */
};

/* NULL for none. */
static inline struct pf_job *pf_job_of_node(struct baton_request_node *node)
{
    return node ? (struct pf_job *)((char *)node - offsetof(struct pf_job, in_requests)) : NULL;
}

/* Of the jobs in order of arrival. NULL: there is none, or no other. */
static inline struct pf_job *pf_job_first(const struct baton_request_table *table)
{
    return pf_job_of_node(baton_request_list_first(&table->list));
}

static inline struct pf_job *pf_job_next(const struct baton_request_table *table,
                                         struct pf_job *job)
{
    return pf_job_of_node(baton_request_list_next(&table->list, &job->in_requests));
}

/* Output tokens of the request so far: the index of the next one. */
static inline uint64_t pf_job_n_output(const struct pf_job *job)
{
    return (uint64_t)(job->n_resumed + job->n_tokens - job->n_prompt);
}

/* Whether it looks nothing up in the prefix cache: what it tells of each position must be computed,
 * and the cache has no more than K and V. */
static inline bool pf_job_wants_all_rows(const struct pf_job *job)
{
    return job->prompt_logprobs || job->pooling == BATON_POOLING_MEAN;
}

/* WAITING; NULL when there is no memory. */
struct pf_job *pf_job_create(void);

/* Gives back everything that the job holds, including its blocks. It must be in no list. */
void pf_job_destroy(struct pf_job *job);

/* What its blocks are held for, if it has any. */
Baton__V1__KvReason pf_job_kv_reason(const struct pf_job *job);

/* The only way between states. Logs the change; aborts on an edge that is not in the picture. */
void pf_job_set_state(struct pf_job *job, enum pf_state state);

#endif
