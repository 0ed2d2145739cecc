/* The prefill worker that sends contexts, and others that claim them. */
#include "tests/unit/decode_worker/fixture_parts.h"

#include <stdio.h>

#include "worker/kv/receive.h"

enum { PREFILL = 4004, STRANGER = 5005 };

bool bulk_may_end;

static struct baton_link *to_bulk;

static void send_over(struct baton_link *link, const struct request_params *params,
                      baton_envelope *envelope, const void *payload, size_t n_bytes)
{
    envelope->request_id = params->id;
    envelope->attempt = 1;
    enum baton_err err;
    while ((err = baton_link_send(link, envelope, payload, n_bytes)) == BATON_AGAIN)
        work_once(); /* as a worker does: a link that is dialled anew may take a while to come up */
    assert_true(!err || (bulk_may_end && err == BATON_CLOSED));
}

/* Issued while the test says Reserve, and so known before the answer has crossed the socket. */
struct baton_ticket __real_baton_kv_receiver_ticket(const struct baton_kv_receiver *receiver,
                                                    const struct baton_origin *origin);
struct baton_ticket __wrap_baton_kv_receiver_ticket(const struct baton_kv_receiver *receiver,
                                                    const struct baton_origin *origin);

struct baton_ticket __wrap_baton_kv_receiver_ticket(const struct baton_kv_receiver *receiver,
                                                    const struct baton_origin *origin)
{
    struct heard *about = &heard[origin->request_id];
    about->ticket = __real_baton_kv_receiver_ticket(receiver, origin);
    about->has_ticket = true;
    return about->ticket;
}

void close_bulk(void)
{
    baton_link_release(to_bulk);
    to_bulk = NULL;
}

/* Dialled with the first word to it, because the worker gives no time to a silent pipe. A link
 * never recovers. */
static struct baton_link *bulk(void)
{
    if (to_bulk && bulk_may_end && baton_link_state(to_bulk) == BATON_OUTBOX_DOWN)
        close_bulk();
    if (!to_bulk)
        to_bulk = mailbox_dial(&prefill, baton_service_bulk_url(service), PREFILL, WORKER, 0);
    assert_non_null(to_bulk);
    return to_bulk;
}

struct shipment {
    struct baton_link *link;
    const struct request_params *params;
    struct baton_seq seq;
    uint32_t first_block, n_blocks, n_chunks;
    uint64_t n_bytes;
};

static const char *reply_url; /* of the next KvBegin; NULL: the prefill worker's inbox */

static void send_begin(const struct shipment *shipment, bool with_ticket)
{
    Baton__V1__KvBegin begin = BATON__V1__KV_BEGIN__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    begin.reply_url = baton_envelope_text(reply_url ? reply_url : baton_inbox_url(prefill.inbox));
    begin.n_layers = N_LAYERS;
    const struct request_params *params = shipment->params;
    int n_tokens = params->n_prompt + params->n_resumed - params->grew_by;
    uint32_t n_blocks =
        params->grows ? (uint32_t)baton_kv_blocks_for(n_tokens) : shipment->n_blocks;
    begin.n_tokens = (uint32_t)n_tokens;
    begin.grows = params->grows;
    begin.block_tokens = BATON_KV_BLOCK_TOKENS;
    begin.first_block = shipment->first_block;
    begin.total_bytes =
        (uint64_t)(n_blocks - shipment->first_block) * baton_kv_all_block_bytes(shipment->seq.kv);
    begin.kv_dtype = baton_envelope_text(baton_kv_dtype(shipment->seq.kv));
    const char *layout = params->kv_layout;
    begin.kv_layout = baton_envelope_text(layout ? layout : baton_kv_layout_name(shipment->seq.kv));
    struct baton_ticket none = {{0}};
    struct baton_ticket *ticket = with_ticket ? &heard[shipment->params->id].ticket : &none;
    begin.ticket = (ProtobufCBinaryData){sizeof ticket->bytes, ticket->bytes};
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_BEGIN;
    envelope.kv_begin = &begin;
    send_over(shipment->link, shipment->params, &envelope, NULL, 0);
}

static void send_block(struct shipment *shipment, uint32_t layer, uint32_t block)
{
    Baton__V1__KvChunk chunk = BATON__V1__KV_CHUNK__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    size_t n_bytes = baton_kv_block_bytes(shipment->seq.kv, (int)layer);
    chunk.offset = shipment->n_bytes;
    chunk.layer = layer;
    chunk.first_block = block;
    chunk.n_blocks = 1;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_CHUNK;
    envelope.kv_chunk = &chunk;
    send_over(shipment->link, shipment->params, &envelope,
              baton_seq_block(&shipment->seq, (int)layer, (int)block), n_bytes);
    shipment->n_bytes += n_bytes;
    shipment->n_chunks++;
}

static void send_end(const struct shipment *shipment)
{
    Baton__V1__KvEnd end = BATON__V1__KV_END__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    end.total_bytes = shipment->n_bytes;
    end.n_chunks = shipment->n_chunks;
    end.overlap_s = SAID_OVERLAP_S;
    const struct request_params *params = shipment->params;
    if (params->grows)
        end.n_tokens = (uint32_t)(params->n_prompt + params->n_resumed + params->kv_end_off);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_END;
    envelope.kv_end = &end;
    send_over(shipment->link, shipment->params, &envelope, NULL, 0);
}

static void send_segment(struct shipment *shipment, uint32_t block, uint32_t end)
{
    for (uint32_t layer = N_HELD; layer-- > 0;) /* any order of layers will do */
        for (uint32_t b = block; b < end; b++)
            send_block(shipment, layer, b);
}

void ship_nothing(const struct request_params *params)
{
    const struct shipment shipment = {.link = bulk(),
                                      .params = params,
                                      .seq.kv = service->kv,
                                      .n_blocks = (uint32_t)baton_kv_blocks_for(params->n_prompt)};
    send_begin(&shipment, true);
}

/* The context as a run of its own makes it; closed by close_run. */
static struct shipment compute(struct run *run, const struct request_params *params,
                               struct baton_link *link)
{
    uint32_t tokens[N_CONTEXT];
    int n_tokens = (int)fill_context(params, tokens);
    open_run(run, tokens, n_tokens);
    return (struct shipment){.link = link,
                             .params = params,
                             .seq = run->seq,
                             .n_blocks = (uint32_t)baton_kv_blocks_for(n_tokens)};
}

void ship(const struct request_params *params, uint32_t first_block, uint32_t segment, int rounds)
{
    struct run run;
    struct shipment shipment = compute(&run, params, bulk());
    shipment.first_block = first_block;
    send_begin(&shipment, true);
    for (; rounds > 1; rounds--)
        send_block(&shipment, N_HELD - 1, first_block);
    for (uint32_t block = first_block; block < shipment.n_blocks; block += segment) {
        uint32_t end = block + segment;
        send_segment(&shipment, block, end < shipment.n_blocks ? end : shipment.n_blocks);
    }
    send_end(&shipment);
    close_run(&run);
}

/* ---- others ---- */

static struct baton_link *claim(const struct request_params *params, bool with_ticket)
{
    struct run run;
    struct baton_link *link =
        mailbox_dial(&prefill, baton_service_bulk_url(service), STRANGER, WORKER, 0);
    assert_non_null(link);
    const struct shipment shipment = compute(&run, params, link);
    send_begin(&shipment, with_ticket);
    close_run(&run);
    return link;
}

static bool is_down(void *link)
{
    return baton_link_state(link) == BATON_OUTBOX_DOWN;
}

static void lose(struct baton_link *link)
{
    await_that(is_down, link);
    baton_link_release(link);
}

void claim_and_lose(const struct request_params *params, bool with_ticket)
{
    lose(claim(params, with_ticket));
}

void intrude_and_lose(const struct request_params *own, const struct request_params *others)
{
    struct run run;
    struct baton_link *link = claim(own, true);
    struct shipment shipment = compute(&run, others, link);
    send_block(&shipment, N_HELD - 1, 0);
    close_run(&run);
    lose(link);
}

void claim_from_nowhere(const struct request_params *params)
{
    struct mailbox nowhere;
    char url[64];
    assert_ok(mailbox_open(&nowhere, NULL, 4));
    (void)snprintf(url, sizeof url, "%s", baton_inbox_url(nowhere.inbox));
    mailbox_close(&nowhere); /* its port refuses from now on */
    reply_url = url;
    struct baton_link *link = claim(params, true);
    reply_url = NULL;
    await(&heard[params->id].n_failed, 1);
    baton_link_release(link);
}
