#include "prefill_worker/parts.h"

#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "prefill_worker/job.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS };

/* A step that waits longer than this gives way. It is shorter than any --stall-s, so that a waiting
 * engine is not taken for a stalled one, and longer than a busy machine needs for one layer. */
#define PATIENCE_NS (200 * BATON_MS)
#define POLL_NS     (5 * BATON_MS)

/* ---- the reservation ---- */

static int n_cached_blocks(const struct pf_job *job)
{
    return job->n_cached_tokens / BLOCK;
}

void pf_parts_answer_reserved(struct pf_job *job, struct baton_ticket ticket)
{
    Baton__V1__Reserved reserved = BATON__V1__RESERVED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    reserved.n_blocks = (uint32_t)job->seq.n_blocks;
    reserved.n_cached_blocks = (uint32_t)n_cached_blocks(job);
    reserved.ticket = (ProtobufCBinaryData){sizeof ticket.bytes, ticket.bytes};
    envelope.body_case = BATON__V1__ENVELOPE__BODY_RESERVED;
    envelope.reserved = &reserved;
    baton_origin_send_or_log(&job->origin, &envelope);
    job->parts.is_reserved = true;
}

void pf_parts_answer_rejected(const struct pf_job *job, const struct baton_kv *kv)
{
    Baton__V1__Rejected rejected = BATON__V1__REJECTED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    rejected.blocks_needed = (uint32_t)baton_kv_blocks_for(job->n_prompt);
    rejected.blocks_free = (uint32_t)baton_kv_n_reservable(kv);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_REJECTED;
    envelope.rejected = &rejected;
    baton_origin_send_or_log(&job->origin, &envelope);
}

/* ---- the start ---- */

static int n_prompt_blocks(const struct pf_job *job)
{
    return baton_kv_blocks_for(job->n_prompt);
}

/* Whether the order is consistent: each part has a stripe and begins after its cached blocks, and
 * the holder has all blocks before the stripes. */
static bool is_sound(const struct pf_job *job, const Baton__V1__PartsStart *start,
                     const struct baton_kv_stripes *stripes)
{
    int end = n_prompt_blocks(job);
    if ((int64_t)start->first_block * BLOCK >= job->n_prompt ||
        start->stripe_blocks > (uint32_t)end ||
        start->parts[start->part]->first_block != (uint32_t)n_cached_blocks(job) ||
        start->parts[start->holder]->first_block != start->first_block)
        return false;
    for (int i = 0; i < stripes->n_parts; i++)
        if (start->parts[i]->first_block > start->first_block ||
            baton_kv_stripes_last(stripes, i, end) == end)
            return false;
    return true;
}

static enum baton_err allocate(struct pf_job *job)
{
    struct pf_parts *parts = &job->parts;
    pthread_condattr_t attr;
    parts->n_layers = baton_kv_n_layers(job->seq.kv);
    parts->held = baton_kv_held_layers(job->seq.kv, &parts->n_held);
    parts->arrived = calloc((size_t)parts->n_layers, sizeof *parts->arrived);
    if (!parts->arrived || pthread_mutex_init(&parts->lock, NULL))
        return BATON_NO_MEMORY;
    bool has_attr = !pthread_condattr_init(&attr);
    bool is_made = has_attr && !pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) &&
                   !pthread_cond_init(&parts->moved, &attr);
    if (has_attr)
        pthread_condattr_destroy(&attr);
    if (!is_made)
        pthread_mutex_destroy(&parts->lock);
    parts->has_lock = is_made;
    return is_made ? BATON_OK : BATON_NO_MEMORY;
}

/* Expects the other part's blocks, up to where this part's last stripe begins: it needs no later
 * ones. */
static void expect(struct pf_job *job, int other, int last)
{
    struct pf_parts *parts = &job->parts;
    int first = n_cached_blocks(job);
    if (!baton_kv_stripes_count(&parts->stripes, other, first, last))
        return;
    parts->of[other].is_received_from = true;
    baton_kv_receive_expect_part(&parts->of[other].receive, &job->origin, &job->seq, first, last,
                                 &parts->stripes, other);
}

static enum baton_err open_send(struct pf_job *job, int other, struct baton_kv_sender *sender)
{
    struct pf_parts *parts = &job->parts;
    struct pf_part *to = &parts->of[other];
    int last = baton_kv_stripes_last(&parts->stripes, other, n_prompt_blocks(job));
    if (!baton_kv_stripes_count(&parts->stripes, parts->part, to->target.first_block, last))
        return BATON_OK;
    const struct baton_kv_source source = {.origin = &job->origin,
                                           .seq = &job->seq,
                                           .progress = &parts->progress,
                                           .computed_ns = &job->chosen_ns,
                                           .n_tokens = last * BLOCK,
                                           .n_cached_tokens = job->n_cached_tokens,
                                           .stripes = &parts->stripes,
                                           .part = parts->part,
                                           .target = &to->target};
    to->is_sent_to = true;
    return baton_kv_send_open(sender, &to->send, &source);
}

static enum baton_err open_transfers(struct pf_job *job, struct baton_kv_sender *sender)
{
    struct pf_parts *parts = &job->parts;
    int last = baton_kv_stripes_last(&parts->stripes, parts->part, n_prompt_blocks(job));
    enum baton_err err = BATON_OK;
    for (int i = 0; i < parts->stripes.n_parts && !err; i++) {
        if (i == parts->part)
            continue;
        expect(job, i, last);
        err = open_send(job, i, sender);
    }
    for (int layer = 0; layer < parts->n_layers && !err; layer++)
        pf_parts_advanced(job, layer);
    return err;
}

enum baton_err pf_parts_start(struct pf_job *job, const Baton__V1__PartsStart *start,
                              struct baton_kv_sender *sender)
{
    struct pf_parts *parts = &job->parts;
    const struct baton_kv_stripes stripes = {.first = (int)start->first_block,
                                             .n_blocks = (int)start->stripe_blocks,
                                             .n_parts = (int)start->n_parts,
                                             .holder = (int)start->holder};
    if (!parts->is_reserved || parts->is_started ||
        (start->n_parts && !is_sound(job, start, &stripes)))
        return BATON_INVALID;
    parts->is_started = true;
    if (!start->n_parts)
        return BATON_OK;
    enum baton_err err = allocate(job);
    if (err)
        return err;
    parts->stripes = stripes;
    parts->part = (int)start->part;
    parts->n_done = n_cached_blocks(job);
    for (int i = 0; i < stripes.n_parts; i++)
        baton_kv_target_set(&parts->of[i].target, start->parts[i]);
    baton_kv_progress_publish(&parts->progress, (struct baton_kv_progress){.n_done = stripes.first,
                                                                           .n_end = stripes.first});
    err = open_transfers(job, sender);
    job->n_cached_tokens = stripes.first * BLOCK;
    job->seq.n_tokens =
        BLOCK * baton_kv_stripes_next(&stripes, parts->part, stripes.first, n_prompt_blocks(job));
    baton_log(BATON_LOG_INFO, "parts_started", BATON_ORIGIN(&job->origin),
              BATON_I("attempt", job->origin.attempt), BATON_I("part", parts->part),
              BATON_I("parts", stripes.n_parts), BATON_I("stripe_tokens", stripes.n_blocks * BLOCK),
              BATON_I("cached_tokens", job->n_cached_tokens));
    return err;
}

void pf_parts_fini(struct pf_parts *parts)
{
    for (int i = 0; i < BATON_MAX_PARTS; i++) {
        baton_kv_send_close(&parts->of[i].send);
        baton_kv_receive_fini(&parts->of[i].receive);
    }
    if (parts->has_lock) {
        pthread_cond_destroy(&parts->moved);
        pthread_mutex_destroy(&parts->lock);
    }
    free(parts->arrived);
    *parts = (struct pf_parts){0};
}

/* ---- transfers to and from the other parts ---- */

struct baton_kv_receive *pf_parts_find(struct pf_job *job, const baton_envelope *envelope)
{
    struct pf_parts *parts = &job->parts;
    for (int i = 0; i < parts->stripes.n_parts; i++)
        if (parts->of[i].is_received_from && parts->of[i].target.epoch == envelope->src_epoch)
            return &parts->of[i].receive;
    return NULL;
}

void pf_parts_interrupt(struct pf_job *job)
{
    if (!job->parts.has_lock)
        return;
    pthread_mutex_lock(&job->parts.lock);
    pthread_cond_broadcast(&job->parts.moved);
    pthread_mutex_unlock(&job->parts.lock);
}

void pf_parts_advanced(struct pf_job *job, int layer)
{
    struct pf_parts *parts = &job->parts;
    int arrived = INT_MAX;
    int end = baton_kv_stripes_last(&parts->stripes, parts->part, n_prompt_blocks(job));
    for (int i = 0; i < parts->stripes.n_parts; i++) {
        if (!parts->of[i].is_received_from)
            continue;
        int next = baton_kv_receive_next_block(&parts->of[i].receive, layer);
        if (next < end && next < arrived) /* from `end` on nothing is expected */
            arrived = next;
    }
    atomic_store(&parts->arrived[layer], arrived);
    pf_parts_interrupt(job);
}

/* Whether the other parts need no more blocks: after the first token the gateway cancels them, and
 * they acknowledge nothing any more. */
static bool is_for_nobody(const struct pf_job *job)
{
    return job->state == PF_SENDING && job->has_first_token;
}

bool pf_parts_pump(struct pf_job *job, const struct baton_kv_sender *sender)
{
    bool is_whole = true;
    if (is_for_nobody(job))
        return true;
    for (int i = 0; i < job->parts.stripes.n_parts; i++) {
        struct baton_kv_send *send = &job->parts.of[i].send;
        if (send->state != BATON_KV_SEND_IDLE && baton_kv_send_pump(sender, send))
            is_whole = is_whole && send->state == BATON_KV_SEND_ACKED;
    }
    return is_whole;
}

bool pf_parts_are_sent(const struct pf_job *job)
{
    if (is_for_nobody(job))
        return true;
    for (int i = 0; i < job->parts.stripes.n_parts; i++)
        if (job->parts.of[i].is_sent_to && job->parts.of[i].send.state != BATON_KV_SEND_ACKED)
            return false;
    return true;
}

/* ---- the engine thread ---- */

static bool is_here(const struct pf_job *job, int layer)
{
    return atomic_load(&job->parts.arrived[layer]) >= job->seq.n_tokens / BLOCK;
}

bool pf_parts_may_run(const struct pf_job *job)
{
    const struct pf_parts *parts = &job->parts;
    int n = parts->needs_all ? parts->n_held : 1;
    if (!pf_parts_are_several(parts))
        return true;
    for (int i = 0; i < n; i++)
        if (!is_here(job, parts->held[i]))
            return false;
    return true;
}

int pf_parts_n_in_stripe(const struct pf_job *job)
{
    int begin = job->seq.n_tokens / BLOCK;
    int end = baton_kv_stripes_run_end(&job->parts.stripes, begin, n_prompt_blocks(job)) * BLOCK;
    return (end < job->n_prompt ? end : job->n_prompt) - job->seq.n_tokens;
}

void pf_parts_begin(struct pf_job *job, int n_tokens)
{
    struct baton_kv_progress progress = {.n_done = job->seq.n_tokens / BLOCK,
                                         .n_end =
                                             baton_kv_blocks_for(job->seq.n_tokens + n_tokens)};
    job->parts.waited_ns = 0;
    baton_kv_progress_publish(&job->parts.progress, progress);
    progress.n_done = job->parts.n_done; /* blocks between may still be missing from other parts */
    baton_kv_progress_publish(&job->progress, progress);
}

void pf_parts_publish(struct pf_job *job, int layer)
{
    struct baton_kv_progress progress = baton_kv_progress_read(&job->parts.progress);
    progress.n_layers = layer + 1;
    baton_kv_progress_publish(&job->parts.progress, progress);
}

static bool may_wait(const struct pf_job *job, int layer, int64_t end_ns)
{
    return !is_here(job, layer) && !atomic_load(&job->canceled) && baton_now_ns() < end_ns;
}

static struct timespec to_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / BATON_SECOND, .tv_nsec = ns % BATON_SECOND};
}

bool pf_parts_await(struct pf_job *job, int layer)
{
    struct pf_parts *parts = &job->parts;
    if (is_here(job, layer))
        return true;
    int64_t begin_ns = baton_now_ns();
    pthread_mutex_lock(&parts->lock);
    while (may_wait(job, layer, begin_ns + PATIENCE_NS)) {
        /* Polls too, because a cancellation sets its flag before anything signals `moved`. */
        struct timespec until = to_timespec(baton_now_ns() + POLL_NS);
        (void)pthread_cond_timedwait(&parts->moved, &parts->lock, &until);
    }
    pthread_mutex_unlock(&parts->lock);
    parts->waited_ns += baton_now_ns() - begin_ns;
    parts->needs_all = !is_here(job, layer);
    return !parts->needs_all;
}

bool pf_parts_end(struct pf_job *job)
{
    struct pf_parts *parts = &job->parts;
    int end = n_prompt_blocks(job), n_filled = baton_kv_blocks_for(job->seq.n_tokens);
    parts->n_done = n_filled;
    if (job->seq.n_tokens == job->n_prompt)
        return false;
    int next = baton_kv_stripes_next(&parts->stripes, parts->part, n_filled, end);
    if (next == end)
        return false;
    parts->needs_all = parts->needs_all && next == n_filled;
    job->seq.n_tokens = next * BLOCK;
    return true;
}
