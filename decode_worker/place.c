#include "decode_worker/place.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/handoff.h"

enum { BULK_MAX_QUEUED = 64 };

/* A prefill worker that sends to us, known by the link it chose. */
struct source {
    struct baton_node in_sources;
    struct baton_link *link;
};

BATON_LIST(source_list, struct source, in_sources)

struct dc_place {
    struct dc_place_options options;
    struct baton_inbox *inbox;
    struct source_list sources;
};

enum baton_err dc_place_create(const struct dc_place_options *options, struct dc_place **out,
                               struct baton_why *why)
{
    struct dc_place *place = calloc(1, sizeof *place);
    if (!place)
        return BATON_NO_MEMORY;
    place->options = *options;
    source_list_init(&place->sources);
    enum baton_err err =
        baton_inbox_open(&(struct baton_inbox_options){.url = options->bulk_url,
                                                       .max_queued = BULK_MAX_QUEUED,
                                                       .wake = options->wake,
                                                       .wake_arg = options->wake_arg},
                         &place->inbox, why);
    if (err)
        free(place);
    else
        *out = place;
    return err;
}

static void drop_source(struct dc_place *place, struct source *source)
{
    source_list_remove(&place->sources, source);
    baton_link_close(source->link);
    baton_link_release(source->link);
    free(source);
}

void dc_place_destroy(struct dc_place *place)
{
    if (!place)
        return;
    for (struct source *source; (source = source_list_first(&place->sources));)
        drop_source(place, source);
    baton_inbox_close(place->inbox);
    free(place);
}

const char *dc_place_url(const struct dc_place *place)
{
    return baton_inbox_url(place->inbox);
}

static void fail(struct dc_context *context, const char *message)
{
    baton_origin_fail(&context->origin, BATON__V1__FAILED__CODE__CONTEXT_LOST, message);
    atomic_store(&context->canceled, true);
}

/* Every transfer still under way from that source is lost with it. */
static void fail_source(const struct dc_place *place, uint64_t link, const char *message)
{
    const struct dc_context_list *list = &place->options.contexts->list;
    for (struct dc_context *context = dc_context_list_first(list); context;
         context = dc_context_list_next(list, context))
        if (context->state == DC_RECEIVING && context->source_link == link)
            fail(context, message);
}

static struct source *find_source(const struct dc_place *place, uint64_t link)
{
    struct source *source = source_list_first(&place->sources);
    while (source && baton_link_id(source->link) != link)
        source = source_list_next(&place->sources, source);
    return source;
}

/* A first message on an unknown link: opens our half of it. */
static struct source *greet(struct dc_place *place, const struct baton_message *message)
{
    const baton_envelope *envelope = message->envelope;
    char url[BATON_MAX_TEXT_BYTES + 1];
    struct baton_why why = {""};
    if (envelope->body_case != BATON__V1__ENVELOPE__BODY_KV_BEGIN || envelope->link_seq != 1)
        return NULL;
    struct source *source = calloc(1, sizeof *source);
    if (!source)
        return NULL;
    struct baton_link_options link = {.url = url,
                                      .local_epoch = place->options.epoch,
                                      .peer_epoch = envelope->src_epoch,
                                      .id = envelope->link,
                                      .wake = place->options.wake,
                                      .wake_arg = place->options.wake_arg};
    enum baton_err err = baton_link_resolve_url(envelope->kv_begin->reply_url, message->peer_host,
                                                url, sizeof url, &why);
    if (!err)
        err = baton_link_open(&link, &source->link, &why);
    if (err) {
        baton_log(BATON_LOG_WARN, "bulk_peer_refused", BATON_S("peer", message->peer_host),
                  BATON_S("reason", why.text));
        free(source);
        return NULL;
    }
    source_list_push_back(&place->sources, source);
    return source;
}

static void send_ack(const struct source *source, struct dc_context *context, bool complete)
{
    Baton__V1__KvAck ack = BATON__V1__KV_ACK__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    ack.offset = context->placed_bytes;
    ack.credit_bytes = BATON_HANDOFF_CREDIT_BYTES;
    ack.complete = complete;
    envelope.request_id = context->origin.request_id;
    envelope.attempt = context->origin.attempt;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_ACK;
    envelope.kv_ack = &ack;
    if (!baton_link_send(source->link, &envelope, NULL, 0))
        context->acked_bytes = context->placed_bytes;
}

/* What the prompt's blocks that are not here yet come to. */
static uint64_t bytes_to_come(const struct dc_place *place, const struct dc_context *context)
{
    int n_blocks = baton_kv_blocks_for(context->n_prompt) - context->seq.n_shared;
    return (uint64_t)place->options.n_layers * (uint64_t)n_blocks *
           baton_kv_block_bytes(context->seq.kv);
}

static bool is_as_reserved(const struct dc_place *place, const struct dc_context *context,
                           const Baton__V1__KvBegin *kv)
{
    return context->state == DC_RESERVED && kv->n_layers == (uint32_t)place->options.n_layers &&
           kv->n_tokens == (uint32_t)context->n_prompt &&
           kv->block_tokens == BATON_KV_BLOCK_TOKENS &&
           kv->first_block == (uint32_t)context->seq.n_shared &&
           !strcmp(kv->kv_dtype, baton_kv_dtype(context->seq.kv)) &&
           kv->total_bytes == bytes_to_come(place, context);
}

static void begin(const struct dc_place *place, struct dc_context *context,
                  const baton_envelope *envelope, int64_t now_ns)
{
    const Baton__V1__KvBegin *kv = envelope->kv_begin;
    if (!is_as_reserved(place, context, kv)) {
        fail(context, "the context that arrived has another shape than the one reserved for");
        return;
    }
    if (dc_arrival_init(&context->arrival, kv->n_layers, kv->first_block,
                        (uint32_t)baton_kv_blocks_for(context->n_prompt))) {
        fail(context, "no memory to place the context");
        return;
    }
    context->state = DC_RECEIVING;
    context->source_link = envelope->link;
    context->total_bytes = kv->total_bytes;
    context->kv_began_ns = now_ns;
}

static void place_chunk(const struct source *source, struct dc_context *context,
                        const struct baton_message *message)
{
    const Baton__V1__KvChunk *chunk = message->envelope->kv_chunk;
    size_t block_bytes = baton_kv_block_bytes(context->seq.kv);
    if (context->state != DC_RECEIVING || chunk->offset != context->placed_bytes ||
        message->payload_bytes != chunk->n_blocks * block_bytes ||
        !dc_arrival_take(&context->arrival, chunk->layer, chunk->first_block, chunk->n_blocks)) {
        fail(context, "a piece of the context is missing, or does not fit");
        return;
    }
    for (uint32_t i = 0; i < chunk->n_blocks; i++)
        memcpy(baton_seq_block(&context->seq, (int)chunk->layer, (int)(chunk->first_block + i)),
               message->payload + i * block_bytes, block_bytes);
    context->placed_bytes += message->payload_bytes;
    context->kv_crc_s += message->crc_s;
    context->n_chunks++;
    if (context->placed_bytes - context->acked_bytes >= BATON_HANDOFF_ACK_EVERY_BYTES)
        send_ack(source, context, false);
}

/* Each block came at most once, so the right number of bytes is every one of them. */
static void end(const struct source *source, struct dc_context *context, const Baton__V1__KvEnd *kv)
{
    if (context->state != DC_RECEIVING || kv->total_bytes != context->total_bytes ||
        context->placed_bytes != context->total_bytes || kv->n_chunks != context->n_chunks) {
        fail(context, "the context ended before all of it had arrived");
        return;
    }
    context->seq.n_tokens = context->n_prompt;
    context->kv_overlap_s = kv->overlap_s;
    dc_context_finish_prompt(context);
    send_ack(source, context, true);
    baton_origin_log_stage(&context->origin, BATON_STAGE_kv_transfer,
                           baton_seconds(context->kv_complete_ns - context->kv_began_ns));
}

static void handle(const struct dc_place *place, const struct source *source,
                   const struct baton_message *message, int64_t now_ns)
{
    const baton_envelope *envelope = message->envelope;
    struct dc_context *context = dc_contexts_find_request(place->options.contexts, envelope);
    if (!context || dc_context_is_lent(context) ||
        (context->source_link && context->source_link != envelope->link))
        return; /* canceled meanwhile */
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_BEGIN)
        begin(place, context, envelope, now_ns);
    else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_CHUNK)
        place_chunk(source, context, message);
    else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_END)
        end(source, context, envelope->kv_end);
}

static void receive(struct dc_place *place, const struct baton_message *message, int64_t now_ns)
{
    struct source *source = find_source(place, message->envelope->link);
    if (!source)
        source = greet(place, message);
    if (!source) {
        baton_inbox_reject(place->inbox, message);
        return;
    }
    switch (baton_link_accept(source->link, message->envelope, now_ns)) {
    case BATON_LINK_FRESH:
        handle(place, source, message, now_ns);
        break;
    case BATON_LINK_STALE:
        break;
    case BATON_LINK_GAP:
        fail_source(place, message->envelope->link, "the hand-off lost a message");
        baton_inbox_reject(place->inbox, message);
        drop_source(place, source);
        break;
    }
}

void dc_place_work(struct dc_place *place, int64_t now_ns)
{
    struct baton_message message;
    while (baton_inbox_take(place->inbox, &message)) {
        receive(place, &message, now_ns);
        baton_message_fini(&message);
    }
    for (struct source *source = source_list_first(&place->sources), *next; source; source = next) {
        next = source_list_next(&place->sources, source);
        if (baton_link_state(source->link) != BATON_OUTBOX_DOWN)
            continue;
        fail_source(place, baton_link_id(source->link),
                    "the prefill worker went away during the hand-off");
        drop_source(place, source);
    }
}
