#include "tests/support/test.h"

#include "tests/unit/prefill_worker/fixture_shared.h"

#include <stdio.h>
#include <string.h>

/* The peer's part of one prompt. */
struct peer_part {
    bool is_open;
    int part, to; /* its own, and the worker's */
    struct baton_kv_stripes stripes;
    struct baton_kv_send send;
    struct baton_kv_target target;
    baton_kv_progress_word progress;
    atomic_int_least64_t computed_ns;
};

static struct peer_part peer_parts[MAX_REQUESTS];
static struct baton_kv_sender *part_sender;

void say_parts_start(const struct request_params *params,
                     void (*change)(Baton__V1__PartsStart *start))
{
    Baton__V1__PartsStart start = BATON__V1__PARTS_START__INIT;
    Baton__V1__DeliverTo to[2] = {BATON__V1__DELIVER_TO__INIT, BATON__V1__DELIVER_TO__INIT};
    Baton__V1__DeliverTo *parts[] = {&to[0], &to[1]};
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    const struct baton_origin origin = {.request_id = params->id, .attempt = attempt_of(params)};
    struct baton_ticket ticket = baton_kv_receiver_ticket(receiver, &origin);
    to[0].bulk_url = (char *)baton_kv_receiver_url(receiver);
    to[0].epoch = decode_epoch;
    to[0].ticket = (ProtobufCBinaryData){sizeof ticket.bytes, ticket.bytes};
    to[1].bulk_url = (char *)baton_service_bulk_url(service);
    to[1].epoch = WORKER;
    to[1].ticket = (ProtobufCBinaryData){sizeof ticket.bytes, heard[params->id].ticket.bytes};
    start.n_parts = 2;
    start.parts = parts;
    start.part = 1;
    start.stripe_blocks = STRIPE_BLOCKS;
    if (change)
        change(&start);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_PARTS_START;
    envelope.parts_start = &start;
    deliver(params->id, attempt_of(params), &envelope);
}

/* ---- what it sends ---- */

static void open_sender(void)
{
    part_sender = baton_kv_sender_create(
        &(struct baton_kv_sender_options){.epoch = decode_epoch,
                                          .reply_url = baton_inbox_url(gateway.inbox),
                                          .path = BATON_KV_PATH_WIRE,
                                          .wake = baton_host_wake,
                                          .wake_arg = &host});
    assert_non_null(part_sender);
}

/* Blocks that another prompt had would not be zeros. */
static void clear(const struct baton_seq *seq)
{
    int n_held;
    const int *held = baton_kv_held_layers(decode_kv, &n_held);
    for (int i = 0; i < n_held; i++)
        for (int block = 0; block < seq->n_blocks; block++)
            memset(baton_seq_block(seq, held[i], block), 0,
                   baton_kv_block_bytes(decode_kv, held[i]));
}

/* The first block of the part's last stripe, which needs all blocks before it. */
static int last_of(const struct request_params *params, int part)
{
    const struct peer_part *peer = &peer_parts[params->id];
    return baton_kv_stripes_last(&peer->stripes, part, baton_kv_blocks_for(params->n_prompt));
}

void open_part(const struct request_params *params, int part, int to, int n_blocks)
{
    struct peer_part *peer = &peer_parts[params->id];
    *peer = (struct peer_part){.is_open = true,
                               .part = part,
                               .to = to,
                               .stripes = {.n_blocks = n_blocks, .n_parts = 2},
                               .target = {.epoch = WORKER, .ticket = heard[params->id].ticket}};
    (void)snprintf(peer->target.url, sizeof peer->target.url, "%s",
                   baton_service_bulk_url(service));
    open_context(params);
    clear(&seqs[params->id]);
    if (!part_sender)
        open_sender();
    const struct baton_kv_source source = {.origin = &origins[params->id],
                                           .seq = &seqs[params->id],
                                           .progress = &peer->progress,
                                           .computed_ns = &peer->computed_ns,
                                           .n_tokens = last_of(params, to) * BATON_KV_BLOCK_TOKENS,
                                           .stripes = &peer->stripes,
                                           .part = part,
                                           .target = &peer->target};
    assert_ok(baton_kv_send_open(part_sender, &peer->send, &source));
}

void part_computed(const struct request_params *params, struct baton_kv_progress progress)
{
    baton_kv_progress_publish(&peer_parts[params->id].progress, progress);
}

void part_computed_all(const struct request_params *params)
{
    int n_all = baton_kv_blocks_for(params->n_prompt);
    part_computed(params, (struct baton_kv_progress){.n_done = n_all, .n_end = n_all});
}

void pump_parts(void)
{
    for (int i = 0; i < MAX_REQUESTS; i++)
        if (peer_parts[i].is_open)
            (void)baton_kv_send_pump(part_sender, &peer_parts[i].send);
}

void close_parts(void)
{
    for (int i = 0; i < MAX_REQUESTS; i++) {
        if (!peer_parts[i].is_open)
            continue;
        baton_kv_send_close(&peer_parts[i].send);
        drop_context((uint64_t)i);
        peer_parts[i].is_open = false;
    }
    if (part_sender)
        baton_kv_sender_destroy(part_sender);
    part_sender = NULL;
}

static bool is_answered(void *arg)
{
    const struct heard *about = arg;
    return about->n_first || about->n_failed;
}

void send_part(const struct request_params *params, int part, int n_blocks)
{
    open_part(params, part, 1, n_blocks);
    part_computed_all(params);
    await_that(is_answered, &heard[params->id]);
    close_parts();
}

/* ---- what it gets ---- */

void expect_part(const struct request_params *params)
{
    const struct peer_part *peer = &peer_parts[params->id];
    baton_kv_receive_expect_part(&receives[params->id], &origins[params->id], &seqs[params->id], 0,
                                 last_of(params, peer->part), &peer->stripes, peer->to);
}

struct awaited_blocks {
    uint64_t id;
    int layer, end;
};

static bool are_here(void *arg)
{
    const struct awaited_blocks *awaited = arg;
    return baton_kv_receive_next_block(&receives[awaited->id], awaited->layer) >= awaited->end;
}

void await_blocks(const struct request_params *params, int layer, int end)
{
    await_that(are_here, &(struct awaited_blocks){params->id, layer, end});
}
