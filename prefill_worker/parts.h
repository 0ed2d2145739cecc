/* One part of a prompt that several prefill workers compute together: the stripes that this worker
 * computes, and the blocks that it exchanges with the others.
 *
 * Stripes of blocks are assigned to the parts in turn (worker/kv/transfer.h). A step computes
 * blocks of one stripe. It sends each layer's K and V as soon as they are computed, and waits
 * before that layer's attention until those of the earlier stripes have arrived. So part 1 computes
 * a layer of its stripe while part 0 computes the next layer of the stripe before, and both compute
 * all the time.
 *
 *     part 0   stripe 0: layer 0 1 2 3 ..        stripe 2: layer 0 1 2 3 ..
 *                              \ \ \ \                   / / / /  (of stripe 1)
 *     part 1             stripe 1: layer 0 1 2 3 ..        stripe 3: layer 0 1 ..
 *
 * A step begins when the first layer of the stripe before has arrived. A step therefore only waits
 * for steps that have begun, so steps cannot wait for each other in a circle. A step that waits too
 * long gives way to other prompts, and runs again when all blocks before it have arrived.
 *
 *     wanted --blocks acquired: Reserved--> reserved --PartsStart--> started
 *
 * Ownership: transfers borrow the job's sequence and origin; fini ends them.
 * Threading: "engine" on the engine thread while the job is RUNNING, the rest on the main thread;
 *            `arrived` is written by the main thread and read by both.
 * Errors:    start: INVALID (it contradicts the prompt), NO_MEMORY.
 */
#ifndef BATON_PREFILL_WORKER_PARTS_H
#define BATON_PREFILL_WORKER_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/wire/envelope/envelope.h"
#include "worker/kv/receive.h"
#include "worker/kv/send.h"

struct pf_job;

/* The transfers to and from another part. */
struct pf_part {
    struct baton_kv_target target;
    struct baton_kv_send send;
    struct baton_kv_receive receive;
    bool is_sent_to, is_received_from;
};

struct pf_parts {
    bool is_wanted, is_reserved, is_started;
    struct baton_kv_stripes stripes; /* n_parts 0: this worker computes the prompt alone */
    int part;                        /* this worker's part */
    struct pf_part of[BATON_MAX_PARTS];
    baton_kv_progress_word progress; /* of this part's own blocks */
    atomic_int *arrived; /* [L]: all needed blocks of other parts below this one have arrived */
    const int *held;     /* [n_held]: the layers with K and V; the pool's */
    int n_layers, n_held;
    pthread_mutex_t lock; /* of moved */
    pthread_cond_t moved; /* `arrived` has changed, or the job is canceled */
    bool has_lock;

    /* engine */
    bool needs_all;    /* a step gave way: the next one begins only when it need not wait */
    int n_done;        /* blocks that are complete here in all layers */
    int64_t waited_ns; /* time that the current step has waited */
};

/* ---- main thread ---- */

/* Answers Reserved: the job has its blocks, and the cache had K and V of some of them. */
void pf_parts_answer_reserved(struct pf_job *job, struct baton_ticket ticket);

/* Answers Rejected: there are not enough free blocks. */
void pf_parts_answer_rejected(const struct pf_job *job, const struct baton_kv *kv);

enum baton_err pf_parts_start(struct pf_job *job, const Baton__V1__PartsStart *start,
                              struct baton_kv_sender *sender) BATON_MUST_CHECK;

/* The transfer from the envelope's sender; NULL: none is expected. */
struct baton_kv_receive *pf_parts_find(struct pf_job *job, const baton_envelope *envelope);

/* Blocks of the layer have arrived. */
void pf_parts_advanced(struct pf_job *job, int layer);

/* Sends the blocks that are ready. False: a transfer broke, and the job's origin got Failed. */
bool pf_parts_pump(struct pf_job *job, const struct baton_kv_sender *sender);

/* Whether the other parts have all blocks of this one, or need none any more. */
bool pf_parts_are_sent(const struct pf_job *job);

/* Ends the engine thread's wait, so that it sees a cancellation. */
void pf_parts_interrupt(struct pf_job *job);

void pf_parts_fini(struct pf_parts *parts);

/* ---- engine thread ---- */

/* Whether several workers compute the prompt. */
static inline bool pf_parts_are_several(const struct pf_parts *parts)
{
    return parts->stripes.n_parts > 0;
}

/* Whether the next step can run now. */
bool pf_parts_may_run(const struct pf_job *job);

/* Tokens left in the current stripe. */
int pf_parts_n_in_stripe(const struct pf_job *job);

/* A step of n_tokens begins. */
void pf_parts_begin(struct pf_job *job, int n_tokens);

/* Publishes the step's own K and V of the layer. */
void pf_parts_publish(struct pf_job *job, int layer);

/* Waits for the others' blocks of the layer. False: canceled, or the step gives way. */
bool pf_parts_await(struct pf_job *job, int layer);

/* Ends a step after the sequence has advanced. False: this part has no stripe left. */
bool pf_parts_end(struct pf_job *job);

#endif
