#include "gateway/request/attempt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"

/* A rate over fewer tokens measures fixed costs rather than the worker. */
enum { MIN_RATED_TOKENS = 8 };

/* The weight of the newest measurement in a running mean. */
#define NEWEST_WEIGHT 0.2

void gw_attempt_begin(struct gw_attempt *attempt)
{
    *attempt = (struct gw_attempt){.number = attempt->n_begun + 1, .n_begun = attempt->n_begun + 1};
}

/* ---- its workers ---- */

static void assign(struct gw_worker *worker, uint64_t turn, char id[BATON_MAX_ID_BYTES + 1])
{
    worker->n_active++;
    worker->n_routed++;
    worker->turn = turn;
    (void)snprintf(id, BATON_MAX_ID_BYTES + 1, "%s", worker->id);
}

void gw_attempt_assign_prefill(struct gw_attempt *attempt, struct gw_worker *worker, uint64_t turn)
{
    attempt->prefill = worker;
    assign(worker, turn, attempt->prefill_id);
}

void gw_attempt_assign_decode(struct gw_attempt *attempt, struct gw_worker *worker, uint64_t turn,
                              int64_t n_blocks)
{
    attempt->decode = worker;
    attempt->n_blocks = n_blocks;
    gw_worker_load_add(&worker->load, &(struct gw_work){.n_requests = 1, .n_blocks = n_blocks});
    assign(worker, turn, attempt->decode_id);
}

void gw_attempt_set_ticket(struct gw_attempt *attempt, const Baton__V1__Reserved *reserved)
{
    memcpy(attempt->ticket.bytes, reserved->ticket.data, sizeof attempt->ticket.bytes);
}

int64_t gw_attempt_n_blocks(size_t n_prompt_tokens, int64_t max_new_tokens, uint32_t block_tokens)
{
    int64_t n_positions = (int64_t)n_prompt_tokens + max_new_tokens - 1;
    return block_tokens ? (n_positions + block_tokens - 1) / block_tokens : 0;
}

/* ---- the prompt ---- */

void gw_attempt_prompt_begins(struct gw_attempt *attempt, size_t n_tokens, int64_t now_ns)
{
    attempt->prompt_at = attempt->prefill ? attempt->prefill : attempt->decode;
    attempt->n_prompt_tokens = (int64_t)n_tokens;
    attempt->prefill_sent_ns = now_ns;
    gw_worker_load_add(&attempt->prompt_at->load,
                       &(struct gw_work){.n_queued_tokens = attempt->n_prompt_tokens});
}

static void leave_prompt(struct gw_attempt *attempt)
{
    if (attempt->prompt_at)
        gw_worker_load_add(&attempt->prompt_at->load,
                           &(struct gw_work){.n_queued_tokens = -attempt->n_prompt_tokens});
    attempt->prompt_at = NULL;
}

void gw_attempt_add_part(struct gw_attempt *attempt, struct gw_worker *worker, uint64_t turn)
{
    attempt->parts[attempt->n_parts++] = (struct gw_prompt_part){.worker = worker};
    if (worker == attempt->prefill) /* its load counts since gw_attempt_prompt_begins */
        return;
    worker->n_active++;
    worker->n_routed++;
    worker->turn = turn;
    gw_worker_load_add(&worker->load,
                       &(struct gw_work){.n_queued_tokens = attempt->n_prompt_tokens});
}

static void release_part(const struct gw_attempt *attempt, struct gw_worker *worker)
{
    worker->n_active--;
    gw_worker_load_add(&worker->load,
                       &(struct gw_work){.n_queued_tokens = -attempt->n_prompt_tokens});
}

struct gw_prompt_part *gw_attempt_part(struct gw_attempt *attempt, const struct gw_worker *worker)
{
    for (uint32_t i = 0; i < attempt->n_parts; i++)
        if (attempt->parts[i].worker == worker)
            return &attempt->parts[i];
    return NULL;
}

void gw_attempt_release_parts(struct gw_attempt *attempt)
{
    for (uint32_t i = 1; i < attempt->n_parts; i++)
        if (attempt->parts[i].worker)
            release_part(attempt, attempt->parts[i].worker);
    attempt->n_parts = 0;
}

bool gw_attempt_uses(const struct gw_attempt *attempt, const struct gw_worker *worker)
{
    for (uint32_t i = 1; i < attempt->n_parts; i++)
        if (attempt->parts[i].worker == worker)
            return true;
    return attempt->prefill == worker || attempt->decode == worker;
}

void gw_attempt_prompt_done(struct gw_attempt *attempt, int64_t n_computed, double compute_s)
{
    struct gw_worker *worker = attempt->prompt_at;
    if (worker && n_computed >= MIN_RATED_TOKENS && compute_s > 0) {
        double rate = (double)n_computed / compute_s, *mean = &worker->prompt_tokens_per_s;
        *mean = *mean > 0 ? *mean + NEWEST_WEIGHT * (rate - *mean) : rate;
    }
    leave_prompt(attempt);
}

/* ---- decoding ---- */

/* The sender measures the overlap and the receiver the transfer. Their clocks differ, so the
 * overlap may come out longer than the whole transfer. */
struct gw_handoff gw_handoff_of(const Baton__V1__DecodeBegan *began)
{
    return (struct gw_handoff){.n_bytes = began->kv_bytes,
                               .n_shared_bytes = began->kv_shared_bytes,
                               .n_chunks = began->kv_chunks,
                               .transfer_s = began->kv_transfer_s,
                               .overlap_s = fmin(began->kv_overlap_s, began->kv_transfer_s),
                               .exposed_s = began->kv_exposed_s,
                               .crc_s = began->kv_crc_s};
}

/* Divides the time from the first token to the first step. The worker reports how long it waited
 * for a slot; the rest is the wait for the context, if one was sent. */
static void divide_wait(struct gw_attempt *attempt, double decode_queue_s)
{
    if (attempt->is_moved) /* without a first token of its own, its wait is the migration's */
        return;
    double wait_s = fmax(baton_seconds(attempt->decode_began_ns - attempt->first_token_ns), 0);
    struct gw_decode_times *times = &attempt->decode_times;
    times->decode_queue_s = attempt->handoff.n_bytes ? fmin(decode_queue_s, wait_s) : wait_s;
    times->kv_transfer_s = wait_s - times->decode_queue_s;
}

void gw_attempt_decode_begins(struct gw_attempt *attempt, const Baton__V1__DecodeBegan *began,
                              int64_t began_ns)
{
    attempt->decode_began = true;
    attempt->decode_began_ns = began_ns;
    if (!began)
        return;
    attempt->cold |= began->cold;
    attempt->handoff = gw_handoff_of(began);
    divide_wait(attempt, began->decode_queue_s);
}

/* ---- the end ---- */

void gw_attempt_release_prefill(struct gw_attempt *attempt)
{
    if (!attempt->prefill)
        return;
    if (attempt->prompt_at == attempt->prefill)
        leave_prompt(attempt);
    attempt->prefill->n_active--;
    attempt->prefill = NULL;
}

static void release_decode(struct gw_attempt *attempt)
{
    if (!attempt->decode)
        return;
    if (attempt->prompt_at == attempt->decode)
        leave_prompt(attempt);
    gw_worker_load_add(&attempt->decode->load,
                       &(struct gw_work){.n_requests = -1, .n_blocks = -attempt->n_blocks});
    /* The capacity that is freed here may suffice for a request that the worker rejected. */
    gw_worker_may_have_capacity(attempt->decode);
    attempt->decode->n_active--;
    attempt->decode = NULL;
}

void gw_attempt_release(struct gw_attempt *attempt)
{
    gw_attempt_release_parts(attempt);
    gw_attempt_release_prefill(attempt);
    release_decode(attempt);
}

void gw_attempt_colocate(struct gw_attempt *attempt)
{
    gw_attempt_release_prefill(attempt);
    /* Answers and logs name the worker that ran the prompt. */
    (void)snprintf(attempt->prefill_id, sizeof attempt->prefill_id, "%s", attempt->decode_id);
}

void gw_attempt_worker_lost(struct gw_attempt *attempt, const struct gw_worker *worker)
{
    struct gw_prompt_part *part = gw_attempt_part(attempt, worker);
    if (part)
        part->worker = NULL;
    if (attempt->prompt_at == worker)
        attempt->prompt_at = NULL;
    if (attempt->prefill == worker)
        attempt->prefill = NULL;
    if (attempt->decode == worker)
        attempt->decode = NULL;
}
