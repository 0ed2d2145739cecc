#include "prefill_worker/job_steps.h"

#include "common/base/clock.h"
#include "common/base/log.h"

/* Logs how much of a canceled prompt was computed in vain. */
static void log_stopped(const struct pf_job *job)
{
    if (job->begun_ns && !job->has_first_token && atomic_load(&job->canceled))
        baton_log(BATON_LOG_INFO, "prompt_stopped", BATON_ORIGIN(&job->origin),
                  BATON_I("attempt", job->origin.attempt),
                  BATON_I("computed_tokens", job->seq.n_tokens - job->n_cached_tokens),
                  BATON_I("prompt_tokens", job->n_prompt));
}

static double prefill_rate(struct pf_service *service)
{
    return baton_engine_thread_stats(service->base.thread).tokens_per_s;
}

void pf_service_free_job(struct pf_service *service, struct pf_job *job)
{
    log_stopped(job);
    if (service->disk)
        baton_kv_disk_save(service->disk, &job->seq, &job->prefix, prefill_rate(service),
                           baton_now_ns());
    baton_request_table_remove(&service->base.requests, &job->in_requests);
    pf_job_destroy(job);
}

/* Acquires blocks for the job's positions, shared ones first. */
static enum baton_err take_blocks(struct pf_service *service, struct pf_job *job, int n_positions)
{
    enum baton_err err = baton_prefix_cache_take_blocks(
        &service->base.prefix_cache, &job->prefix, &job->seq, n_positions,
        pf_job_wants_all_rows(job) ? BATON_PREFIX_UNUSED : BATON_PREFIX_COMPUTED);
    if (err)
        return err;
    job->seq.blend = baton_adapter_hold_blend(&job->adapters);
    job->n_cached_tokens = job->seq.n_tokens;
    job->n_stateless_tokens = (job->seq.n_found - job->seq.n_shared) * BATON_KV_BLOCK_TOKENS;
    baton_kv_progress_publish(
        &job->progress,
        (struct baton_kv_progress){.n_done = job->seq.n_shared, .n_end = job->seq.n_shared});
    return BATON_OK;
}

int pf_service_count_complete(const struct pf_service *service, struct pf_job *job)
{
    int n_held;
    const int *held = baton_kv_held_layers(service->base.kv, &n_held);
    return baton_kv_progress_complete(baton_kv_progress_read(&job->progress), held[n_held - 1]);
}

static enum baton_err open_transfer(struct pf_service *service, struct pf_job *job)
{
    const struct baton_kv_source source = {.origin = &job->origin,
                                           .seq = &job->seq,
                                           .progress = &job->progress,
                                           .computed_ns = &job->chosen_ns,
                                           .n_tokens = job->n_prompt,
                                           .n_cached_tokens = job->n_cached_tokens,
                                           .target = &job->target};
    return baton_kv_send_open(service->base.sender, &job->send, &source);
}

/* Sends the blocks that are ready. A canceled job sends nothing more: the gateway also cancels at
 * the decode worker. */
static void pump_transfer(struct pf_service *service, struct pf_job *job)
{
    if (job->send.state == BATON_KV_SEND_IDLE)
        return;
    if (!atomic_load(&job->canceled) && !baton_kv_send_pump(service->base.sender, &job->send))
        return;
    baton_kv_send_close(&job->send);
    job->transfer_over = true;
}

/* Sends the job's part. If the job is over, wakes the engine thread, which may be waiting for
 * blocks of other parts or have nothing to run. */
static void pump_parts(struct pf_service *service, struct pf_job *job)
{
    if (!pf_parts_are_several(&job->parts))
        return;
    if (!atomic_load(&job->canceled) && pf_parts_pump(job, service->base.sender))
        return;
    atomic_store(&job->canceled, true);
    pf_parts_interrupt(job);
    if (job->state == PF_RUNNING)
        baton_engine_thread_wake(service->base.thread);
}

/* WAITING -> LOADING, if the disk may have blocks of the prompt after those that memory had. */
static bool try_load(struct pf_service *service, struct pf_job *job)
{
    if (!service->disk || job->has_tried_disk || pf_job_wants_all_rows(job) ||
        job->seq.n_shared >= job->prefix.n_hashes)
        return false;
    job->has_tried_disk = true;
    job->load = (struct baton_kv_load){.seq = &job->seq,
                                       .hashes = job->prefix.hashes,
                                       .n_hashes = job->prefix.n_hashes,
                                       .tokens_per_s = prefill_rate(service),
                                       .canceled = &job->canceled};
    pf_job_set_state(job, PF_LOADING);
    baton_kv_disk_load(service->disk, &job->load);
    return true;
}

/* LOADING -> WAITING: the prompt continues after the blocks that were read. */
static void take_loaded(struct pf_service *service, struct pf_job *job)
{
    int n_blocks = job->seq.n_shared + job->load.n_loaded;
    int n_stateless = job->seq.n_found - n_blocks;
    baton_kv_disk_end_load(service->disk, &job->load);
    job->n_stateless_tokens = n_stateless > 0 ? n_stateless * BATON_KV_BLOCK_TOKENS : 0;
    job->n_disk_tokens = job->load.n_loaded * BATON_KV_BLOCK_TOKENS;
    job->n_cached_tokens = job->seq.n_tokens = n_blocks * BATON_KV_BLOCK_TOKENS;
    service->base.prefix_cache.n_hit_tokens += (uint64_t)job->n_disk_tokens;
    baton_kv_progress_publish(&job->progress,
                              (struct baton_kv_progress){.n_done = n_blocks, .n_end = n_blocks});
    pf_job_set_state(job, PF_WAITING);
    baton_prefix_register(&job->prefix, &job->seq, n_blocks);
}

/* Rejects a part without blocks at once: if it waited, two prompts could each hold the blocks that
 * the other waits for. */
static void reject_parts(struct pf_service *service, struct pf_job *job)
{
    pf_parts_answer_rejected(job, service->base.kv);
    atomic_store(&job->canceled, true);
}

/* Whether the job, which has its blocks, waits until the prompt's other workers have theirs. */
static bool waits_for_parts(struct pf_service *service, struct pf_job *job)
{
    struct pf_parts *parts = &job->parts;
    if (!parts->is_wanted || parts->is_started)
        return false;
    if (!service->base.receiver) { /* --bulk "": the other parts could not send blocks here */
        reject_parts(service, job);
        return true;
    }
    if (!parts->is_reserved)
        pf_parts_answer_reserved(job,
                                 baton_kv_receiver_ticket(service->base.receiver, &job->origin));
    return true;
}

/* WAITING -> RUNNING, if the pool has enough free blocks. */
static void try_start(struct pf_service *service, struct pf_job *job, bool *pool_full)
{
    /* The last token of an output is never an input. */
    int n_positions = job->n_prompt + (job->naive ? job->max_new_tokens - 1 : 0);
    /* Blocks and transfer are kept if a later step here fails: the next call continues there. */
    enum baton_err err = job->seq.kv ? BATON_OK : take_blocks(service, job, n_positions);
    if (err) {
        if (job->parts.is_wanted && err != BATON_AGAIN) {
            reject_parts(service, job);
            return;
        }
        *pool_full = true; /* first come, first served: shorter prompts would starve this one */
        return;
    }
    if (try_load(service, job) || waits_for_parts(service, job))
        return;
    if (job->is_delivered && job->send.state == BATON_KV_SEND_IDLE && open_transfer(service, job)) {
        baton_origin_fail(&job->origin, BATON__V1__FAILED__CODE__NO_MEMORY,
                          "no memory to send the context");
        atomic_store(&job->canceled, true);
        return;
    }
    if (!pf_engine_submit(service->engine, job))
        pf_job_set_state(job, PF_RUNNING);
}

/* Whether the job is canceled. Cancels it at its deadline, with a Failed. */
static bool is_canceled(struct pf_job *job, int64_t now_ns)
{
    if (job->deadline_ns && now_ns >= job->deadline_ns && !atomic_load(&job->canceled)) {
        baton_origin_fail(&job->origin, BATON__V1__FAILED__CODE__DEADLINE,
                          "the request's deadline passed");
        atomic_store(&job->canceled, true);
    }
    return atomic_load(&job->canceled);
}

/* Whether the request's grammar, if any, is compiled. Fails a request whose grammar cannot be. */
static bool has_grammar(struct pf_job *job)
{
    enum baton_err err = baton_sampling_state_ready(&job->sampling);
    if (err && err != BATON_AGAIN && !atomic_load(&job->canceled)) {
        baton_origin_fail(&job->origin,
                          err == BATON_NO_MEMORY ? BATON__V1__FAILED__CODE__NO_MEMORY
                                                 : BATON__V1__FAILED__CODE__INVALID,
                          "the request's grammar could not be compiled");
        atomic_store(&job->canceled, true);
    }
    return !err;
}

void pf_service_step_job(struct pf_service *service, struct pf_job *job, int64_t now_ns,
                         bool *pool_full)
{
    /* Before the job may be freed: complete blocks serve other prompts even if it is canceled. */
    baton_prefix_register(&job->prefix, &job->seq, pf_service_count_complete(service, job));
    if (job->state == PF_LOADING && atomic_load(&job->load.is_over))
        take_loaded(service, job);
    if (job->state == PF_PAUSED && pf_job_n_output(job) < atomic_load(&job->credit_end))
        pf_job_set_state(job, PF_WAITING);
    bool may_start = job->state == PF_WAITING && has_grammar(job);
    if (is_canceled(job, now_ns) && job->state != PF_RUNNING && job->state != PF_LOADING) {
        pf_service_free_job(service, job);
        return;
    }
    if (may_start && *pool_full && job->parts.is_wanted && !job->seq.kv)
        reject_parts(service, job);
    else if (may_start && (!*pool_full || job->parts.is_reserved))
        try_start(service, job, pool_full);
    if (job->state == PF_WAITING && atomic_load(&job->canceled)) {
        /* At once, because the gateway may send the rejected prompt again under the same ids. */
        pf_service_free_job(service, job);
        return;
    }
    if (job->state == PF_RUNNING || job->state == PF_SENDING) {
        pump_transfer(service, job);
        pump_parts(service, job);
    }
    if (job->state == PF_SENDING && (!job->is_delivered || job->transfer_over) &&
        pf_parts_are_sent(job))
        pf_service_free_job(service, job);
}
