#include "prefill_worker/handoff.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/handoff.h"

struct pf_peer {
    struct baton_node in_peers;
    struct baton_link *link;
    uint64_t epoch;
    int n_jobs;
};

BATON_LIST(peer_list, struct pf_peer, in_peers)

struct pf_handoff {
    struct pf_handoff_options options;
    struct peer_list peers;
};

struct pf_handoff *pf_handoff_create(const struct pf_handoff_options *options)
{
    struct pf_handoff *handoff = calloc(1, sizeof *handoff);
    if (handoff) {
        handoff->options = *options;
        peer_list_init(&handoff->peers);
    }
    return handoff;
}

static void drop_peer(struct pf_handoff *handoff, struct pf_peer *peer)
{
    peer_list_remove(&handoff->peers, peer);
    baton_link_close(peer->link);
    baton_link_release(peer->link);
    free(peer);
}

void pf_handoff_destroy(struct pf_handoff *handoff)
{
    if (!handoff)
        return;
    for (struct pf_peer *peer; (peer = peer_list_first(&handoff->peers));)
        drop_peer(handoff, peer);
    free(handoff);
}

static bool is_down(const struct pf_peer *peer)
{
    return baton_link_state(peer->link) == BATON_OUTBOX_DOWN;
}

void pf_handoff_tidy(struct pf_handoff *handoff)
{
    for (struct pf_peer *peer = peer_list_first(&handoff->peers), *next; peer; peer = next) {
        next = peer_list_next(&handoff->peers, peer);
        if (!peer->n_jobs && is_down(peer))
            drop_peer(handoff, peer);
    }
}

static enum baton_err add_peer(struct pf_handoff *handoff, const struct pf_job *job,
                               struct pf_peer **out, struct baton_why *why)
{
    struct pf_peer *peer = calloc(1, sizeof *peer);
    if (!peer)
        return BATON_NO_MEMORY;
    struct baton_link_options link = {.url = job->handoff.url,
                                      .local_epoch = handoff->options.epoch,
                                      .peer_epoch = job->handoff.epoch,
                                      .wake = handoff->options.wake,
                                      .wake_arg = handoff->options.wake_arg};
    enum baton_err err = baton_link_open(&link, &peer->link, why);
    if (err) {
        free(peer);
        return err;
    }
    peer->epoch = job->handoff.epoch;
    peer_list_push_back(&handoff->peers, peer);
    *out = peer;
    return BATON_OK;
}

enum baton_err pf_handoff_prepare(struct pf_handoff *handoff, struct pf_job *job,
                                  struct baton_why *why)
{
    struct pf_peer *peer = peer_list_first(&handoff->peers);
    while (peer && (peer->epoch != job->handoff.epoch || is_down(peer)))
        peer = peer_list_next(&handoff->peers, peer);
    if (!peer) {
        enum baton_err err = add_peer(handoff, job, &peer, why);
        if (err)
            return err;
    }
    peer->n_jobs++;
    job->handoff.peer = peer;
    job->handoff.overlaps =
        baton_overlap_applies(handoff->options.overlap, job->n_prompt - job->n_cached_tokens);
    baton_kv_order_init(&job->handoff.order, handoff->options.n_layers, job->handoff.first_block,
                        baton_kv_blocks_for(job->n_prompt));
    job->handoff.credit_bytes = BATON_HANDOFF_FIRST_CREDIT_BYTES;
    return BATON_OK;
}

void pf_handoff_release(struct pf_job *job)
{
    if (job->handoff.peer)
        job->handoff.peer->n_jobs--;
    job->handoff.peer = NULL;
}

static enum baton_err send(const struct pf_job *job, baton_envelope *envelope, const void *payload,
                           size_t n)
{
    envelope->request_id = job->origin.request_id;
    envelope->attempt = job->origin.attempt;
    return baton_link_send(job->handoff.peer->link, envelope, payload, n);
}

static enum baton_err send_begin(const struct pf_handoff *handoff, struct pf_job *job)
{
    Baton__V1__KvBegin begin = BATON__V1__KV_BEGIN__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    int n_blocks = baton_kv_blocks_for(job->n_prompt) - job->handoff.first_block;
    begin.reply_url = baton_envelope_text(handoff->options.reply_url);
    begin.n_layers = (uint32_t)handoff->options.n_layers;
    begin.n_tokens = (uint32_t)job->n_prompt;
    begin.block_tokens = BATON_KV_BLOCK_TOKENS;
    begin.total_bytes = (uint64_t)handoff->options.n_layers * (uint64_t)n_blocks *
                        baton_kv_block_bytes(job->seq.kv);
    begin.first_block = (uint32_t)job->handoff.first_block;
    begin.kv_dtype = baton_envelope_text(baton_kv_dtype(job->seq.kv));
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_BEGIN;
    envelope.kv_begin = &begin;
    enum baton_err err = send(job, &envelope, NULL, 0);
    if (!err) {
        job->handoff.began = true;
        job->handoff.began_ns = baton_now_ns();
    }
    return err;
}

/* The extent's first blocks that lie side by side in the pool, and so are one payload. */
static int contiguous_blocks(const struct pf_job *job, const struct baton_kv_extent *extent,
                             int max_blocks)
{
    const int *blocks = job->seq.blocks + extent->block;
    int n = 1;
    while (n < extent->n_blocks && n < max_blocks && blocks[n] == blocks[0] + n)
        n++;
    return n;
}

static enum baton_err send_chunk(struct pf_job *job, const struct baton_kv_extent *extent)
{
    size_t block_bytes = baton_kv_block_bytes(job->seq.kv);
    int n = contiguous_blocks(job, extent, (int)(BATON_HANDOFF_CHUNK_BYTES / block_bytes));
    Baton__V1__KvChunk chunk = BATON__V1__KV_CHUNK__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    chunk.offset = job->handoff.sent_bytes;
    chunk.layer = (uint32_t)extent->layer;
    chunk.first_block = (uint32_t)extent->block;
    chunk.n_blocks = (uint32_t)n;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_CHUNK;
    envelope.kv_chunk = &chunk;
    enum baton_err err =
        send(job, &envelope, baton_seq_block(&job->seq, extent->layer, extent->block),
             (size_t)n * block_bytes);
    if (err)
        return err;
    job->handoff.sent_bytes += (uint64_t)n * block_bytes;
    job->handoff.n_chunks++;
    baton_kv_order_sent(&job->handoff.order, n);
    return BATON_OK;
}

/* How long the transfer has run beside the computing of its prompt. */
static double overlap_s(struct pf_job *job)
{
    int64_t chosen_ns = atomic_load(&job->chosen_ns);
    double seconds =
        baton_seconds((chosen_ns ? chosen_ns : baton_now_ns()) - job->handoff.began_ns);
    return seconds > 0 ? seconds : 0;
}

static enum baton_err send_end(struct pf_job *job)
{
    Baton__V1__KvEnd end = BATON__V1__KV_END__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    end.total_bytes = job->handoff.sent_bytes;
    end.n_chunks = job->handoff.n_chunks;
    end.overlap_s = overlap_s(job);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_END;
    envelope.kv_end = &end;
    enum baton_err err = send(job, &envelope, NULL, 0);
    if (!err)
        job->handoff.ended = true;
    return err;
}

static bool has_credit(const struct pf_job *job)
{
    return job->handoff.sent_bytes < job->handoff.acked_bytes + job->handoff.credit_bytes;
}

/* Sends until order, credit or the link's queue run out. */
static enum baton_err send_ready(const struct pf_handoff *handoff, struct pf_job *job)
{
    struct baton_kv_order *order = &job->handoff.order;
    struct baton_kv_progress progress = baton_kv_progress_read(&job->progress);
    struct baton_kv_extent extent;
    enum baton_err err = BATON_OK;
    if (!job->handoff.overlaps &&
        baton_kv_progress_complete(progress, handoff->options.n_layers) < order->n_blocks)
        return BATON_OK;
    while (!err && has_credit(job) && baton_kv_order_next(order, progress, &extent)) {
        if (!job->handoff.began)
            err = send_begin(handoff, job);
        if (!err)
            err = send_chunk(job, &extent);
    }
    if (!err && baton_kv_order_is_over(order) && !job->handoff.ended)
        err = send_end(job);
    return err == BATON_AGAIN ? BATON_OK : err;
}

bool pf_handoff_pump(struct pf_handoff *handoff, struct pf_job *job)
{
    if (job->handoff.complete || atomic_load(&job->canceled))
        return true;
    enum baton_err err = is_down(job->handoff.peer) ? BATON_CLOSED : send_ready(handoff, job);
    if (err)
        baton_origin_fail(&job->origin, BATON__V1__FAILED__CODE__CONTEXT_LOST,
                          "the link to the decode worker went down during the hand-off");
    return err != BATON_OK;
}

static struct pf_job *find(const struct pf_job_list *jobs, const baton_envelope *envelope)
{
    struct pf_job *job = pf_job_list_first(jobs);
    while (job && !baton_origin_is_request(&job->origin, envelope))
        job = pf_job_list_next(jobs, job);
    return job;
}

static void log_complete(const struct pf_job *job, int64_t now_ns)
{
    double seconds = baton_seconds(now_ns - job->handoff.began_ns);
    baton_log(BATON_LOG_INFO, "handoff", BATON_X("req", job->origin.request_id),
              BATON_I("attempt", job->origin.attempt), BATON_I("bytes", job->handoff.sent_bytes),
              BATON_I("chunks", job->handoff.n_chunks), BATON_F("duration_s", seconds));
}

void pf_handoff_ack(struct pf_handoff *handoff, const struct pf_job_list *jobs,
                    const struct baton_message *message, int64_t now_ns)
{
    const baton_envelope *envelope = message->envelope;
    struct pf_peer *peer = peer_list_first(&handoff->peers);
    while (peer && baton_link_id(peer->link) != envelope->link)
        peer = peer_list_next(&handoff->peers, peer);
    if (!peer)
        return;
    enum baton_link_verdict verdict = baton_link_accept(peer->link, envelope, now_ns);
    if (verdict == BATON_LINK_GAP)
        baton_link_close(peer->link); /* its jobs find it down at the next pump */
    struct pf_job *job = verdict == BATON_LINK_FRESH ? find(jobs, envelope) : NULL;
    if (!job || job->handoff.peer != peer || envelope->kv_ack->offset > job->handoff.sent_bytes)
        return;
    job->handoff.acked_bytes = envelope->kv_ack->offset;
    job->handoff.credit_bytes = envelope->kv_ack->credit_bytes;
    if (envelope->kv_ack->complete && !job->handoff.complete) {
        job->handoff.complete = true;
        log_complete(job, now_ns);
    }
}
