#include "worker/service.h"

#include <stdlib.h>

#include "common/base/clock.h"

/* ---- parts ---- */

void baton_service_init(struct baton_service *service, const struct baton_service_ops *ops,
                        struct baton_host *host)
{
    service->ops = ops;
    service->host = host;
    baton_request_table_init(&service->requests);
}

void baton_service_destroy(struct baton_service *service)
{
    if (!service)
        return;
    service->ops->stop(service); /* first: requests hold blocks, and their transfers use links */
    baton_kv_receiver_destroy(service->receiver);
    baton_kv_sender_destroy(service->sender);
    baton_kv_destroy(service->kv);
    free(service);
}

enum baton_err baton_service_open_pool(struct baton_service *service,
                                       const struct baton_kv_options *options, bool prefix_cache,
                                       struct baton_why *why)
{
    struct baton_host *host = service->host;
    struct baton_kv_options growing = *options;
    growing.grown = baton_host_wake;
    growing.grown_arg = host;
    enum baton_err err =
        baton_kv_budget_create(&growing, host->model, host->options->kv_dtype,
                               baton_host_decodes(host), host->claim, &service->kv, why);
    if (!err)
        err = baton_host_measure(host, service->kv, why);
    if (!err)
        err = baton_prefix_cache_init(&service->prefix_cache, service->kv,
                                      baton_model_info(host->model)->dtype, &host->fingerprint,
                                      &host->numeric_class,
                                      prefix_cache && options->prefix_cache_tokens, why);
    if (!err)
        baton_kv_report_init(&service->kv_report, service->kv);
    return err;
}

enum baton_err baton_service_start_thread(struct baton_service *service,
                                          struct baton_engine_thread_options options,
                                          struct baton_why *why)
{
    struct baton_host *host = service->host;
    double canary_s = host->options->canary_s;
    enum baton_err err = BATON_OK;
    if (canary_s > 0)
        err = baton_canary_create(host->model, options.engine, baton_kv_dtype(service->kv),
                                  &service->canary, why);
    options.canary = (struct baton_canary_hook){.run = service->canary ? baton_canary_run : NULL,
                                                .arg = service->canary,
                                                .period_s = canary_s};
    options.cores = &host->cores;
    options.stall_s = host->options->stall_s;
    options.wake = baton_host_wake;
    options.wake_arg = host;
    if (!err)
        err = baton_engine_thread_create(&options, &service->thread, why);
    return err ? err : baton_engine_thread_start(service->thread, why);
}

void baton_service_stop_thread(struct baton_service *service)
{
    baton_engine_thread_destroy(service->thread);
    baton_canary_destroy(service->canary);
    service->thread = NULL;
    service->canary = NULL;
}

enum baton_err baton_service_open_sender(struct baton_service *service, enum baton_overlap overlap,
                                         enum baton_kv_path path)
{
    struct baton_host *host = service->host;
    const char *advertised = host->options->advertise;
    service->sender = baton_kv_sender_create(&(struct baton_kv_sender_options){
        .epoch = host->epoch,
        .reply_url = advertised ? advertised : baton_inbox_url(host->inbox),
        .connect_ns = baton_host_silence_ns(host),
        .overlap = overlap,
        .path = path,
        .beat_ns = (int64_t)(host->options->fleet.beat_s * (double)BATON_SECOND),
        .wake = baton_host_wake,
        .wake_arg = host});
    return service->sender ? BATON_OK : BATON_NO_MEMORY;
}

enum baton_err baton_service_open_receiver(struct baton_service *service,
                                           struct baton_kv_receiver_options options,
                                           struct baton_why *why)
{
    struct baton_host *host = service->host;
    options.epoch = host->epoch;
    options.kv = service->kv;
    options.connect_ns = baton_host_silence_ns(host);
    options.wake = baton_host_wake;
    options.wake_arg = host;
    return baton_kv_receiver_create(&options, &service->receiver, why);
}

const char *baton_service_bulk_url(const struct baton_service *service)
{
    return service->receiver ? baton_kv_receiver_url(service->receiver) : NULL;
}

/* ---- hooks of the host ---- */

/* Checks the owners of the pool's blocks, and answers the query if there is one. */
static void account(struct baton_service *service, struct baton_link *gateway,
                    const Baton__V1__KvQuery *query)
{
    struct baton_request_list *list = &service->requests.list;
    baton_kv_report_begin(&service->kv_report, query);
    for (struct baton_request_node *request = baton_request_list_first(list); request;
         request = baton_request_list_next(list, request)) {
        struct baton_kv_owner owner = service->ops->owner(request);
        baton_kv_report_add(&service->kv_report, &owner);
    }
    if (service->ops->report)
        service->ops->report(service);
    baton_kv_report_end(&service->kv_report, gateway);
}

static void from_gateway(void *arg, struct baton_link *gateway, const struct baton_message *message)
{
    struct baton_service *service = arg;
    if (message->envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_QUERY)
        account(service, gateway, message->envelope->kv_query);
    else
        service->ops->from_gateway(service, gateway, message);
}

/* A KvAck that is not on a link of ours comes from a stranger. */
static void from_peer(void *arg, const struct baton_message *message)
{
    struct baton_service *service = arg;
    if (baton_kv_sender_handle_ack(service->sender, message, baton_now_ns()))
        baton_inbox_admit(service->host->inbox, message);
    else
        baton_inbox_reject_stranger(service->host->inbox, message);
}

static int64_t work(void *arg, int64_t now_ns)
{
    struct baton_service *service = arg;
    baton_kv_tick(service->kv, now_ns);
    baton_engine_thread_check_stall(service->thread, now_ns);
    baton_kv_sender_check_paths(service->sender, now_ns);
    if (service->receiver)
        baton_kv_receiver_work(service->receiver, now_ns);
    int64_t next_ns = service->ops->work(service, now_ns);
    baton_kv_sender_tidy(service->sender); /* last: transfers have found their broken links */
    if (baton_kv_report_is_due(&service->kv_report, service->requests.list.n, now_ns))
        account(service, NULL, NULL);
    return next_ns;
}

static void status_of_engine(const struct baton_engine_stats *stats, Baton__V1__Status *status)
{
    status->last_step_s = stats->last_step_s;
    status->busy_s = stats->busy_s;
    status->tokens_per_s = stats->tokens_per_s;
    status->step_base_s = stats->step_base_s;
    status->step_row_s = stats->step_row_s;
    status->step_max_rows = (uint32_t)stats->step_max_rows;
    status->stalled_s = stats->stalled_s;
    status->n_canaries = stats->n_canaries;
    status->n_canary_failures = stats->n_canary_failures;
}

static void status_of_pool(const struct baton_service *service, Baton__V1__Status *status)
{
    const struct baton_kv *kv = service->kv;
    status->kv_blocks_total = (uint32_t)baton_kv_n_blocks(kv);
    status->kv_blocks_free = (uint32_t)baton_kv_n_reservable(kv);
    status->kv_blocks_reserved = status->kv_blocks_total - status->kv_blocks_free;
    status->kv_blocks_cached = (uint32_t)baton_kv_n_cached(kv);
    if (status->kv_blocks_cached > status->kv_blocks_free) /* windows may bound those free */
        status->kv_blocks_cached = status->kv_blocks_free;
    const struct baton_kv_states states = baton_kv_states(kv);
    status->kv_states_total = (uint32_t)states.n_total;
    status->kv_states_free = (uint32_t)states.n_free;
    status->kv_states_cached = (uint32_t)states.n_cached;
    status->prefix_tokens = service->prefix_cache.n_looked_up_tokens;
    status->prefix_hit_tokens = service->prefix_cache.n_hit_tokens;
    status->kv_account_faults = service->kv_report.n_faults;
}

static void add_memory(const struct baton_kv *kv, Baton__V1__Status *status)
{
    struct baton_kv_memory memory = baton_kv_memory(kv);
    status->kv_cap_bytes += memory.cap_bytes;
    status->kv_backed_bytes += memory.backed_bytes;
    status->kv_used_bytes += memory.used_bytes;
    status->kv_backing_failures += memory.n_failures;
}

static void status(void *arg, Baton__V1__Status *status)
{
    struct baton_service *service = arg;
    struct baton_engine_stats engine = baton_engine_thread_stats(service->thread);
    status->n_requests_max = (uint32_t)service->requests.n_most;
    status_of_engine(&engine, status);
    status_of_pool(service, status);
    add_memory(service->kv, status);
    if (service->host->draft_kv)
        add_memory(*service->host->draft_kv, status);
    status->weight_bytes = baton_model_info(service->host->model)->weight_bytes;
    if (service->receiver) {
        struct baton_inbox_stats bulk;
        baton_kv_receiver_get_stats(service->receiver, &bulk);
        baton_host_count_inbox(status, &bulk);
    }
    service->ops->status(service, status);
}

/* cancel only marks requests, so it may be called while the list is walked; work ends them. */
static void lost(void *arg, uint64_t gateway_epoch)
{
    struct baton_service *service = arg;
    struct baton_request_list *list = &service->requests.list;
    for (struct baton_request_node *request = baton_request_list_first(list); request;
         request = baton_request_list_next(list, request))
        if (request->origin->gateway_epoch == gateway_epoch)
            service->ops->cancel(service, request);
    baton_host_wake(service->host);
}

static bool is_idle(void *arg)
{
    struct baton_service *service = arg;
    return !service->requests.list.n && (!service->ops->is_idle || service->ops->is_idle(service));
}

struct baton_host_hooks baton_service_hooks(struct baton_service *service)
{
    return (struct baton_host_hooks){.arg = service,
                                     .from_gateway = from_gateway,
                                     .from_peer = from_peer,
                                     .work = work,
                                     .status = status,
                                     .lost = lost,
                                     .is_idle = is_idle};
}

enum baton_err baton_service_run(struct baton_service *service, const char *bulk_url,
                                 struct baton_why *why)
{
    struct baton_host_hooks hooks = baton_service_hooks(service);
    enum baton_err err = baton_host_join(service->host, bulk_url, service->kv, &hooks, why);
    if (!err)
        baton_host_run(service->host);
    return err;
}
