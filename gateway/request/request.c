#include "gateway/request/request.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/random.h"

enum { TEXT_MAX_BYTES = 64 << 20 };

static const char *const state_names[] = {
#define X(name) #name,
    GW_STATES(X)
#undef X
};

#define TO(state) (1u << GW_##state)

/* The picture in the header, as a table: from each state, where to. */
static const unsigned edges[GW_N_STATES] = {
    [GW_READING] = TO(TOKENIZING) | TO(FAILED) | TO(CANCELING),
    [GW_TOKENIZING] = TO(QUEUED) | TO(FAILED) | TO(CANCELING),
    [GW_QUEUED] = TO(RESERVING) | TO(PREFILLING) | TO(FAILED) | TO(CANCELING),
    [GW_RESERVING] = TO(PREFILLING) | TO(QUEUED) | TO(FAILED) | TO(CANCELING),
    [GW_PREFILLING] = TO(DECODING) | TO(DONE) | TO(QUEUED) | TO(FAILED) | TO(CANCELING),
    [GW_DECODING] = TO(DONE) | TO(QUEUED) | TO(FAILED) | TO(CANCELING),
};

const char *gw_state_name(enum gw_state state)
{
    return state_names[state];
}

const char *gw_finish_name(enum gw_finish finish)
{
    static const char *const names[] = {"", "length", "stop", "eos"};
    return names[finish];
}

void gw_requests_init(struct gw_requests *requests)
{
    for (int i = 0; i < GW_N_STATES; i++)
        gw_request_list_init(&requests->by_state[i]);
    for (int i = 0; i < GW_REQUEST_BUCKETS; i++)
        gw_request_bucket_init(&requests->buckets[i]);
    requests->next_id = baton_random_id();
}

static struct gw_request_bucket *bucket(const struct gw_requests *requests, uint64_t id)
{
    return (struct gw_request_bucket *)(uintptr_t)&requests->buckets[id % GW_REQUEST_BUCKETS];
}

struct gw_request *gw_request_create(struct gw_requests *requests,
                                     const struct gw_response_writer *writer,
                                     struct gw_choice *choice, int64_t arrived_ns)
{
    struct gw_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    if (!requests->next_id) /* 0 means "no request" on the wire */
        requests->next_id++;
    request->id = requests->next_id++;
    request->attempt = 1;
    request->writer = writer;
    request->choice = choice;
    request->times.arrived_ns = request->state_ns = request->queued_ns = arrived_ns;
    baton_buf_init(&request->text_out, TEXT_MAX_BYTES);
    gw_request_list_push_back(&requests->by_state[GW_READING], request);
    gw_request_bucket_push_back(bucket(requests, request->id), request);
    return request;
}

void gw_request_destroy(struct gw_requests *requests, struct gw_request *request)
{
    gw_request_list_remove(&requests->by_state[request->state], request);
    gw_request_bucket_remove(bucket(requests, request->id), request);
    baton_tokens_fini(&request->params.prompt);
    baton_sampling_params_fini(&request->params.sampling);
    free(request->hashes);
    baton_text_stream_fini(&request->text);
    baton_buf_fini(&request->text_out);
    free(request);
}

struct gw_request *gw_request_find(const struct gw_requests *requests, uint64_t id)
{
    const struct gw_request_bucket *list = bucket(requests, id);
    struct gw_request *request = gw_request_bucket_first(list);
    while (request && request->id != id)
        request = gw_request_bucket_next(list, request);
    return request;
}

/* Who comes back to the queue comes before whoever arrived later. */
static void queue_again(struct gw_request_list *queued, struct gw_request *request)
{
    struct gw_request *later = gw_request_list_first(queued);
    while (later && (int64_t)(later->id - request->id) < 0)
        later = gw_request_list_next(queued, later);
    gw_request_list_insert_before(queued, request, later);
}

void gw_request_set_state(struct gw_requests *requests, struct gw_request *request,
                          enum gw_state state, const char *reason)
{
    enum gw_state from = request->state;
    int64_t now_ns = baton_now_ns();
    if (!(edges[from] & 1u << state)) {
        baton_log(BATON_LOG_ERROR, "impossible_edge", BATON_X("req", request->id),
                  BATON_S("from", state_names[from]), BATON_S("to", state_names[state]));
        abort();
    }
    gw_request_list_remove(&requests->by_state[from], request);
    if (state == GW_QUEUED && from != GW_TOKENIZING)
        queue_again(&requests->by_state[state], request);
    else
        gw_request_list_push_back(&requests->by_state[state], request);
    request->state = state;
    baton_log(BATON_LOG_DEBUG, "state", BATON_X("req", request->id),
              BATON_I("attempt", request->attempt), BATON_S("from", state_names[from]),
              BATON_S("to", state_names[state]), BATON_S("reason", reason),
              BATON_F("after_s", baton_seconds(now_ns - request->state_ns)));
    request->state_ns = now_ns;
    if (state == GW_QUEUED && from != GW_RESERVING)
        request->queued_ns = now_ns;
}

double gw_request_ttft_s(const struct gw_request *request)
{
    return baton_seconds(request->times.first_ns - request->times.arrived_ns);
}

double gw_request_e2el_s(const struct gw_request *request)
{
    return baton_seconds(request->times.end_ns - request->times.arrived_ns);
}

static double per_gap(const struct gw_request *request, int64_t end_ns)
{
    if (request->n_output < 2)
        return NAN;
    return baton_seconds(end_ns - request->times.first_ns) / (double)(request->n_output - 1);
}

double gw_request_tpot_s(const struct gw_request *request)
{
    return per_gap(request, request->times.end_ns);
}

double gw_request_mean_itl_s(const struct gw_request *request)
{
    return per_gap(request, request->times.last_token_ns);
}

static void span_between(struct gw_stage_span *span, const struct gw_times *times, int64_t from_ns,
                         int64_t to_ns)
{
    span->start_s = baton_seconds(from_ns - times->arrived_ns);
    span->duration_s = baton_seconds(to_ns - from_ns);
}

/* Durations that workers measured are laid out between the gateway's own stamps: forward from the
 * moment the prompt was sent, backward from the first decode step. What is left of the time to the
 * first token after queue and compute is sampling and travel, and belongs to first_token. */
static void prefill_span(const struct gw_request *request, enum baton_stage stage,
                         struct gw_stage_span *span)
{
    const struct gw_times *times = &request->times;
    double sent_s = baton_seconds(times->prefill_sent_ns - times->arrived_ns);
    span->worker = request->prefill_id;
    if (stage == BATON_STAGE_prefill_queue) {
        span->start_s = sent_s;
        span->duration_s = times->prefill_queue_s;
    } else if (stage == BATON_STAGE_prefill_compute) {
        span->start_s = sent_s + times->prefill_queue_s;
        span->duration_s = times->prefill_compute_s;
    } else {
        span->start_s = sent_s + times->prefill_queue_s + times->prefill_compute_s;
        span->duration_s = gw_request_ttft_s(request) - span->start_s;
    }
}

static void decode_span(const struct gw_request *request, enum baton_stage stage,
                        struct gw_stage_span *span)
{
    const struct gw_times *times = &request->times;
    double began_s = baton_seconds(times->decode_began_ns - times->arrived_ns);
    bool naive = !request->params.kv_cache;
    span->worker = naive ? request->prefill_id : request->decode_id;
    span->start_s = began_s;
    span->duration_s = times->decode_s;
    if (stage == BATON_STAGE_decode)
        return;
    span->duration_s = times->decode_queue_s;
    span->start_s = began_s - times->decode_queue_s;
    if (stage == BATON_STAGE_kv_transfer) {
        span->start_s -= request->handoff.transfer_s;
        span->duration_s = request->handoff.transfer_s;
    }
}

bool gw_request_stage(const struct gw_request *request, enum baton_stage stage,
                      struct gw_stage_span *span)
{
    const struct gw_times *times = &request->times;
    bool moved = request->decode_began && request->params.kv_cache;
    span->worker = "gateway";
    switch (stage) {
    case BATON_STAGE_parse:
        span_between(span, times, times->arrived_ns, times->parsed_ns);
        return times->parsed_ns;
    case BATON_STAGE_tokenize:
        span_between(span, times, times->parsed_ns, times->tokenized_ns);
        return times->tokenized_ns;
    case BATON_STAGE_queue:
        span_between(span, times, times->tokenized_ns, times->prefill_sent_ns);
        return times->prefill_sent_ns;
    case BATON_STAGE_prefill_queue:
    case BATON_STAGE_prefill_compute:
    case BATON_STAGE_first_token:
        prefill_span(request, stage, span);
        return times->first_ns;
    case BATON_STAGE_kv_transfer:
    case BATON_STAGE_decode_queue:
        decode_span(request, stage, span);
        return moved;
    case BATON_STAGE_decode:
        decode_span(request, stage, span);
        return request->decode_began;
    case BATON_STAGE_detokenize:
        span_between(span, times, times->first_ns, times->first_ns + times->detokenize_ns);
        return times->first_ns;
    case BATON_STAGE_flush:
        span_between(span, times, times->first_ns, times->first_ns + times->flush_ns);
        return times->first_ns;
    case BATON_N_STAGES:
        break;
    }
    return false;
}
