/* A prompt that several prefill workers compute together: what this one computes of it, and the
 * blocks that it gets from and sends to the others.
 *
 * Stripes of blocks go round the parts (worker/kv/transfer.h). A step computes blocks of one
 * stripe. It sends each layer's K and V as soon as they are there, and waits before that layer's
 * attention until the earlier stripes' have come. So part 1 computes a layer of its stripe while
 * part 0 is at the next layer of the stripe before, and both compute all the time.
 *
 *     part 0   stripe 0: layer 0 1 2 3 ..        stripe 2: layer 0 1 2 3 ..
 *                              \ \ \ \                   / / / /  (of stripe 1)
 *     part 1             stripe 1: layer 0 1 2 3 ..        stripe 3: layer 0 1 ..
 *
 * A step begins when the stripe before has its first layer here: whoever is waited for runs, or has
 * run, so that steps cannot wait for each other in a circle. One that waits too long gives way to
 * other prompts, and is done again when all before it is here.
 *
 *     wanted --blocks taken: Reserved--> told --PartsStart--> started
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

/* Another worker that computes the prompt. */
struct pf_part {
    struct baton_kv_target target;
    struct baton_kv_send send;
    struct baton_kv_receive receive;
    bool is_sent_to, is_received_from;
};

struct pf_parts {
    bool is_wanted, is_told, is_started;
    struct baton_kv_stripes stripes; /* of no parts: the prompt is computed here alone */
    int part;                        /* this worker's */
    struct pf_part of[BATON_MAX_PARTS];
    baton_kv_progress_word progress; /* of the blocks that are computed here */
    atomic_int *arrived; /* [L]: the others' blocks below it are here, as far as needed */
    const int *held;     /* [n_held]: the layers with K and V; the pool's */
    int n_layers, n_held;
    pthread_mutex_t lock; /* of moved */
    pthread_cond_t moved; /* arrived did, or nobody waits for the prompt any more */
    bool has_lock;

    /* engine */
    bool needs_all;    /* a step gave way: the next one does not wait */
    int n_done;        /* blocks that are here in all layers */
    int64_t waited_ns; /* in the step that runs */
};

/* ---- main thread ---- */

/* Answers that the job's blocks are taken, and of how many of them K and V are there. */
void pf_parts_tell_reserved(struct pf_job *job, struct baton_ticket ticket);

/* Answers that there are no blocks. */
void pf_parts_tell_rejected(const struct pf_job *job, const struct baton_kv *kv);

enum baton_err pf_parts_start(struct pf_job *job, const Baton__V1__PartsStart *start,
                              struct baton_kv_sender *sender) BATON_MUST_CHECK;

/* What is received from the sender of the envelope; NULL: nothing. */
struct baton_kv_receive *pf_parts_find(struct pf_job *job, const baton_envelope *envelope);

/* Blocks of the layer came. */
void pf_parts_advanced(struct pf_job *job, int layer);

/* Sends the blocks that are ready. False: a way broke, and the job's origin was told. */
bool pf_parts_pump(struct pf_job *job, const struct baton_kv_sender *sender);

/* Whether the others have all that they get from here, or want nothing any more. */
bool pf_parts_are_sent(const struct pf_job *job);

/* Ends a wait, so that a canceled step sees it. */
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

/* Tokens left of the stripe that is next, or under way. */
int pf_parts_n_in_stripe(const struct pf_job *job);

/* A step of n_tokens begins. */
void pf_parts_begin(struct pf_job *job, int n_tokens);

/* The step's own K and V of the layer are there. */
void pf_parts_publish(struct pf_job *job, int layer);

/* Waits for the others' blocks of the layer. False: canceled, or the step gives way. */
bool pf_parts_await(struct pf_job *job, int layer);

/* The step is over, and the sequence advanced. False: this part computes no more of the prompt. */
bool pf_parts_end(struct pf_job *job);

#endif
