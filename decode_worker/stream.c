#include "decode_worker/stream.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "worker/prompt.h"

/* Explained tokens take kilobytes each. The bound keeps other messages from waiting long behind
 * one. */
enum { MESSAGE_MAX_BYTES = 1 << 20 };

/* One event as a message, with the memory it needs. */
struct slot {
    Baton__V1__StepEvent event;
    Baton__V1__Tokens tokens;
    Baton__V1__DecodeBegan began;
    Baton__V1__Finished finished;
    struct baton_tokens_arrays arrays;
};

struct dc_stream {
    struct slot *slots;            /* [max_events] */
    Baton__V1__StepEvent **listed; /* [max_events]: events of the current message */
    struct dc_event **carried;     /* [max_events]: the same events */
    bool *is_sent;                 /* [max_events]: by event of the step */
    double sample_s;               /* of the step */
};

struct dc_stream *dc_stream_create(int max_events)
{
    size_t n = (size_t)max_events;
    struct dc_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->slots = calloc(n, sizeof *stream->slots);
    stream->listed = calloc(n, sizeof(Baton__V1__StepEvent *));
    stream->carried = calloc(n, sizeof(struct dc_event *));
    stream->is_sent = calloc(n, sizeof *stream->is_sent);
    if (stream->slots && stream->listed && stream->carried && stream->is_sent)
        return stream;
    dc_stream_destroy(stream);
    return NULL;
}

void dc_stream_destroy(struct dc_stream *stream)
{
    if (!stream)
        return;
    free(stream->is_sent);
    free(stream->carried);
    free(stream->listed);
    free(stream->slots);
    free(stream);
}

/* The exposed part of the hand-off: the time that the first gap waited for the transfer, which
 * neither the prompt's computation nor the first token's trip to the gateway and back hid. */
static double exposed_s(const struct dc_context *context)
{
    int64_t late_ns = context->receive.complete_ns - context->started_ns;
    return context->receive.total_bytes && late_ns > 0 ? baton_seconds(late_ns) : 0;
}

static void fill_began(Baton__V1__DecodeBegan *began, const struct dc_context *context)
{
    const struct baton_kv_receive *receive = &context->receive;
    baton__v1__decode_began__init(began);
    began->kv_transfer_s = baton_seconds(receive->complete_ns - receive->began_ns);
    began->decode_queue_s = context->queue_s;
    began->kv_bytes = receive->total_bytes;
    began->kv_shared_bytes = receive->shared_bytes;
    began->kv_chunks = receive->n_chunks;
    began->kv_crc_s = receive->crc_s;
    began->kv_overlap_s = fmin(receive->overlap_s, began->kv_transfer_s);
    began->kv_exposed_s = exposed_s(context);
    began->cold = context->cold;
}

static void fill_finished(Baton__V1__Finished *finished, const struct dc_event *event,
                          double step_s)
{
    const struct dc_context *context = event->context;
    baton__v1__finished__init(finished);
    finished->reason = event->stopped ? BATON__V1__FINISHED__REASON__STOP_TOKEN
                                      : BATON__V1__FINISHED__REASON__LENGTH;
    finished->n_tokens = context->n_output + (uint64_t)event->sampled->n;
    finished->decode_s = context->decode_s + step_s;
    finished->n_steps = context->n_steps + 1;
}

static void fill_drafts(Baton__V1__StepEvent *event, const struct dc_speculation *speculation)
{
    event->drafts = (uint32_t *)(uintptr_t)(speculation->tokens + 1); /* packed, only read */
    event->n_drafts = speculation->max_tokens ? (size_t)speculation->n_drafts : 0;
}

static void fill(struct slot *slot, const struct dc_event *event, double step_s)
{
    const struct dc_context *context = event->context;
    baton__v1__step_event__init(&slot->event);
    baton__v1__tokens__init(&slot->tokens);
    slot->event.request_id = context->origin.request_id;
    slot->event.attempt = context->origin.attempt;
    slot->event.tokens = &slot->tokens;
    slot->tokens.first_index = context->n_output;
    slot->tokens.step_s = step_s;
    baton_sampled_messages_into(&slot->tokens, &slot->arrays, event->sampled->tokens,
                                event->sampled->n);
    fill_drafts(&slot->event, &context->speculation);
    if (!context->n_steps) {
        fill_began(&slot->began, context);
        slot->tokens.began = &slot->began;
    }
    if (event->last) {
        fill_finished(&slot->finished, event, step_s);
        slot->event.finished = &slot->finished;
    }
}

/* Collects the next message: the first unsent event and others for the same gateway, as many as
 * fit. Returns their number; 0: all are sent. */
static int collect(struct dc_stream *stream, struct dc_event *events, int n)
{
    const struct baton_link *gateway = NULL;
    size_t n_bytes = 0;
    int n_listed = 0;
    for (int i = 0; i < n && n_listed < BATON_MAX_STEP_EVENTS; i++) {
        if (stream->is_sent[i] || (gateway && events[i].context->origin.gateway != gateway))
            continue;
        n_bytes += baton__v1__step_event__get_packed_size(&stream->slots[i].event);
        if (n_listed && n_bytes > MESSAGE_MAX_BYTES)
            break;
        gateway = events[i].context->origin.gateway;
        stream->is_sent[i] = true;
        stream->carried[n_listed] = &events[i];
        stream->listed[n_listed++] = &stream->slots[i].event;
    }
    return n_listed;
}

/* Treats a lack of memory as a full queue: both may pass, and the token is generated again
 * later. */
static enum baton_err passing(enum baton_err err)
{
    return err == BATON_NO_MEMORY ? BATON_AGAIN : err;
}

static bool is_refused(enum baton_err err)
{
    return err == BATON_INVALID || err == BATON_LIMIT;
}

static void send_listed(const struct dc_stream *stream, int first, int n)
{
    Baton__V1__StepEvents message = BATON__V1__STEP_EVENTS__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    message.events = stream->listed + first;
    message.sample_s = stream->sample_s;
    message.n_events = (size_t)n;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_STEP_EVENTS;
    envelope.step_events = &message;
    enum baton_err err = passing(
        baton_link_send(stream->carried[first]->context->origin.gateway, &envelope, NULL, 0));
    for (int i = first; i < first + n; i++)
        stream->carried[i]->err = err;
}

/* Sends the collected events. If the message is invalid, sends each event alone, so that one of
 * them, with a logprob of NaN for example, does not fail the others. */
static void send_collected(const struct dc_stream *stream, int n)
{
    send_listed(stream, 0, n);
    if (n > 1 && is_refused(stream->carried[0]->err))
        for (int i = 0; i < n; i++)
            send_listed(stream, i, 1);
}

void dc_stream_send(struct dc_stream *stream, struct dc_event *events, int n,
                    const struct dc_step_times *times)
{
    stream->sample_s = times->sample_s;
    for (int i = 0; i < n; i++) {
        fill(&stream->slots[i], &events[i], times->compute_s);
        stream->is_sent[i] = false;
    }
    for (int n_listed; (n_listed = collect(stream, events, n));)
        send_collected(stream, n_listed);
}

enum baton_err dc_stream_send_first(const struct dc_context *context,
                                    struct baton_sampled_message *sampled)
{
    Baton__V1__FirstToken message;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    baton_first_token_fill(&message, &context->prompt.first, sampled);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FIRST_TOKEN;
    envelope.first_token = &message;
    return passing(baton_origin_send(&context->origin, &envelope));
}
