#include "prefill_worker/parts_receiver.h"

#include "prefill_worker/job.h"

/* Another worker does not know the gateway. */
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

/* The other worker may have heard from the gateway before this one. */
static bool is_early(void *arg, const baton_envelope *envelope)
{
    const struct pf_job *job = find_job(arg, envelope);
    return job && !job->parts.is_started;
}

static bool begin_receive(void *arg, struct baton_kv_receive *receive)
{
    (void)arg;
    (void)receive;
    return true;
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

static void complete_receive(void *arg, struct baton_kv_receive *receive)
{
    (void)arg;
    (void)receive;
}

static void fail_receive(void *arg, struct baton_kv_receive *receive)
{
    (void)arg;
    atomic_store(&job_of_receive(receive)->canceled, true);
}

enum baton_err pf_parts_receiver_open(struct baton_service *service, const char *bulk_url,
                                      enum baton_kv_path path, struct baton_why *why)
{
    return baton_service_open_receiver(
        service,
        (struct baton_kv_receiver_options){.bulk_url = bulk_url,
                                           .path = path,
                                           .arg = service,
                                           .find = find_receive,
                                           .begin = begin_receive,
                                           .is_early = is_early,
                                           .advanced = advanced,
                                           .complete = complete_receive,
                                           .failed = fail_receive},
        why);
}
