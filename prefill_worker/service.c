#include "prefill_worker/service.h"

#include <stddef.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "prefill_worker/intake.h"
#include "prefill_worker/job_steps.h"

static enum baton_err create_kv(struct pf_service *service,
                                const struct pf_service_options *options, struct baton_why *why)
{
    struct baton_host *host = service->host;
    enum baton_err err = baton_kv_budget_create(&options->kv, host->model, host->options->kv_dtype,
                                                false, host->claim, &service->kv, why);
    if (!err)
        err = baton_host_measure(host, service->kv, why);
    if (!err)
        err = baton_prefix_cache_init(&service->prefix_cache, service->kv,
                                      baton_model_info(host->model)->dtype, &host->fingerprint,
                                      &host->numeric_class, options->prefix_cache, why);
    if (!err && *options->kv_disk.dir && !options->prefix_cache)
        err = baton_fail(why, BATON_INVALID, "--kv-disk: needs a prefix cache, which is off");
    if (!err && *options->kv_disk.dir)
        err = baton_kv_disk_create(&options->kv_disk, &service->prefix_cache, baton_host_wake, host,
                                   &service->disk, why);
    baton_kv_report_init(&service->kv_report, service->kv);
    return err;
}

static enum baton_err start_engine(struct pf_service *service,
                                   const struct pf_service_options *options, struct baton_why *why)
{
    struct baton_host *host = service->host;
    if (options->chunk && options->chunk < BATON_KV_BLOCK_TOKENS)
        return baton_fail(why, BATON_INVALID, "--chunk: must be 0, or %d or more, not %d",
                          BATON_KV_BLOCK_TOKENS, options->chunk);
    int chunk = options->chunk ? options->chunk : baton_model_info(host->model)->n_chunk;
    int most = baton_kv_n_blocks(service->kv) * BATON_KV_BLOCK_TOKENS;
    if (chunk > most) /* rows that never come would only cost memory, and time at the start */
        chunk = most;
    const struct pf_engine_options engine = {.model = host->model,
                                             .chunk = chunk,
                                             .cores = &host->cores,
                                             .stall_s = host->options->stall_s,
                                             .kv_dtype = baton_kv_dtype(service->kv),
                                             .canary_s = host->options->canary_s,
                                             .wake = baton_host_wake,
                                             .wake_arg = host};
    return pf_engine_start(&engine, &service->engine, why);
}

enum baton_err pf_service_create(const struct pf_service_options *options, struct pf_service **out,
                                 struct baton_why *why)
{
    struct pf_service *service = calloc(1, sizeof *service);
    if (!service)
        return BATON_NO_MEMORY;
    service->host = options->host;
    service->parts = (struct pf_parts_owner){.host = options->host, .requests = &service->requests};
    pf_job_list_init(&service->jobs);
    enum baton_err err = create_kv(service, options, why);
    if (!err)
        err = start_engine(service, options, why);
    service->parts.engine = service->engine;
    service->parts.kv = service->kv;
    if (!err && !(service->sender = baton_host_create_sender(service->host, options->overlap,
                                                             (enum baton_kv_path)options->kv.path)))
        err = BATON_NO_MEMORY;
    if (!err && options->bulk_url && *options->bulk_url)
        err =
            pf_parts_receiver_create(&service->parts, options->bulk_url,
                                     (enum baton_kv_path)options->kv.path, &service->receiver, why);
    if (err)
        pf_service_destroy(service);
    else
        *out = service;
    return err;
}

static void add_job(struct pf_service *service, struct pf_job *job)
{
    pf_job_list_push_back(&service->jobs, job);
    baton_request_table_add(&service->requests, &job->in_requests, &job->origin);
    if (service->jobs.n > service->n_jobs_max)
        service->n_jobs_max = (uint32_t)service->jobs.n;
}

void pf_service_destroy(struct pf_service *service)
{
    if (!service)
        return;
    for (struct pf_job *job = pf_job_list_first(&service->jobs); job;
         job = pf_job_list_next(&service->jobs, job))
        atomic_store(&job->canceled, true); /* so that the step that runs ends after its layer */
    pf_engine_stop(service->engine);
    baton_kv_disk_destroy(service->disk); /* before the blocks that it reads into are free */
    service->disk = NULL;
    for (struct pf_job *job; (job = pf_job_list_first(&service->jobs));)
        pf_service_free_job(service, job);
    baton_kv_receiver_destroy(service->receiver);
    baton_kv_sender_destroy(service->sender);
    baton_kv_destroy(service->kv);
    free(service);
}

const struct baton_kv *pf_service_kv(const struct pf_service *service)
{
    return service->kv;
}

static struct pf_job *find(const struct pf_service *service, const baton_envelope *envelope)
{
    return pf_job_of_node(baton_request_table_find(&service->requests, envelope));
}

const char *pf_service_bulk_url(const struct pf_service *service)
{
    return service->receiver ? baton_kv_receiver_url(service->receiver) : NULL;
}

static void start_parts(struct pf_service *service, struct pf_job *job,
                        const Baton__V1__PartsStart *start)
{
    enum baton_err err = pf_parts_start(job, start, service->sender);
    if (!err)
        return;
    baton_origin_fail(&job->origin,
                      err == BATON_NO_MEMORY ? BATON__V1__FAILED__CODE__NO_MEMORY
                                             : BATON__V1__FAILED__CODE__INTERNAL,
                      err == BATON_NO_MEMORY ? "no memory to compute a part of the prompt"
                                             : "parts_start contradicts the prompt");
    atomic_store(&job->canceled, true);
}

/* The account of the pool; query is NULL for a check alone. */
static void account(struct pf_service *service, struct baton_link *gateway,
                    const Baton__V1__KvQuery *query)
{
    baton_kv_report_begin(&service->kv_report, query);
    for (struct pf_job *job = pf_job_list_first(&service->jobs); job;
         job = pf_job_list_next(&service->jobs, job))
        baton_kv_report_add(&service->kv_report,
                            &(struct baton_kv_owner){.origin = &job->origin,
                                                     .seq = &job->seq,
                                                     .reason = pf_job_kv_reason(job),
                                                     .since_ns = job->received_ns,
                                                     .reason_ns = job->state_ns,
                                                     .canceled = atomic_load(&job->canceled)});
    if (service->disk)
        baton_kv_disk_report(service->disk, &service->kv_report);
    baton_kv_report_end(&service->kv_report, gateway);
}

static int n_embd(const struct pf_service *service)
{
    return baton_model_info(service->host->model)->n_embd;
}

static void from_gateway(void *arg, struct baton_link *gateway, const struct baton_message *message)
{
    static struct baton_log_limit unexpected;
    struct pf_service *service = arg;
    const baton_envelope *envelope = message->envelope;
    struct pf_job *job = find(service, envelope);
    switch (envelope->body_case) {
    case BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST:
        job = job ? NULL
                  : pf_intake_take(&(struct pf_intake){.facts = &service->host->facts,
                                                       .n_embd = n_embd(service),
                                                       .cache = &service->prefix_cache,
                                                       .grammars = &service->host->grammars},
                                   gateway, envelope);
        if (job)
            add_job(service, job);
        break;
    case BATON__V1__ENVELOPE__BODY_PARTS_START:
        if (job && job->state == PF_WAITING && !atomic_load(&job->canceled))
            start_parts(service, job, envelope->parts_start);
        break;
    case BATON__V1__ENVELOPE__BODY_CANCEL:
        if (job) {
            atomic_store(&job->canceled, true);
            baton_log(BATON_LOG_INFO, "canceled", BATON_ORIGIN(&job->origin),
                      BATON_S("reason", envelope->cancel->reason));
        }
        break;
    case BATON__V1__ENVELOPE__BODY_TOKEN_ACK:
        if (job)
            atomic_store(&job->credit_end,
                         envelope->token_ack->next_index + envelope->token_ack->credit_tokens);
        break;
    case BATON__V1__ENVELOPE__BODY_KV_QUERY:
        account(service, gateway, envelope->kv_query);
        break;
    default:
        baton_log_limited(&unexpected, BATON_LOG_WARN, "unexpected_message",
                          BATON_S("message", baton_envelope_kind(envelope)));
        break;
    }
}

static void from_peer(void *arg, const struct baton_message *message)
{
    struct pf_service *service = arg;
    baton_host_take_ack(service->host, service->sender, message);
}

/* Whether a job that the engine handed back makes more tokens once it gets credit. */
static bool goes_on(const struct pf_job *job)
{
    return job->naive && !job->finished && !atomic_load(&job->canceled);
}

static void take_done(struct pf_service *service)
{
    for (struct pf_job *job; (job = pf_engine_take_done(service->engine));)
        pf_job_set_state(job, goes_on(job) ? PF_PAUSED : PF_SENDING);
}

/* Jobs are looked at in order of arrival, so the first one that finds no blocks holds back the
 * others that wait: none of them starves. */
static int64_t work(void *arg, int64_t now_ns)
{
    struct pf_service *service = arg;
    int64_t next_ns = now_ns + BATON_SECOND;
    pf_engine_look(service->engine, now_ns);
    baton_kv_sender_look(service->sender, now_ns);
    if (service->receiver)
        baton_kv_receiver_work(service->receiver, now_ns);
    bool pool_full = false;
    if (service->disk)
        baton_kv_disk_give_back(service->disk);
    take_done(service);
    for (struct pf_job *job = pf_job_list_first(&service->jobs), *next; job; job = next) {
        next = pf_job_list_next(&service->jobs, job);
        if (job->deadline_ns > now_ns && job->deadline_ns < next_ns)
            next_ns = job->deadline_ns;
        pf_service_step_job(service, job, now_ns, &pool_full);
    }
    if (service->disk && pool_full) {
        int64_t way_ns = baton_kv_disk_give_way(service->disk, now_ns);
        next_ns = way_ns < next_ns ? way_ns : next_ns;
    }
    baton_kv_sender_tidy(service->sender);
    if (baton_kv_report_is_due(&service->kv_report, service->jobs.n, now_ns))
        account(service, NULL, NULL);
    return next_ns;
}

/* Tokens of the job's prompt that are not computed in all layers yet. */
static int count_missing(const struct pf_service *service, struct pf_job *job)
{
    int n = job->n_prompt - pf_service_count_complete(service, job) * BATON_KV_BLOCK_TOKENS;
    return n > 0 ? n : 0;
}

static void status_of_jobs(const struct pf_service *service, Baton__V1__Status *out)
{
    struct pf_engine_stats stats = pf_engine_stats(service->engine);
    for (struct pf_job *job = pf_job_list_first(&service->jobs); job;
         job = pf_job_list_next(&service->jobs, job)) {
        out->n_queued += job->state == PF_WAITING || job->state == PF_LOADING;
        if (job->state == PF_WAITING || job->state == PF_LOADING ||
            job->state == PF_RUNNING) /* a new prompt waits for these */
            out->n_queued_tokens += (uint32_t)count_missing(service, job);
    }
    out->n_queued += stats.n_queued;
    out->n_running = stats.n_running;
    out->n_requests_max = service->n_jobs_max;
    out->last_step_s = stats.steps.last_step_s;
    out->busy_s = stats.steps.busy_s;
    out->tokens_per_s = stats.steps.tokens_per_s;
    out->step_base_s = stats.steps.step_base_s;
    out->step_row_s = stats.steps.step_row_s;
    out->step_max_rows = stats.step_max_rows;
    out->stalled_s = stats.steps.stalled_s;
    out->n_canaries = stats.steps.n_canaries;
    out->n_canary_failures = stats.steps.n_canary_failures;
}

static void status_of_disk(struct baton_kv_disk *disk, Baton__V1__Status *out)
{
    struct baton_kv_disk_stats stats = baton_kv_disk_stats(disk);
    out->kv_disk_hit_tokens = stats.hit_tokens;
    out->kv_disk_read_bytes = stats.read_bytes;
    out->kv_disk_written_bytes = stats.written_bytes;
    out->kv_disk_read_s = stats.read_s;
    out->kv_disk_write_s = stats.write_s;
    out->kv_disk_evictions = stats.evictions;
    out->kv_disk_dropped = stats.dropped;
    out->kv_disk_errors = stats.errors;
}

static void status(void *arg, Baton__V1__Status *out)
{
    struct pf_service *service = arg;
    status_of_jobs(service, out);
    out->kv_blocks_total = (uint32_t)baton_kv_n_blocks(service->kv);
    out->kv_blocks_free = (uint32_t)baton_kv_n_free(service->kv);
    out->kv_blocks_reserved = out->kv_blocks_total - out->kv_blocks_free;
    out->kv_blocks_cached = (uint32_t)baton_kv_n_cached(service->kv);
    out->prefix_tokens = service->prefix_cache.n_looked_up_tokens;
    out->prefix_hit_tokens = service->prefix_cache.n_hit_tokens;
    out->kv_account_faults = service->kv_report.n_faults;
    if (service->disk)
        status_of_disk(service->disk, out);
    if (service->receiver) {
        struct baton_inbox_stats bulk;
        baton_kv_receiver_get_stats(service->receiver, &bulk);
        baton_host_count_inbox(out, &bulk);
    }
}

static void lost(void *arg, uint64_t gateway_epoch)
{
    struct pf_service *service = arg;
    for (struct pf_job *job = pf_job_list_first(&service->jobs); job;
         job = pf_job_list_next(&service->jobs, job))
        if (job->origin.gateway_epoch == gateway_epoch)
            atomic_store(&job->canceled, true);
    baton_host_wake(service->host);
}

static bool is_idle(void *arg)
{
    const struct pf_service *service = arg;
    return !service->jobs.n && (!service->disk || baton_kv_disk_is_idle(service->disk));
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
