#include "gateway/request/stages.h"

#include <math.h>

#include "common/base/clock.h"

/* Sets the stage that is what others leave of a part of the request's time. */
static void set_rest(struct gw_stages *stages, enum baton_stage stage, const char *worker,
                     double rest_s)
{
    stages->spans[stage] =
        (struct gw_stage_span){.worker = worker, .duration_s = rest_s > 0 ? rest_s : 0};
    if (rest_s < 0)
        stages->overlap_s -= rest_s;
}

static void set(struct gw_stages *stages, enum baton_stage stage, const char *worker,
                double duration_s)
{
    stages->spans[stage] = (struct gw_stage_span){.worker = worker, .duration_s = duration_s};
}

/* Sets a stage from one time stamp to the next; without the next one, to the end of the request.
 * False: this was the last stage. */
static bool set_between(struct gw_stages *stages, enum baton_stage stage, const char *worker,
                        const struct gw_times *times, int64_t from_ns, int64_t to_ns)
{
    set(stages, stage, worker, baton_seconds((to_ns ? to_ns : times->end_ns) - from_ns));
    return to_ns;
}

static void set_prefill(const struct gw_request *request, struct gw_stages *stages)
{
    const struct gw_attempt *attempt = gw_request_first_attempt(request);
    const char *worker = attempt->prefill_id;
    double total_s = baton_seconds(request->output.first_ns - attempt->prefill_sent_ns);
    set(stages, BATON_STAGE_prefill_queue, worker, attempt->prefill_queue_s);
    set(stages, BATON_STAGE_prefill_compute, worker, attempt->prefill_compute_s);
    set_rest(stages, BATON_STAGE_first_token, worker,
             total_s - attempt->prefill_queue_s - attempt->prefill_compute_s);
}

/* True when the request had a first token. */
static bool set_to_first_token(const struct gw_request *request, struct gw_stages *stages)
{
    const struct gw_times *times = &request->times;
    const struct gw_attempt *attempt = gw_request_first_attempt(request);
    if (!set_between(stages, BATON_STAGE_parse, "gateway", times, times->arrived_ns,
                     times->parsed_ns) ||
        !set_between(stages, BATON_STAGE_tokenize, "gateway", times, times->parsed_ns,
                     times->tokenized_ns) ||
        !set_between(stages, BATON_STAGE_queue, "gateway", times, times->tokenized_ns,
                     attempt->prefill_sent_ns))
        return false;
    if (request->output.first_ns)
        set_prefill(request, stages);
    else
        set_between(stages, BATON_STAGE_prefill_queue, attempt->prefill_id, times,
                    attempt->prefill_sent_ns, 0);
    return request->output.first_ns;
}

/* Sets the stages of the gateway's own work on tokens. */
static void set_handling(const struct gw_output *output, struct gw_stages *stages)
{
    const struct gw_handling *handling = &output->handling;
    int64_t format_ns = handling->total_ns - output->detokenize_ns - output->flush_ns;
    set(stages, BATON_STAGE_detokenize, "gateway", baton_seconds(output->detokenize_ns));
    set(stages, BATON_STAGE_format, "gateway", baton_seconds(format_ns));
    set(stages, BATON_STAGE_flush, "gateway", baton_seconds(output->flush_ns));
    stages->overlap_s += baton_seconds(handling->overlap_ns);
    /* The two clocks are read one after the other, so a very short time may come out negative. */
    stages->preempted_s = fmax(baton_seconds(handling->total_ns - handling->cpu_ns), 0);
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

/* Sets the workers' stages after the first token; decode_wait is the rest of alone_s, in which the
 * gateway did not handle tokens or did so beside a worker. */
static void set_decoding(const struct gw_request *request, double alone_s, struct gw_stages *stages)
{
    const struct gw_decode_times times = gw_request_decode_times(request);
    const char *worker = decoder(request);
    if (request->params.kv_cache) {
        set(stages, BATON_STAGE_kv_transfer, worker, times.kv_transfer_s);
        set(stages, BATON_STAGE_decode_queue, worker, times.decode_queue_s);
        set(stages, BATON_STAGE_sample, worker, times.sample_s);
    }
    set(stages, BATON_STAGE_decode, worker, times.decode_s);
    if (request->migration.n)
        set(stages, BATON_STAGE_migration, "gateway", request->migration.gap_s);
    for (int i = BATON_STAGE_kv_transfer; i <= BATON_STAGE_migration; i++)
        alone_s -= stages->spans[i].duration_s;
    set_rest(stages, BATON_STAGE_decode_wait, worker, alone_s);
}

/* Lays out the stages of a line, from_s on. Returns its end. */
static double lay_out(struct gw_stages *stages, enum baton_stage first, enum baton_stage last,
                      double from_s)
{
    for (enum baton_stage i = first; i <= last; i++) {
        stages->spans[i].start_s = from_s;
        from_s += stages->spans[i].duration_s;
    }
    return from_s;
}

struct gw_stages gw_request_stages(const struct gw_request *request)
{
    struct gw_stages stages = {0};
    if (set_to_first_token(request, &stages)) {
        double after_s = baton_seconds(request->times.end_ns - request->output.first_ns);
        const struct gw_handling *handling = &request->output.handling;
        set_handling(&request->output, &stages);
        if (*decoder(request))
            set_decoding(request,
                         after_s - baton_seconds(handling->total_ns - handling->overlap_ns),
                         &stages);
    }
    double first_s = lay_out(&stages, BATON_STAGE_parse, BATON_STAGE_first_token, 0);
    lay_out(&stages, BATON_STAGE_kv_transfer, BATON_STAGE_migration, first_s);
    lay_out(&stages, BATON_STAGE_detokenize, BATON_STAGE_flush, first_s);
    return stages;
}
