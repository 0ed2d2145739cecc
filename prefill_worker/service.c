#include "prefill_worker/service.h"

#include <stddef.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "prefill_worker/intake.h"
#include "prefill_worker/job_steps.h"

static struct pf_service *of(struct baton_service *base)
{
    return (struct pf_service *)base;
}

_Static_assert(offsetof(struct pf_service, base) == 0, "a service begins with its base");

static enum baton_err open_disk(struct pf_service *service,
                                const struct baton_kv_disk_options *options, bool prefix_cache,
                                struct baton_why *why)
{
    if (!*options->dir)
        return BATON_OK;
    if (!prefix_cache)
        return baton_fail(why, BATON_INVALID, "--kv-disk: needs a prefix cache, which is off");
    return baton_kv_disk_create(options, &service->base.prefix_cache, baton_host_wake,
                                service->base.host, &service->disk, why);
}

static enum baton_err start_engine(struct pf_service *service, int chunk, struct baton_why *why)
{
    if (chunk && chunk < BATON_KV_BLOCK_TOKENS)
        return baton_fail(why, BATON_INVALID, "--chunk: must be 0, or %d or more, not %d",
                          BATON_KV_BLOCK_TOKENS, chunk);
    if (!chunk)
        chunk = baton_model_info(service->base.host->model)->n_chunk;
    int most = baton_kv_n_blocks(service->base.kv) * BATON_KV_BLOCK_TOKENS;
    if (chunk > most) /* more rows than the pool's positions would only cost memory */
        chunk = most;
    return pf_engine_start(&service->base, chunk, &service->engine, why);
}

static void stop(struct baton_service *base)
{
    struct pf_service *service = of(base);
    for (struct pf_job *job = pf_job_first(&base->requests); job;
         job = pf_job_next(&base->requests, job))
        atomic_store(&job->canceled, true); /* so that the current step ends after its layer */
    pf_engine_stop(service->engine);
    baton_kv_disk_destroy(service->disk); /* before the blocks that it reads into are freed */
    service->disk = NULL;
    for (struct pf_job *job; (job = pf_job_first(&base->requests));)
        pf_service_free_job(service, job);
}

/* ---- blocks from other parts of a prompt ---- */

/* Finds the job by the request alone, because the sending worker does not know the gateway. */
static struct pf_job *find_job(const struct baton_service *service, const baton_envelope *envelope)
{
    struct baton_request_node *node = NULL;
    while ((node = baton_request_table_next(&service->requests, envelope, node))) {
        struct pf_job *job = pf_job_of_node(node);
        if (job->parts.is_wanted && !atomic_load(&job->canceled))
            return job;
    }
    return NULL;
}

static struct baton_kv_receive *find_receive(void *arg, const baton_envelope *envelope)
{
    struct pf_job *job = find_job(arg, envelope);
    return job ? pf_parts_find(job, envelope) : NULL;
}

/* Whether the message came before PartsStart: the other worker may have got its own earlier. */
static bool is_early(void *arg, const baton_envelope *envelope)
{
    const struct pf_job *job = find_job(arg, envelope);
    return job && !job->parts.is_started;
}

static struct pf_job *job_of_receive(const struct baton_kv_receive *receive)
{
    return (struct pf_job *)((char *)(uintptr_t)receive->origin - offsetof(struct pf_job, origin));
}

static void advanced(void *arg, struct baton_kv_receive *receive, int layer)
{
    struct baton_service *service = arg;
    pf_parts_advanced(job_of_receive(receive), layer);
    baton_engine_thread_wake(service->thread);
}

static void fail_receive(void *arg, struct baton_kv_receive *receive)
{
    (void)arg;
    atomic_store(&job_of_receive(receive)->canceled, true);
}

static enum baton_err open_receiver(struct baton_service *service, const char *bulk_url,
                                    enum baton_kv_path path, struct baton_why *why)
{
    return baton_service_open_receiver(service,
                                       (struct baton_kv_receiver_options){.bulk_url = bulk_url,
                                                                          .path = path,
                                                                          .arg = service,
                                                                          .find = find_receive,
                                                                          .is_early = is_early,
                                                                          .advanced = advanced,
                                                                          .failed = fail_receive},
                                       why);
}

/* ---- gateways' messages ---- */

static void start_parts(struct pf_service *service, struct pf_job *job,
                        const Baton__V1__PartsStart *start)
{
    enum baton_err err = pf_parts_start(job, start, service->base.sender);
    if (!err)
        return;
    baton_origin_fail(&job->origin,
                      err == BATON_NO_MEMORY ? BATON__V1__FAILED__CODE__NO_MEMORY
                                             : BATON__V1__FAILED__CODE__INTERNAL,
                      err == BATON_NO_MEMORY ? "no memory to compute a part of the prompt"
                                             : "parts_start contradicts the prompt");
    atomic_store(&job->canceled, true);
}

static struct pf_job *make_job(struct baton_service *base, struct baton_link *gateway,
                               const baton_envelope *envelope)
{
    struct baton_host *host = base->host;
    return pf_intake_job(&(struct pf_intake){.facts = &host->facts,
                                             .n_embd = baton_model_info(host->model)->n_embd,
                                             .cache = &base->prefix_cache,
                                             .grammars = &host->grammars,
                                             .adapters = host->adapters},
                         gateway, envelope);
}

static void from_gateway(struct baton_service *base, struct baton_link *gateway,
                         const struct baton_message *message)
{
    static struct baton_log_limit unexpected;
    const baton_envelope *envelope = message->envelope;
    struct pf_job *job = pf_job_of_node(baton_request_table_find(&base->requests, envelope));
    switch (envelope->body_case) {
    case BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST:
        job = job ? NULL : make_job(base, gateway, envelope);
        if (job)
            baton_request_table_add(&base->requests, &job->in_requests, &job->origin);
        break;
    case BATON__V1__ENVELOPE__BODY_PARTS_START:
        if (job && job->state == PF_WAITING && !atomic_load(&job->canceled))
            start_parts(of(base), job, envelope->parts_start);
        break;
    case BATON__V1__ENVELOPE__BODY_CANCEL:
        if (job) {
            atomic_store(&job->canceled, true);
            baton_log(BATON_LOG_INFO, "canceled", BATON_ORIGIN(&job->origin),
                      BATON_I("attempt", job->origin.attempt),
                      BATON_S("reason", envelope->cancel->reason));
        }
        break;
    case BATON__V1__ENVELOPE__BODY_TOKEN_ACK:
        if (job)
            atomic_store(&job->credit_end,
                         envelope->token_ack->next_index + envelope->token_ack->credit_tokens);
        break;
    default:
        baton_log_limited(&unexpected, BATON_LOG_WARN, "unexpected_message",
                          BATON_S("message", baton_envelope_kind(envelope)));
        break;
    }
}

/* ---- work ---- */

/* Whether a job that the engine handed back generates more tokens once it has credit. */
static bool goes_on(const struct pf_job *job)
{
    return job->naive && !job->finished && !atomic_load(&job->canceled);
}

/* A naive step computes every position again. So a paused job needs no blocks: others may take
 * them, and the job waits for blocks when it has credit again, in its order of arrival. */
static void pause_job(struct pf_job *job)
{
    baton_seq_fini(&job->seq);
    pf_job_set_state(job, PF_PAUSED);
}

static void take_done(struct baton_service *base)
{
    for (struct pf_job *job; (job = baton_engine_thread_take_done(base->thread));)
        if (goes_on(job))
            pause_job(job);
        else
            pf_job_set_state(job, PF_SENDING);
}

/* Steps the jobs in order of arrival. The first one that finds no blocks holds back the others that
 * wait, so none of them starves. */
static int64_t work(struct baton_service *base, int64_t now_ns)
{
    struct pf_service *service = of(base);
    int64_t next_ns = now_ns + BATON_SECOND;
    bool pool_full = false;
    if (service->disk)
        baton_kv_disk_give_back(service->disk);
    take_done(base);
    for (struct pf_job *job = pf_job_first(&base->requests), *next; job; job = next) {
        next = pf_job_next(&base->requests, job);
        if (job->deadline_ns > now_ns && job->deadline_ns < next_ns)
            next_ns = job->deadline_ns;
        pf_service_step_job(service, job, now_ns, &pool_full);
    }
    if (service->disk && pool_full) {
        int64_t eviction_ns = baton_kv_disk_drop_slow_saves(service->disk, now_ns);
        next_ns = eviction_ns < next_ns ? eviction_ns : next_ns;
    }
    return next_ns;
}

static struct baton_kv_owner owner(struct baton_request_node *request)
{
    struct pf_job *job = pf_job_of_node(request);
    return (struct baton_kv_owner){.origin = &job->origin,
                                   .seq = &job->seq,
                                   .reason = pf_job_kv_reason(job),
                                   .since_ns = job->received_ns,
                                   .reason_ns = job->state_ns,
                                   .canceled = atomic_load(&job->canceled)};
}

static void report(struct baton_service *base)
{
    if (of(base)->disk)
        baton_kv_disk_report(of(base)->disk, &base->kv_report);
}

/* The number of the prompt's tokens that are not yet computed in all layers. */
static int count_missing(const struct pf_service *service, struct pf_job *job)
{
    int n = job->n_prompt - pf_service_count_complete(service, job) * BATON_KV_BLOCK_TOKENS;
    return n > 0 ? n : 0;
}

static void status_of_jobs(struct pf_service *service, Baton__V1__Status *out)
{
    struct baton_request_table *requests = &service->base.requests;
    for (struct pf_job *job = pf_job_first(requests); job; job = pf_job_next(requests, job)) {
        out->n_queued += job->state == PF_WAITING || job->state == PF_LOADING;
        if (job->state == PF_WAITING || job->state == PF_LOADING ||
            job->state == PF_RUNNING) /* a new prompt waits for these */
            out->n_queued_tokens += (uint32_t)count_missing(service, job);
    }
    int n_inside = baton_engine_thread_stats(service->base.thread).n_inside;
    int n_begun = pf_engine_n_begun(service->engine);
    out->n_queued += n_inside > n_begun ? (uint32_t)(n_inside - n_begun) : 0;
    out->n_running = (uint32_t)n_begun;
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

static void status(struct baton_service *base, Baton__V1__Status *out)
{
    struct pf_service *service = of(base);
    status_of_jobs(service, out);
    if (service->disk)
        status_of_disk(service->disk, out);
}

static void cancel(struct baton_service *base, struct baton_request_node *request)
{
    (void)base;
    atomic_store(&pf_job_of_node(request)->canceled, true);
}

static bool is_idle(struct baton_service *base)
{
    return !of(base)->disk || baton_kv_disk_is_idle(of(base)->disk);
}

/* ---- create ---- */

static const struct baton_service_ops ops = {.from_gateway = from_gateway,
                                             .work = work,
                                             .owner = owner,
                                             .report = report,
                                             .status = status,
                                             .cancel = cancel,
                                             .is_idle = is_idle,
                                             .stop = stop};

enum baton_err pf_service_create(const struct pf_service_options *options,
                                 struct baton_service **out, struct baton_why *why)
{
    enum baton_kv_path path = (enum baton_kv_path)options->kv.path;
    struct pf_service *service = calloc(1, sizeof *service);
    if (!service)
        return BATON_NO_MEMORY;
    struct baton_service *base = &service->base;
    baton_service_init(base, &ops, options->host);
    enum baton_err err = baton_service_open_pool(base, &options->kv, options->prefix_cache, why);
    if (!err)
        err = open_disk(service, &options->kv_disk, base->prefix_cache.on, why);
    if (!err)
        err = start_engine(service, options->chunk, why);
    if (!err)
        err = baton_service_open_sender(base, options->overlap, path);
    if (!err && options->bulk_url && *options->bulk_url)
        err = open_receiver(base, options->bulk_url, path, why);
    if (err)
        baton_service_destroy(base);
    else
        *out = base;
    return err;
}
