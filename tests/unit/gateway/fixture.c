#include "tests/unit/gateway/fixture_parts.h"

#include <string.h>

enum { TICK_MS = 25 };

struct gw_requests requests;
struct gw_fleet fleet;
struct gw_metrics metrics;
static struct gw_core core;
struct gw_dispatcher dispatcher;
struct baton_model_facts facts;
struct baton_cluster_token cluster_token;
int absence_ms, migration_limit;
unsigned beats_per_s;

static const struct baton_fingerprint fingerprint = {.config = "c", .tokenizer = "t"};
static struct baton_tokenizer *tokenizer;
bool workers_lie;

static void on_message(void *arg, struct gw_worker *worker, const baton_envelope *envelope)
{
    (void)arg;
    gw_worker_messages_handle(&dispatcher, worker, envelope);
}

static void on_lost(void *arg, struct gw_worker *worker, const char *reason)
{
    (void)arg;
    (void)reason;
    gw_dispatcher_worker_lost(&dispatcher, worker);
}

static void on_unfit(void *arg, struct gw_worker *worker)
{
    (void)arg;
    gw_dispatcher_worker_unfit(&dispatcher, worker);
}

static void on_capacity(void *arg)
{
    (void)arg;
    dispatcher.lifecycle.wants_pump = true;
}

/* The tests say when the gateway looks. */
static void no_wake(void *arg)
{
    (void)arg;
}

void gateway_open(const struct gw_routing_options *routing)
{
    struct gw_dispatcher_options options = {
        .lifecycle = {.max_attempts = MAX_ATTEMPTS, .migration_limit = migration_limit},
        .routing = {.prefill = BATON_ROUTING_LEAST_LOADED, .decode = BATON_ROUTING_LEAST_LOADED},
        .bounds = {.max_queued = 100, .max_queued_tokens = 100000}};
    clock_ns = 1000 * BATON_SECOND;
    n_far = n_all_sent = 0;
    n_rejected_messages = n_ended_pipes = n_links_opened = 0;
    memset(&metrics, 0, sizeof metrics);
    cluster_token =
        (struct baton_cluster_token){.path = "", .n = 2, .texts = {"secret", "second secret"}};
    facts = (struct baton_model_facts){.n_context_tokens = 1024, .n_vocab = 2560};
    if (!tokenizer)
        assert_ok(baton_tokenizer_open("models/tale", &tokenizer, NULL));
    core = (struct gw_core){.requests = &requests,
                            .metrics = &metrics,
                            .detokenizer = {.tokenizer = tokenizer, .facts = &facts}};
    if (routing)
        options.routing = *routing;
    gw_requests_init(&requests);
    gw_fleet_init(&fleet, &(struct gw_fleet_options){
                              .identity = {.epoch = 1,
                                           .gateway_id = "gateway-0",
                                           .token = &cluster_token,
                                           .fingerprint = &fingerprint,
                                           .facts = &facts},
                              .heartbeat = {.beat_ns = BEAT_MS * BATON_MS, .per_s = beats_per_s},
                              .wake = no_wake,
                              .absence_ns = absence_ms * BATON_MS,
                              .on_message = on_message,
                              .on_lost = on_lost,
                              .on_unfit = on_unfit,
                              .on_capacity = on_capacity});
    assert_ok(gw_dispatcher_init(&dispatcher, &options, &core, &fleet));
}

void gateway_close(void)
{
    for (int state = 0; state < GW_N_STATES; state++)
        for (struct gw_request *request;
             (request = gw_request_list_first(&requests.by_state[state]));)
            gw_request_destroy(&requests, request);
    gw_dispatcher_fini(&dispatcher);
    gw_fleet_fini(&fleet);
    if (workers_lie)
        return;
    baton_tokenizer_close(tokenizer);
    tokenizer = NULL;
}

int close_gateway(void **state)
{
    (void)state;
    gateway_close();
    migration_limit = absence_ms = 0;
    return 0;
}

int64_t now_ns(void)
{
    return clock_ns;
}

void tick(void)
{
    gw_fleet_tick(&fleet, clock_ns, true);
    gw_dispatcher_tick(&dispatcher, clock_ns);
    gw_dispatcher_pump(&dispatcher);
}

void pass_ms(int ms)
{
    for (int passed = 0; passed < ms; passed += TICK_MS) {
        clock_ns += TICK_MS * BATON_MS;
        for (size_t i = 0; clock_ns / BATON_MS % BEAT_MS == 0 && i < n_far; i++)
            if (!far[i]->is_silent && known(far[i]))
                say_status(far[i]);
        tick();
    }
}

void freeze_ms(int ms)
{
    clock_ns += ms * BATON_MS;
    tick();
}
