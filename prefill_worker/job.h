/* One prompt on its way through a prefill worker.
 *
 *     WAITING --blocks taken, submitted--> RUNNING --first token--> SENDING --> gone
 *      |   ^ ^                              |
 *      |   | |                              | naive mode: out of credit, blocks given up
 *      v   | |                              v
 *   LOADING  +---------TokenAck---------- PAUSED
 *
 * A job of a prompt that several workers compute (parts.h) is WAITING, with its blocks, until all
 * workers have theirs.
 *
 * LOADING: blocks are being read from disk (worker/kv/disk.h), at most once per job. SENDING lasts
 * until the decode worker has the context; a job without a hand-off leaves it at once. A canceled
 * job is freed in any state except RUNNING and LOADING, where another thread must return it first.
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
#include "worker/adapters.h"
#include "worker/kv/disk.h"
#include "worker/kv/prefix_cache.h"
#include "worker/kv/send.h"
#include "worker/request_table.h"

enum pf_state { PF_WAITING, PF_LOADING, PF_RUNNING, PF_PAUSED, PF_SENDING, PF_N_STATES };

struct pf_job {
    struct baton_request_node in_requests;
    enum pf_state state; /* pf_job_set_state alone changes it */
    int64_t state_ns;    /* when it entered its state */

    struct baton_origin origin;
    int64_t received_ns, deadline_ns; /* deadline 0: none */

    uint32_t *tokens; /* the prompt and the output of earlier attempts; naive: also of this one */
    int n_prompt, n_tokens; /* tokens of the request; with this attempt's output */
    int n_resumed;          /* tokens of n_prompt that earlier attempts generated */
    int max_new_tokens;     /* to be generated here */
    struct baton_sampling_state sampling;
    bool naive, prompt_logprobs, prompt_progress;
    enum baton_priority priority;
    enum baton_pooling pooling;              /* NONE: a token is wanted, not an embedding */
    uint32_t logit_ids[BATON_MAX_LOGIT_IDS]; /* whose logits are wanted, in place of a state */
    int n_logit_ids;
    struct baton_adapter_hold adapters; /* main thread; seq borrows its blend */
    struct baton_seq seq;

    /* prefix cache, main thread */
    struct baton_prefix prefix;
    int n_cached_tokens;    /* found in the cache; set before the engine thread sees the job */
    int n_disk_tokens;      /* of these, read from disk */
    int n_stateless_tokens; /* after these, whose blocks were there without a state */
    struct baton_kv_load load;
    bool has_tried_disk;

    /* shared between the main and the engine thread */
    atomic_bool canceled;
    baton_kv_progress_word progress;  /* of computing K and V in seq's blocks */
    atomic_uint_least64_t credit_end; /* naive: first output index without credit */
    atomic_int_least64_t chosen_ns;   /* when the first token was sampled; 0: not yet */

    /* engine */
    bool has_first_token, finished;
    bool done;           /* nothing to compute for now */
    int64_t runnable_ns; /* when its wait for a step began: received, submitted or stepped */
    int64_t begun_ns;    /* when its first step began; 0: not yet */
    double decode_s;     /* naive: sum over steps after the first */
    double *pooled;      /* [C] with pooling: sum of final hidden states so far */
    int n_first_part;    /* of a pair of texts, the first one's tokens; 0: it is one text */

    struct pf_parts parts; /* has its own rules of threading */

    /* hand-off, main thread */
    bool is_delivered; /* the context is sent to a decode worker */
    struct baton_kv_target target;
    struct baton_kv_send send; /* the engine thread also reads its `overlaps` */
    bool transfer_over;        /* complete or broken */
};

/* The job of a table's node; NULL for NULL. */
static inline struct pf_job *pf_job_of_node(struct baton_request_node *node)
{
    return node ? (struct pf_job *)((char *)node - offsetof(struct pf_job, in_requests)) : NULL;
}

/* The jobs in order of arrival; NULL after the last. */
static inline struct pf_job *pf_job_first(const struct baton_request_table *table)
{
    return pf_job_of_node(baton_request_list_first(&table->list));
}

static inline struct pf_job *pf_job_next(const struct baton_request_table *table,
                                         struct pf_job *job)
{
    return pf_job_of_node(baton_request_list_next(&table->list, &job->in_requests));
}

/* Output tokens of the request so far, which is the index of the next one. */
static inline uint64_t pf_job_n_output(const struct pf_job *job)
{
    return (uint64_t)(job->n_resumed + job->n_tokens - job->n_prompt);
}

/* Whether the job cannot use cached blocks, because its result needs the final state of every
 * position, and the cache has only K and V. */
static inline bool pf_job_wants_all_rows(const struct pf_job *job)
{
    return job->prompt_logprobs || job->pooling == BATON_POOLING_MEAN;
}

/* Creates a job in state WAITING; NULL without memory. */
struct pf_job *pf_job_create(void);

/* Frees the job and everything that it owns, including its blocks. It must be in no list. */
void pf_job_destroy(struct pf_job *job);

/* The reason why the job holds its blocks, if it has any. */
Baton__V1__KvReason pf_job_kv_reason(const struct pf_job *job);

/* Changes the state and logs it; aborts on an edge that is not in the drawing. */
void pf_job_set_state(struct pf_job *job, enum pf_state state);

#endif
