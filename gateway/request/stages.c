#include "gateway/request/stages.h"

#include <math.h>

#include "common/base/clock.h"

static void set(struct gw_stage_span spans[BATON_N_STAGES], enum baton_stage stage,
                const char *worker, double duration_s)
{
    spans[stage] = (struct gw_stage_span){.worker = worker, .duration_s = fmax(duration_s, 0)};
}

/* Sets a stage from one time stamp to the next; without the next one, to the end of the request.
 * False: this was the last stage. */
static bool set_between(struct gw_stage_span spans[BATON_N_STAGES], enum baton_stage stage,
                        const char *worker, const struct gw_times *times, int64_t from_ns,
                        int64_t to_ns)
{
    set(spans, stage, worker, baton_seconds((to_ns ? to_ns : times->end_ns) - from_ns));
    return to_ns;
}

static void set_prefill(const struct gw_request *request,
                        struct gw_stage_span spans[BATON_N_STAGES])
{
    const struct gw_attempt *attempt = gw_request_first_attempt(request);
    const char *worker = attempt->prefill_id;
    double total_s = baton_seconds(request->output.first_ns - attempt->prefill_sent_ns);
    /* Clamped, because another host's clock measured the durations inside total_s. */
    double queue_s = fmin(attempt->prefill_queue_s, total_s);
    double compute_s = fmin(attempt->prefill_compute_s, total_s - queue_s);
    set(spans, BATON_STAGE_prefill_queue, worker, queue_s);
    set(spans, BATON_STAGE_prefill_compute, worker, compute_s);
    set(spans, BATON_STAGE_first_token, worker, total_s - queue_s - compute_s);
}

/* True when the request had a first token. */
static bool set_to_first_token(const struct gw_request *request,
                               struct gw_stage_span spans[BATON_N_STAGES])
{
    const struct gw_times *times = &request->times;
    const struct gw_attempt *attempt = gw_request_first_attempt(request);
    if (!set_between(spans, BATON_STAGE_parse, "gateway", times, times->arrived_ns,
                     times->parsed_ns) ||
        !set_between(spans, BATON_STAGE_tokenize, "gateway", times, times->parsed_ns,
                     times->tokenized_ns) ||
        !set_between(spans, BATON_STAGE_queue, "gateway", times, times->tokenized_ns,
                     attempt->prefill_sent_ns))
        return false;
    if (request->output.first_ns)
        set_prefill(request, spans);
    else
        set_between(spans, BATON_STAGE_prefill_queue, attempt->prefill_id, times,
                    attempt->prefill_sent_ns, 0);
    return request->output.first_ns;
}

/* Sets the stages of the gateway's own work on tokens, and returns their sum. */
static double set_handling(const struct gw_request *request,
                           struct gw_stage_span spans[BATON_N_STAGES])
{
    const struct gw_output *output = &request->output;
    int64_t format_ns = output->handled_ns - output->detokenize_ns - output->flush_ns;
    set(spans, BATON_STAGE_detokenize, "gateway", baton_seconds(output->detokenize_ns));
    set(spans, BATON_STAGE_format, "gateway", baton_seconds(format_ns));
    set(spans, BATON_STAGE_flush, "gateway", baton_seconds(output->flush_ns));
    return baton_seconds(output->handled_ns);
}

static const char *maker(const struct gw_request *request, const struct gw_attempt *attempt)
{
    return request->params.kv_cache ? attempt->decode_id : attempt->prefill_id;
}

/* The worker that generates the tokens after the first one. After a migration that found no worker,
 * the one that did so before; "" if no worker was to. */
static const char *decoder(const struct gw_request *request)
{
    const char *last = maker(request, &request->attempt);
    return *last ? last : maker(request, gw_request_first_attempt(request));
}

/* Divides left_s among the workers' stages after the first token; decode_wait is the rest. */
static void set_decoding(const struct gw_request *request, double left_s,
                         struct gw_stage_span spans[BATON_N_STAGES])
{
    const struct gw_decode_times times = gw_request_decode_times(request);
    const char *worker = decoder(request);
    double sum_s = times.kv_transfer_s + times.decode_queue_s + times.decode_s + times.sample_s +
                   request->migration.gap_s;
    /* Workers compute while the gateway handles tokens, so their times may exceed what is left:
     * scaled down, the stages still add up to the request's time. */
    double share = sum_s > left_s ? left_s / sum_s : 1;
    if (request->params.kv_cache) {
        set(spans, BATON_STAGE_kv_transfer, worker, share * times.kv_transfer_s);
        set(spans, BATON_STAGE_decode_queue, worker, share * times.decode_queue_s);
        set(spans, BATON_STAGE_sample, worker, share * times.sample_s);
    }
    set(spans, BATON_STAGE_decode, worker, share * times.decode_s);
    set(spans, BATON_STAGE_decode_wait, worker, left_s - share * sum_s);
    if (request->migration.n)
        set(spans, BATON_STAGE_migration, "gateway", share * request->migration.gap_s);
}

void gw_request_stages(const struct gw_request *request, struct gw_stage_span spans[BATON_N_STAGES])
{
    double start_s = 0;
    for (int i = 0; i < BATON_N_STAGES; i++)
        spans[i] = (struct gw_stage_span){0};
    if (set_to_first_token(request, spans)) {
        double after_s = baton_seconds(request->times.end_ns - request->output.first_ns);
        double left_s = fmax(after_s - set_handling(request, spans), 0);
        if (*decoder(request))
            set_decoding(request, left_s, spans);
    }
    for (int i = 0; i < BATON_N_STAGES; i++) {
        spans[i].start_s = start_s;
        start_s += spans[i].duration_s;
    }
}
