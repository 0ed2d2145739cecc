#include "gateway/gateway.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/os/open_files.h"
#include "common/base/random.h"
#include "common/wire/frame.h"
#include "common/wire/transport/nng_start.h"
#include "common/wire/transport/peer_tls.h"
#include "gateway/api/access/access.h"
#include "gateway/api/access/exposure.h"
#include "gateway/api/batches/batches.h"
#include "gateway/api/completion/completion.h"
#include "gateway/api/files/files.h"
#include "gateway/api/openapi/openapi.h"
#include "gateway/api/responses/store.h"
#include "gateway/api/routes/bodies.h"
#include "gateway/api/routes/debug_kv.h"
#include "gateway/api/routes/events.h"
#include "gateway/api/routes/routes.h"
#include "gateway/api/routes/table.h"
#include "gateway/api/streams/streams.h"
#include "gateway/http/certificate.h"
#include "gateway/observe/loop_lag.h"
#include "gateway/served_model.h"
#include "gateway/settings.h"

enum { INBOX_MAX_QUEUED = 8192, INBOX_MAX_BYTES = 8 << 20, TICK_MS = 25 };

/* The longest time that the loop spends on workers' messages before clients and timers get a
 * turn. */
#define TURN_NS (5 * BATON_MS)

/* Open files besides clients' connections: links to workers, NNG's and libuv's own. */
enum { OWN_FILES = 256 };

/* Threads besides NNG's: the judge of strangers, libuv's pool, and the exporter of spans. */
enum { OWN_THREADS = 6 };

/* Blocks that malloc maps, so that the system gets them back when they are freed. By default the
 * first large body that is freed raises this bound to its own size. */
enum { MAPPED_BYTES = 256 << 10 };

struct gateway {
    const struct gw_options *options;
    uint64_t epoch;
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t ticker;
    uv_prepare_t prepare;
    uv_signal_t on_term, on_int, on_hup;
    uv_work_t first_work;
    struct gw_served_model *models[GW_MAX_MODELS];
    size_t n_models;
    struct gw_more_models more_models;
    struct baton_inbox *inbox;
    struct gw_spans spans;
    struct gw_feed feed;
    struct gw_loop_lag lag;
    struct gw_access *access;
    struct baton_cluster_token token;
    struct gw_exposure exposure;
    struct gw_certificate certificate;
    struct gw_http_server *server;
    struct gw_streams streams;
    struct gw_files files;
    struct gw_served served; /* the APIs of the models, when all parts are there */
    struct gw_api api;       /* what they have in common */
    struct gw_openapi *openapi;
    bool draining, closing;
    int64_t drain_until_ns;
};

static struct gateway *of(const uv_handle_t *handle)
{
    return handle->data;
}

/* ---- workers' messages ---- */

static void wake(void *arg)
{
    struct gateway *gateway = arg;
    (void)uv_async_send(&gateway->wake);
}

static void pump(struct gateway *gateway)
{
    for (size_t i = 0; i < gateway->n_models; i++)
        gw_dispatcher_pump(&gateway->models[i]->dispatcher);
}

/* Receives messages for TURN_NS at most, because clients and heartbeats need the loop as well.
 * False: more messages are there. */
static bool handle_messages(struct gateway *gateway)
{
    struct baton_message message;
    int64_t begin_ns = baton_now_ns(), now_ns = begin_ns;
    while (!gateway->closing && now_ns - begin_ns < TURN_NS) {
        if (!baton_inbox_take(gateway->inbox, &message))
            return true;
        gw_fleet_receive(gw_fleets_of(&gateway->served.fleets, message.envelope), &message, now_ns);
        baton_message_fini(&message);
        pump(gateway);
        now_ns = baton_now_ns();
    }
    return false;
}

static void on_wake(uv_async_t *async)
{
    struct gateway *gateway = of((uv_handle_t *)async);
    for (size_t i = 0; i < gateway->n_models; i++)
        gw_dispatcher_wake(&gateway->models[i]->dispatcher, baton_now_ns());
    bool heard_all = handle_messages(gateway);
    if (gateway->closing)
        return;
    if (!heard_all)
        wake(gateway);
    /* Checks links after messages, because a worker's last message, such as Goodbye, explains why
     * its link went down. */
    for (size_t i = 0; i < gateway->n_models; i++)
        gw_fleet_tick(&gateway->models[i]->fleet, baton_now_ns(), heard_all);
}

/* Runs before the loop sleeps: a client or the clock may have made routing possible. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct gateway *gateway = of((uv_handle_t *)prepare);
    if (!gateway->closing)
        pump(gateway);
}

/* ---- callbacks of the HTTP server ---- */

static const struct gw_error *on_head(void *arg, struct gw_exchange *exchange)
{
    struct gateway *gateway = arg;
    return gw_routes_head(gateway->served.models[0], exchange);
}

static void on_request(void *arg, struct gw_exchange *exchange)
{
    struct gateway *gateway = arg;
    gw_routes_request(gateway->served.models[0], exchange);
}

static void on_resume(void *arg, struct gw_exchange *exchange)
{
    (void)arg;
    gw_routes_resume(exchange);
}

static void on_gone(void *arg, struct gw_exchange *exchange, const char *reason)
{
    (void)arg;
    gw_routes_gone(exchange, reason);
}

static void on_answered(void *arg, const struct gw_exchange *exchange)
{
    struct gateway *gateway = arg;
    gw_spans_export_answer(&gateway->spans, exchange);
}

static void on_full(void *arg, struct gw_exchange *exchange, bool full)
{
    (void)arg;
    gw_routes_full(exchange, full);
}

/* ---- the end ---- */

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* Closes the sockets before libuv's handles, because NNG's threads use the async handle until their
 * sockets are closed. */
static void close_handles(struct gateway *gateway)
{
    if (gateway->inbox) {
        for (size_t i = 0; i < gateway->n_models; i++)
            gw_served_model_stop(gateway->models[i]);
        baton_inbox_close(gateway->inbox);
        gateway->inbox = NULL;
    }
    uv_walk(&gateway->loop, close_handle, NULL);
}

static void on_server_closed(void *arg)
{
    close_handles(arg);
}

static void close_all(struct gateway *gateway)
{
    gateway->closing = true;
    for (size_t i = 0; i < gateway->n_models; i++)
        gw_fleet_goodbye(&gateway->models[i]->fleet);
    if (gateway->api.batches)
        gw_batches_stop(gateway->api.batches);
    gw_streams_drain(&gateway->streams);
    gw_events_drain(gateway->api.events);
    gw_http_stop(gateway->server, on_server_closed, gateway);
    gateway->server = NULL;
}

/* Admits no more requests, and returns how many are open. */
static size_t drain_models(struct gateway *gateway)
{
    size_t n_open = 0;
    for (size_t i = 0; i < gateway->n_models; i++) {
        gateway->models[i]->dispatcher.admission.draining = true;
        n_open += gw_lifecycle_n_open(&gateway->models[i]->dispatcher.lifecycle);
    }
    return n_open;
}

static void on_stop_signal(uv_signal_t *handle, int number)
{
    struct gateway *gateway = of((uv_handle_t *)handle);
    (void)number;
    if (gateway->draining) { /* a second signal ends the drain at once */
        gateway->drain_until_ns = 0;
        return;
    }
    gateway->draining = true;
    gateway->drain_until_ns =
        baton_now_ns() + (int64_t)(gateway->options->fleet.drain_s * (double)BATON_SECOND);
    gw_http_drain(gateway->server);
    gw_streams_drain(&gateway->streams);
    gw_events_drain(gateway->api.events);
    if (gateway->api.batches)
        gw_batches_stop(gateway->api.batches);
    baton_log(BATON_LOG_INFO, "draining", BATON_I("open", drain_models(gateway)));
}

static void on_reload_signal(uv_signal_t *handle, int number)
{
    struct gateway *gateway = of((uv_handle_t *)handle);
    (void)number;
    const struct gw_options *options = gateway->options;
    if (!*options->api_keys && !*options->admin_keys && !*options->fleet.cluster_token_file &&
        !*options->ssl_certfile && !*options->fleet.peer_certfile)
        baton_log(BATON_LOG_INFO, "nothing_to_reload",
                  BATON_S("reason", "no api-keys, no admin-keys, no cluster-token-file, no "
                                    "ssl-certfile, no peer-certfile"));
    gw_access_reload(gateway->access);
    baton_cluster_token_reload(&gateway->token);
    baton_peer_tls_reload();
    /* The fleets are initialised before the server. */
    for (size_t i = 0; i < gateway->n_models && !gateway->closing && gateway->server; i++)
        gw_fleet_token_changed(&gateway->models[i]->fleet);
    gw_certificate_reload(&gateway->certificate);
    if (gateway->server)
        gw_http_set_tls(gateway->server, gateway->certificate.context);
}

static void tick_models(struct gateway *gateway, int64_t now_ns)
{
    for (size_t i = 0; i < gateway->n_models; i++) {
        gw_dispatcher_tick(&gateway->models[i]->dispatcher, now_ns);
        gw_lora_tick(gateway->models[i]->api.lora, now_ns);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct gateway *gateway = of((uv_handle_t *)timer);
    int64_t now_ns = baton_now_ns();
    if (gateway->closing)
        return;
    on_wake(&gateway->wake); /* also ticks the fleet, which no message wakes when all are silent */
    tick_models(gateway, now_ns);
    gw_completions_tick(gateway->api.completions, now_ns);
    gw_kv_debug_tick(gateway->api.kv_debug, now_ns);
    gw_events_tick(gateway->api.events, now_ns);
    gw_response_store_tick(gateway->api.responses, now_ns);
    gw_streams_tick(&gateway->streams, now_ns);
    if (gateway->api.files)
        gw_files_tick(gateway->api.files, (int64_t)time(NULL));
    if (gateway->api.batches)
        gw_batches_tick(gateway->api.batches, now_ns);
    if (gateway->draining &&
        (!gw_http_is_busy(gateway->server) || now_ns >= gateway->drain_until_ns))
        close_all(gateway);
}

/* ---- the start ---- */

static enum baton_err init_loop(struct gateway *gateway, struct baton_why *why)
{
    int status = uv_loop_init(&gateway->loop);
    if (status)
        return baton_fail(why, BATON_IO, "no event loop: %s", uv_strerror(status));
    if (!status)
        status = uv_async_init(&gateway->loop, &gateway->wake, on_wake);
    if (!status)
        status = uv_timer_init(&gateway->loop, &gateway->ticker);
    if (!status)
        status = uv_prepare_init(&gateway->loop, &gateway->prepare);
    if (!status)
        status = uv_signal_init(&gateway->loop, &gateway->on_term);
    if (!status)
        status = uv_signal_init(&gateway->loop, &gateway->on_int);
    if (!status)
        status = uv_signal_init(&gateway->loop, &gateway->on_hup);
    gateway->wake.data = gateway->ticker.data = gateway->prepare.data = gateway->on_term.data =
        gateway->on_int.data = gateway->on_hup.data = gateway;
    if (!status)
        status = uv_timer_start(&gateway->ticker, on_tick, TICK_MS, TICK_MS);
    if (!status)
        status = uv_prepare_start(&gateway->prepare, on_prepare);
    if (!status)
        status = uv_signal_start(&gateway->on_term, on_stop_signal, SIGTERM);
    if (!status)
        status = uv_signal_start(&gateway->on_int, on_stop_signal, SIGINT);
    if (!status)
        status = uv_signal_start(&gateway->on_hup, on_reload_signal, SIGHUP);
    if (!status)
        status = gw_loop_lag_start(&gateway->lag, &gateway->loop);
    (void)signal(SIGPIPE, SIG_IGN);
    return status ? baton_fail(why, BATON_IO, "event loop: %s", uv_strerror(status)) : BATON_OK;
}

/* ---- the API ---- */

static int64_t max_prompt_tokens(const struct gateway *gateway)
{
    int64_t most = 0;
    for (size_t i = 0; i < gateway->n_models; i++) {
        int64_t n = gw_served_model_prompt_tokens(gateway->models[i]);
        most = n > most ? n : most;
    }
    return most;
}

/* Sets what the APIs of all models have in common, but what needs one of them. */
static enum baton_err init_api(struct gateway *gateway, size_t max_body_bytes)
{
    const struct gw_options *options = gateway->options;
    struct gw_response_bounds bounds = gw_settings_responses(options);
    gateway->api =
        (struct gw_api){.loop = &gateway->loop,
                        .served = &gateway->served,
                        .spans = &gateway->spans,
                        .lag = &gateway->lag,
                        .refuses_unknown = options->unknown_fields,
                        .refuses_overlong = options->overlong,
                        .thinking = options->reasoning,
                        .seed = options->seed,
                        .started_s = (int64_t)time(NULL),
                        .server = gateway->server,
                        .timeout_s = options->timeout_s,
                        .max_batch = options->max_batch,
                        .max_per_key = options->max_per_key,
                        .prefix_cache = options->prefix_cache,
                        .prefix_of_key = options->prefix_cache_scope,
                        .model_sampling = options->sampling_defaults,
                        .speculation = {.mode = (enum baton_speculation_mode)options->speculation,
                                        .max_tokens = (int)options->speculation_tokens},
                        .access = gateway->access,
                        .exposure = &gateway->exposure,
                        .streams = &gateway->streams,
                        .files = *options->files_dir ? &gateway->files : NULL,
                        .completions = gw_completions_create(),
                        .kv_debug = gw_kv_debug_create(&gateway->served),
                        .events = gw_events_create(&gateway->feed, &gateway->served),
                        .bodies = gw_bodies_create(&gateway->loop, max_body_bytes),
                        .responses = gw_response_store_create(&bounds)};
    return gateway->api.completions && gateway->api.kv_debug && gateway->api.events &&
                   gateway->api.bodies && gateway->api.responses
               ? BATON_OK
               : BATON_NO_MEMORY;
}

/* Batches send their requests through the API of the first model, which leads to all of them, and
 * it describes the routes. */
static enum baton_err set_apis(struct gateway *gateway)
{
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < gateway->n_models && !err; i++) {
        err = gw_served_model_set_api(gateway->models[i], &gateway->api);
        gateway->served.models[gateway->served.n++] = &gateway->models[i]->api;
    }
    if (err)
        return err;
    struct gw_api *first = gateway->served.models[0];
    if (first->files)
        gateway->api.batches = gw_batches_create(first, (int)gateway->options->batch_lines);
    gateway->openapi = gw_openapi_create(first, &gw_route_table);
    for (size_t i = 0; i < gateway->served.n; i++) {
        gateway->served.models[i]->batches = gateway->api.batches;
        gateway->served.models[i]->openapi = gateway->openapi;
    }
    return gateway->openapi && (gateway->api.batches || !first->files) ? BATON_OK : BATON_NO_MEMORY;
}

static enum baton_err start_http(struct gateway *gateway, struct baton_why *why)
{
    const struct gw_options *options = gateway->options;
    struct gw_http_options http = gw_settings_http(options, max_prompt_tokens(gateway));
    http.tls = gateway->certificate.context;
    http.on_head = on_head;
    http.on_request = on_request;
    http.on_resume = on_resume;
    http.on_gone = on_gone;
    http.on_full = on_full;
    http.on_answered = on_answered;
    http.traces = gw_spans_are_wanted(&gateway->spans);
    http.arg = gateway;
    enum baton_err err = gw_http_start(&gateway->loop, &http, &gateway->server, why);
    if (err)
        return err;
    err = init_api(gateway, http.max_body_bytes);
    if (!err)
        err = set_apis(gateway);
    if (err)
        return err;
    baton_log(BATON_LOG_INFO, "listening", BATON_S("host", options->host),
              BATON_I("port", gw_http_port(gateway->server)),
              BATON_S("scheme", gateway->certificate.context ? "https" : "http"),
              BATON_S("inbox", baton_inbox_url(gateway->inbox)),
              BATON_S("model", gateway->models[0]->names.list[0]),
              BATON_F("process_age_s", baton_process_age_s()));
    return BATON_OK;
}

static void do_nothing(uv_work_t *work)
{
    (void)work;
}

/* Starts libuv's pool with work that does nothing. libuv creates the threads at the first work, and
 * aborts if it cannot: better at the start than at the first large body. The threads inherit the
 * caller's name, so this thread has theirs meanwhile. */
static enum baton_err start_pool(struct gateway *gateway, struct baton_why *why)
{
    char name[16];
    if (pthread_getname_np(pthread_self(), name, sizeof name))
        return baton_fail(why, BATON_IO, "the main thread's name cannot be read");
    (void)pthread_setname_np(pthread_self(), "libuv-worker");
    int status = uv_queue_work(&gateway->loop, &gateway->first_work, do_nothing, NULL);
    (void)pthread_setname_np(pthread_self(), name);
    return status ? baton_fail(why, BATON_IO, "libuv's pool: %s", uv_strerror(status)) : BATON_OK;
}

static enum baton_err open_model(struct gateway *gateway, const struct gw_more_model *more,
                                 struct baton_why *why)
{
    struct gw_served_model *served = gw_served_model_create(gateway->options);
    if (!served)
        return BATON_NO_MEMORY;
    gateway->models[gateway->n_models++] = served;
    enum baton_err err = gw_served_model_open(served, more, why);
    for (size_t i = 0; i + 1 < gateway->n_models && !err; i++)
        err = gw_served_model_check_apart(gateway->models[i], served, why);
    return err;
}

static enum baton_err open_models(struct gateway *gateway, struct baton_why *why)
{
    struct gw_more_models *more = &gateway->more_models;
    enum baton_err err = gw_more_models_parse(more, gateway->options->more_models, why);
    if (!err)
        err = open_model(gateway, NULL, why);
    for (size_t i = 0; i < more->n && !err; i++)
        err = open_model(gateway, &more->list[i], why);
    return err;
}

static enum baton_err start_models(struct gateway *gateway)
{
    const struct gw_fleet_surroundings around = {.epoch = gateway->epoch,
                                                 .token = &gateway->token,
                                                 .fleets = &gateway->served.fleets,
                                                 .is_one_of_several = gateway->n_models > 1,
                                                 .inbox = gateway->inbox,
                                                 .spans = &gateway->spans,
                                                 .feed = &gateway->feed,
                                                 .wake = wake,
                                                 .wake_arg = gateway};
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < gateway->n_models && !err; i++) {
        err = gw_served_model_start(gateway->models[i], &around);
        gateway->served.fleets.list[gateway->served.fleets.n++] = &gateway->models[i]->fleet;
    }
    return err;
}

static enum baton_err open_spans(struct gateway *gateway, struct baton_why *why)
{
    const struct gw_options *options = gateway->options;
    return gw_spans_open(&gateway->spans,
                         &(struct gw_spans_options){.file = options->otlp_file,
                                                    .endpoint = options->otlp_endpoint,
                                                    .headers_file = options->otlp_headers_file,
                                                    .cafile = options->otlp_cafile,
                                                    .gateway = options->id},
                         why);
}

/* Checks what it can before it opens the model, which takes the longest. The inbox comes after the
 * model, so that no worker connects to a gateway that cannot serve. */
static enum baton_err start(struct gateway *gateway, struct baton_why *why)
{
    size_t max_bytes =
        baton_frame_size(BATON_FRAME_MAX_HEADER, 0); /* contexts go to workers only */
    baton_open_files_allow(gateway->options->max_connections + OWN_FILES,
                           "raise the hard limit (ulimit -Hn) or lower --max-connections");
    enum baton_err err = baton_nng_start(OWN_THREADS, why);
    if (!err)
        err = start_pool(gateway, why);
    const struct gw_access_options access = gw_settings_access(gateway->options);
    if (!err)
        err = gw_access_open(&access, &gateway->access, why);
    if (!err)
        err = open_spans(gateway, why);
    if (!err)
        err = baton_cluster_token_open(&gateway->token, gateway->options->fleet.cluster_token,
                                       gateway->options->fleet.cluster_token_file, why);
    if (!err && *gateway->options->files_dir)
        err = gw_files_open(&gateway->files, gateway->options->files_dir,
                            (uint64_t)gateway->options->files_bytes, why);
    const struct gw_doors doors = gw_settings_doors(gateway->options);
    if (!err)
        err = gw_exposure_check(&doors, &gateway->token, &gateway->exposure, why);
    if (!err)
        err = gw_certificate_open(&gateway->certificate, gateway->options->ssl_certfile,
                                  gateway->options->ssl_keyfile, why);
    if (!err)
        err = baton_peer_tls_open(gateway->options->fleet.peer_certfile,
                                  gateway->options->fleet.peer_keyfile,
                                  gateway->options->fleet.peer_cafile, why);
    if (!err)
        err = open_models(gateway, why);
    if (!err)
        err = baton_inbox_open(&(struct baton_inbox_options){.url = gateway->options->inbox,
                                                             .max_message_bytes = max_bytes,
                                                             .max_queued = INBOX_MAX_QUEUED,
                                                             .max_queued_bytes = INBOX_MAX_BYTES,
                                                             .wake = wake,
                                                             .wake_arg = gateway},
                               &gateway->inbox, why);
    if (err)
        return err;
    err = start_models(gateway);
    return err ? err : start_http(gateway, why);
}

static void release(struct gateway *gateway)
{
    for (size_t i = 0; i < gateway->n_models; i++)
        gw_served_model_forget_requests(gateway->models[i]);
    gw_completions_destroy(gateway->api.completions);
    gw_streams_fini(&gateway->streams);
    gw_kv_debug_destroy(gateway->api.kv_debug);
    gw_events_destroy(gateway->api.events);
    gw_feed_fini(&gateway->feed);
    gw_bodies_destroy(gateway->api.bodies);
    gw_response_store_destroy(gateway->api.responses);
    gw_batches_destroy(gateway->api.batches);
    gw_files_close(&gateway->files);
    gw_openapi_destroy(gateway->openapi);
    gw_access_close(gateway->access);
    gw_certificate_close(&gateway->certificate);
    baton_peer_tls_close();
    gw_spans_close(&gateway->spans);
    for (size_t i = 0; i < gateway->n_models; i++)
        gw_served_model_free(gateway->models[i]);
    gw_more_models_fini(&gateway->more_models);
}

/* Without the second line, small blocks that are freed do not join their neighbours, and the heaps
 * of the pool's threads, which bodies use in turn, never shrink. */
static void keep_little_free_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    (void)mallopt(M_MXFAST, 0);
}

enum baton_err gw_run(const struct gw_options *options, struct baton_why *why)
{
    struct gateway gateway = {.options = options, .epoch = baton_random_id(), .spans = {.fd = -1}};
    gw_files_init(&gateway.files);
    keep_little_free_memory();
    gw_feed_init(&gateway.feed);
    struct gw_stream_bounds bounds = gw_settings_streams(options);
    gw_streams_init(&gateway.streams, &bounds);
    enum baton_err err = init_loop(&gateway, why);
    if (err)
        return err;
    err = start(&gateway, why);
    if (!err) {
        (void)uv_run(&gateway.loop, UV_RUN_DEFAULT);
        baton_log(BATON_LOG_INFO, "stopped", BATON_S("gateway", options->id));
    } else if (gateway.server) {
        close_all(&gateway);
    } else {
        close_handles(&gateway);
    }
    (void)uv_run(&gateway.loop,
                 UV_RUN_DEFAULT); /* after a failed start: runs the close callbacks */
    (void)uv_loop_close(&gateway.loop);
    release(&gateway);
    return err;
}
