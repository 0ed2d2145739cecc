/* One attempt to serve a request: its workers, their reservations, and their measurements.
 *
 *     prefill   from routing until decoding began, or until the prompt was colocated
 *     decode    from routing to the end, with the blocks that it reserved
 *     prompt_at one of the two, from PrefillRequest to the first token
 *
 * An attempt ends when its reservation is rejected, when it breaks, or with the request. The next
 * one begins from nothing: no field of an attempt refers to another one, except n_begun.
 *
 * Attempts account for their workers' load (n_active, gw_worker_load): assigning a worker adds to
 * it and releasing the worker subtracts it again.
 *
 * Ownership: borrows its workers until it releases them, or they are lost.
 * Threading: loop thread.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_REQUEST_ATTEMPT_H
#define BATON_GATEWAY_REQUEST_ATTEMPT_H

#include "common/base/ticket.h"
#include "common/wire/envelope/envelope.h"
#include "gateway/fleet/worker.h"
#include "gateway/request/prompt_hashes.h"

/* One hand-off, as the decode worker measured it; gateway/observe/handoff_stats.h sums them up. */
struct gw_handoff {
    uint64_t n_bytes;        /* 0: nothing was handed over */
    uint64_t n_shared_bytes; /* of these, through shared memory */
    uint32_t n_chunks;
    double transfer_s, overlap_s, exposed_s;
    double crc_s; /* the receiver's time for checking the chunks */
};

/* Durations of an attempt after its first token. The worker measured them, except kv_transfer_s,
 * which the gateway computes. */
struct gw_decode_times {
    double
        kv_transfer_s; /* waited for the context: first token to the gateway, to context complete */
    double decode_queue_s;
    double decode_s, sample_s; /* over its steps: computing, choosing the tokens */
};

/* One of the prefill workers that compute the prompt together. */
struct gw_prompt_part {
    struct gw_worker *worker; /* NULL: released, or lost */
    bool answered;
    uint32_t n_cached_blocks;
    struct baton_ticket ticket;
};

struct gw_attempt {
    uint32_t number;  /* on the wire, from 1: distinguishes answers to another attempt */
    uint32_t n_begun; /* attempts of the request so far: the highest number that was used */

    struct gw_worker *prefill, *decode; /* NULL: not assigned, released, or lost */
    struct gw_worker *prompt_at;        /* of these two, the one that has the prompt */
    char prefill_id[BATON_MAX_ID_BYTES + 1], decode_id[BATON_MAX_ID_BYTES + 1]; /* stay after the
                                                     workers are gone; "": none was assigned */
    struct gw_prompt_part
        parts[BATON_MAX_PARTS];            /* gateway/routing/split.h: the first is `prefill` */
    uint32_t n_parts;                      /* 0: one worker computes the prompt */
    uint32_t n_split;                      /* parts that began; kept after their release */
    const struct gw_prompt_hashes *hashes; /* of the request, of the class that computes the prompt;
                                              NULL: none */
    int64_t n_prompt_tokens;               /* sent to prompt_at */
    int64_t n_blocks;                      /* reserved by the decode worker */
    uint32_t n_cached_blocks;              /* of these, already in its cache */
    bool is_moved;                         /* its context came from the decode worker before */
    uint32_t n_broken_moves;               /* hand-overs from it that broke */
    struct baton_ticket ticket;            /* the context's sender must show it there */

    size_t n_scored;           /* prompt tokens whose logprobs came */
    uint32_t cached_tokens;    /* of the prompt, not computed again */
    uint32_t disk_tokens;      /* of them, read from disk */
    uint32_t stateless_tokens; /* after them, whose blocks were there without a state */
    int64_t matched_tokens;    /* that the prefill worker should have; -1: not known */
    bool is_delivered;         /* the prompt runs on the prefill worker, whatever Reserved says */
    bool decode_began;         /* the decode worker has the context: prefill is no longer needed */
    bool cold;                 /* a worker computed for the first time in its life */
    struct gw_handoff handoff;

    uint64_t acked_index; /* output tokens before it are known to have arrived */
    int64_t acked_ns;

    int64_t prefill_sent_ns, first_token_ns, decode_began_ns;
    double prefill_queue_s, prefill_compute_s; /* as workers measured */
    struct gw_decode_times decode_times;
};

/* Begins the next attempt, the first one included. The last one, if any, was released. */
void gw_attempt_begin(struct gw_attempt *attempt);

/* Gives the attempt a worker. turn counts routings; see common/policy/routing_policy.h. */
void gw_attempt_assign_prefill(struct gw_attempt *attempt, struct gw_worker *worker, uint64_t turn);
void gw_attempt_assign_decode(struct gw_attempt *attempt, struct gw_worker *worker, uint64_t turn,
                              int64_t n_blocks);

/* Keeps the ticket that Reserved gives. */
void gw_attempt_set_ticket(struct gw_attempt *attempt, const Baton__V1__Reserved *reserved);

/* KV blocks for prompt and output without the last token, which is never an input; 0 while
 * block_tokens is 0. */
int64_t gw_attempt_n_blocks(size_t n_prompt_tokens, int64_t max_new_tokens, uint32_t block_tokens);

/* The prompt is being sent to the prefill worker, or to the decode worker if there is none. */
void gw_attempt_prompt_begins(struct gw_attempt *attempt, size_t n_tokens, int64_t now_ns);

/* The decode worker, which has reserved its blocks, runs the prompt itself, without a hand-off. */
void gw_attempt_colocate(struct gw_attempt *attempt);

/* Adds one of the prefill workers that compute the prompt together, first the one at prompt_at. */
void gw_attempt_add_part(struct gw_attempt *attempt, struct gw_worker *worker, uint64_t turn);

/* The part that the worker computes; NULL: none. */
struct gw_prompt_part *gw_attempt_part(struct gw_attempt *attempt, const struct gw_worker *worker);

/* Unassigns the workers of all parts but the first. Sends nothing to them. */
void gw_attempt_release_parts(struct gw_attempt *attempt);

/* Whether the attempt uses the worker, also for a part of the prompt. */
bool gw_attempt_uses(const struct gw_attempt *attempt, const struct gw_worker *worker);

/* The first token has arrived. n_computed tokens in compute_s update the worker's rate. */
void gw_attempt_prompt_done(struct gw_attempt *attempt, int64_t n_computed, double compute_s);

/* The hand-off as its receiver, the decode worker, reports it. */
struct gw_handoff gw_handoff_of(const Baton__V1__DecodeBegan *began);

/* The decode worker ran its first step at began_ns. began is NULL if the message has no report. */
void gw_attempt_decode_begins(struct gw_attempt *attempt, const Baton__V1__DecodeBegan *began,
                              int64_t began_ns);

/* Unassigns the prefill worker, or both workers. Sends nothing to them. */
void gw_attempt_release_prefill(struct gw_attempt *attempt);
void gw_attempt_release(struct gw_attempt *attempt);

/* Forgets a worker that is gone, without subtracting from its load. */
void gw_attempt_worker_lost(struct gw_attempt *attempt, const struct gw_worker *worker);

#endif
