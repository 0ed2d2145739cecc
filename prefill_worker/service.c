#include "prefill_worker/service.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "prefill_worker/handoff.h"
#include "prefill_worker/schedule.h"

struct pf_service {
    struct baton_host *host;
    struct baton_kv *kv;
    struct pf_schedule *schedule;
    struct pf_handoff *handoff;
    struct pf_job_list jobs;
};

enum baton_err pf_service_create(const struct pf_service_options *options, struct pf_service **out,
                                 struct baton_why *why)
{
    struct baton_host *host = options->host;
    struct pf_service *service = calloc(1, sizeof *service);
    if (!service)
        return BATON_NO_MEMORY;
    service->host = host;
    pf_job_list_init(&service->jobs);
    int64_t kv_tokens = options->kv_tokens ? options->kv_tokens : 8 * host->facts.n_context_tokens;
    enum baton_err err =
        kv_tokens < host->facts.n_context_tokens
            ? baton_fail(why, BATON_INVALID,
                         "kv-tokens: must be at least the model's context, %lld",
                         (long long)host->facts.n_context_tokens)
            : baton_kv_create(host->model, host->options->kv_dtype,
                              baton_kv_blocks_for((int)kv_tokens), &service->kv, why);
    if (!err)
        err = pf_schedule_start(&(struct pf_schedule_options){.model = host->model,
                                                              .n_threads = host->n_threads,
                                                              .pin = *host->options->cores,
                                                              .wake = baton_host_wake,
                                                              .wake_arg = host},
                                &service->schedule, why);
    if (!err) {
        service->handoff = pf_handoff_create(&(struct pf_handoff_options){
            .epoch = host->epoch,
            .reply_url =
                host->options->advertise ? host->options->advertise : baton_inbox_url(host->inbox),
            .n_layers = baton_model_shape(host->model)->n_layers,
            .wake = baton_host_wake,
            .wake_arg = host});
        err = service->handoff ? BATON_OK : BATON_NO_MEMORY;
    }
    if (err)
        pf_service_destroy(service);
    else
        *out = service;
    return err;
}

static void free_job(struct pf_service *service, struct pf_job *job)
{
    pf_job_list_remove(&service->jobs, job);
    pf_handoff_release(job);
    baton_seq_fini(&job->seq);
    baton_plan_fini(&job->plan);
    baton_asker_fini(&job->asker);
    free(job->tokens);
    free(job);
}

void pf_service_destroy(struct pf_service *service)
{
    if (!service)
        return;
    for (struct pf_job *job = pf_job_list_first(&service->jobs); job;
         job = pf_job_list_next(&service->jobs, job))
        atomic_store(&job->canceled, true);
    pf_schedule_stop(service->schedule);
    for (struct pf_job *job; (job = pf_job_list_first(&service->jobs));)
        free_job(service, job);
    pf_handoff_destroy(service->handoff);
    baton_kv_destroy(service->kv);
    free(service);
}

const char *pf_service_kv_dtype(const struct pf_service *service)
{
    return baton_kv_dtype(service->kv);
}

static void set_handoff(struct pf_job *job, const Baton__V1__DeliverTo *deliver_to)
{
    if (!deliver_to)
        return;
    job->handoff.wanted = true;
    job->handoff.epoch = deliver_to->epoch;
    (void)strncpy(job->handoff.url, deliver_to->bulk_url, sizeof job->handoff.url - 1);
}

/* The positions a request needs here, checked against the model; 0 when they do not fit. */
static int positions_wanted(const struct pf_service *service,
                            const Baton__V1__PrefillRequest *request)
{
    size_t n = request->n_tokens, context = (size_t)service->host->facts.n_context_tokens;
    if (n < 1 || n > context)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (request->tokens[i] >= (uint64_t)service->host->facts.n_vocab)
            return 0;
    if (!request->naive)
        return (int)n;
    return request->max_new_tokens < 1 || request->max_new_tokens > context - n + 1
               ? 0
               : (int)(n + request->max_new_tokens);
}

static struct pf_job *new_job(const Baton__V1__PrefillRequest *request, int n_positions)
{
    struct pf_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->tokens = malloc((size_t)n_positions * sizeof *job->tokens);
    if (!job->tokens || baton_plan_init(&job->plan, request->sampling, request->tokens,
                                        request->n_tokens, request->max_new_tokens)) {
        free(job->tokens);
        free(job);
        return NULL;
    }
    memcpy(job->tokens, request->tokens, request->n_tokens * sizeof *job->tokens);
    job->received_ns = baton_now_ns();
    job->deadline_ns =
        request->deadline_ms ? job->received_ns + request->deadline_ms * BATON_MS : 0;
    job->n_prompt = job->n_tokens = (int)request->n_tokens;
    job->naive = request->naive;
    job->prompt_logprobs = request->prompt_logprobs;
    job->max_new_tokens = (int)request->max_new_tokens;
    atomic_store(&job->credit_end, request->credit_tokens);
    set_handoff(job, request->deliver_to);
    return job;
}

static void take_request(struct pf_service *service, struct baton_link *gateway,
                         const baton_envelope *envelope)
{
    struct baton_asker asker;
    int n_positions = positions_wanted(service, envelope->prefill_request);
    struct pf_job *job = n_positions ? new_job(envelope->prefill_request, n_positions) : NULL;
    baton_asker_init(&asker, gateway, envelope);
    if (job) {
        job->asker = asker; /* moved */
        pf_job_list_push_back(&service->jobs, job);
        return;
    }
    if (n_positions)
        baton_asker_fail(&asker, BATON__V1__FAILED__CODE__NO_MEMORY, "no memory for the request");
    else
        baton_asker_fail(&asker, BATON__V1__FAILED__CODE__INVALID,
                         "tokens: must be 1..context ids below the vocabulary size");
    baton_asker_fini(&asker);
}

static struct pf_job *find(const struct pf_service *service, const baton_envelope *envelope)
{
    struct pf_job *job = pf_job_list_first(&service->jobs);
    while (job && !baton_asker_is(&job->asker, envelope))
        job = pf_job_list_next(&service->jobs, job);
    return job;
}

static void from_gateway(void *arg, struct baton_link *gateway, const struct baton_message *message)
{
    struct pf_service *service = arg;
    const baton_envelope *envelope = message->envelope;
    struct pf_job *job = find(service, envelope);
    switch (envelope->body_case) {
    case BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST:
        if (!job)
            take_request(service, gateway, envelope);
        break;
    case BATON__V1__ENVELOPE__BODY_CANCEL:
        if (job) {
            atomic_store(&job->canceled, true);
            baton_log(BATON_LOG_INFO, "canceled", BATON_X("req", job->asker.request_id),
                      BATON_S("reason", envelope->cancel->reason));
        }
        break;
    case BATON__V1__ENVELOPE__BODY_TOKEN_ACK:
        if (job)
            atomic_store(&job->credit_end,
                         envelope->token_ack->next_index + envelope->token_ack->credit_tokens);
        break;
    default:
        baton_log(BATON_LOG_WARN, "unexpected_message",
                  BATON_S("message", baton_envelope_kind(envelope)));
        break;
    }
}

static void from_peer(void *arg, const struct baton_message *message)
{
    struct pf_service *service = arg;
    pf_handoff_ack(service->handoff, &service->jobs, message, baton_now_ns());
}

/* WAITING -> RUNNING, if the pool has room. */
static void try_start(struct pf_service *service, struct pf_job *job, bool *pool_full)
{
    struct baton_why why = {""};
    int n_positions = job->n_prompt + (job->naive ? job->max_new_tokens : 0);
    if (n_positions > service->host->facts.n_context_tokens)
        n_positions = (int)service->host->facts.n_context_tokens;
    if (!job->seq.kv && baton_seq_init(&job->seq, service->kv, n_positions)) {
        *pool_full = true; /* first come, first served: nobody overtakes */
        return;
    }
    if (job->handoff.wanted && !job->handoff.peer &&
        pf_handoff_prepare(service->handoff, job, &why)) {
        baton_asker_fail(&job->asker, BATON__V1__FAILED__CODE__CONTEXT_LOST, why.text);
        atomic_store(&job->canceled, true);
        return;
    }
    if (!pf_schedule_submit(service->schedule, job))
        job->state = PF_RUNNING;
}

/* One job, one look: what it needs next. Frees it when nothing is left to do. */
static void step_job(struct pf_service *service, struct pf_job *job, int64_t now_ns,
                     bool *pool_full)
{
    bool canceled = atomic_load(&job->canceled);
    if (job->deadline_ns && now_ns >= job->deadline_ns && !canceled) {
        baton_asker_fail(&job->asker, BATON__V1__FAILED__CODE__DEADLINE,
                         "the request's deadline passed");
        atomic_store(&job->canceled, true);
        canceled = true;
    }
    if (canceled && job->state != PF_RUNNING) {
        free_job(service, job);
        return;
    }
    if (job->state == PF_WAITING && !*pool_full)
        try_start(service, job, pool_full);
    if (job->state == PF_PAUSED &&
        (uint64_t)(job->n_tokens - job->n_prompt) < atomic_load(&job->credit_end) &&
        !pf_schedule_submit(service->schedule, job))
        job->state = PF_RUNNING;
    if (job->handoff.peer && (job->state == PF_RUNNING || job->state == PF_SHIPPING) &&
        pf_handoff_pump(service->handoff, job)) {
        pf_handoff_release(job);
        job->handoff.over = true;
    }
    if (job->state == PF_SHIPPING && (!job->handoff.wanted || job->handoff.over))
        free_job(service, job);
}

static void take_done(struct pf_service *service)
{
    for (struct pf_job *job; (job = pf_schedule_take_done(service->schedule));)
        job->state =
            job->naive && !job->finished && !atomic_load(&job->canceled) ? PF_PAUSED : PF_SHIPPING;
}

static int64_t work(void *arg, int64_t now_ns)
{
    struct pf_service *service = arg;
    bool pool_full = false;
    take_done(service);
    for (struct pf_job *job = pf_job_list_first(&service->jobs), *next; job; job = next) {
        next = pf_job_list_next(&service->jobs, job);
        step_job(service, job, now_ns, &pool_full);
    }
    pf_handoff_tidy(service->handoff);
    return now_ns + BATON_SECOND;
}

static void status(void *arg, Baton__V1__Status *out)
{
    struct pf_service *service = arg;
    struct pf_schedule_stats stats = pf_schedule_stats(service->schedule);
    out->n_running = stats.n_running;
    for (struct pf_job *job = pf_job_list_first(&service->jobs); job;
         job = pf_job_list_next(&service->jobs, job))
        if (job->state == PF_WAITING) {
            out->n_queued++;
            out->n_queued_tokens += (uint32_t)job->n_prompt;
        }
    out->n_queued += stats.n_queued;
    out->kv_blocks_total = (uint32_t)baton_kv_n_blocks(service->kv);
    out->kv_blocks_free = (uint32_t)baton_kv_n_free(service->kv);
    out->kv_blocks_reserved = out->kv_blocks_total - out->kv_blocks_free;
    out->last_step_s = stats.last_pass_s;
}

static void lost(void *arg, uint64_t gateway_epoch)
{
    struct pf_service *service = arg;
    for (struct pf_job *job = pf_job_list_first(&service->jobs); job;
         job = pf_job_list_next(&service->jobs, job))
        if (job->asker.gateway_epoch == gateway_epoch)
            atomic_store(&job->canceled, true);
    baton_host_wake(service->host);
}

static bool is_idle(void *arg)
{
    const struct pf_service *service = arg;
    return !service->jobs.n;
}

struct baton_host_hooks pf_service_hooks(struct pf_service *service)
{
    return (struct baton_host_hooks){.arg = service,
                                     .from_gateway = from_gateway,
                                     .from_peer = from_peer,
                                     .work = work,
                                     .status = status,
                                     .lost = lost,
                                     .is_idle = is_idle};
}
