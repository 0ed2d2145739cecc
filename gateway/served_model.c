#include "gateway/served_model.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "gateway/api/routes/debug_kv.h"
#include "gateway/dispatch/worker_messages.h"

/* ---- what the fleet reports ---- */

static void on_message(void *arg, struct gw_worker *worker, const baton_envelope *envelope)
{
    struct gw_served_model *served = arg;
    const struct gw_api *api = &served->api;
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_ADAPTER_LIST) {
        gw_lora_handle(api->lora, worker, envelope->adapter_list);
        return;
    }
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_ACCOUNT) {
        gw_kv_debug_handle(api->kv_debug, worker, envelope->kv_account);
        return;
    }
    gw_http_gather(api->server);
    gw_worker_messages_handle(&served->dispatcher, worker, envelope);
    gw_http_flush(api->server);
}

static void on_lost(void *arg, struct gw_worker *worker, const char *reason)
{
    struct gw_served_model *served = arg;
    gw_feed_worker_gone(served->core.feed, worker, reason);
    gw_dispatcher_worker_lost(&served->dispatcher, worker);
    gw_kv_debug_worker_lost(served->api.kv_debug, worker);
    gw_lora_worker_lost(served->api.lora, worker);
}

static void on_unfit(void *arg, struct gw_worker *worker)
{
    struct gw_served_model *served = arg;
    gw_http_gather(served->api.server);
    gw_dispatcher_worker_unfit(&served->dispatcher, worker);
    gw_http_flush(served->api.server);
}

static void on_capacity(void *arg)
{
    struct gw_served_model *served = arg;
    served->dispatcher.lifecycle.wants_pump = true;
}

/* ---- the start ---- */

struct gw_served_model *gw_served_model_create(const struct gw_options *options)
{
    struct gw_served_model *served = calloc(1, sizeof *served);
    if (!served)
        return NULL;
    served->options = options;
    gw_requests_init(&served->requests);
    served->metrics.slo =
        (struct gw_slo){.ttft_s = options->slo_ttft_s, .itl_s = options->slo_itl_s};
    return served;
}

static void set_names(struct gw_model_names *names, const struct gw_more_model *more,
                      const char *own)
{
    *names = (struct gw_model_names){.n = 1, .list = {own}};
    for (int i = 0; i < more->n_names; i++)
        names->list[i] = more->names[i];
    if (more->n_names)
        names->n = more->n_names;
    names->n_given = names->n;
}

enum baton_err gw_served_model_open(struct gw_served_model *served,
                                    const struct gw_more_model *more, struct baton_why *why)
{
    const struct gw_options *options = served->options;
    struct gw_model_options own = {.path = options->checkpoint.model,
                                   .chat_template = options->chat_template,
                                   .context_tokens = options->checkpoint.context_tokens};
    if (more)
        own = (struct gw_model_options){.path = more->path, .chat_template = "auto"};
    enum baton_err err = gw_model_open(&served->model, &own, options, why);
    if (err && more) {
        struct baton_why reason = *why;
        return baton_fail(why, err, "--more-models %.256s: %.600s", more->path, reason.text);
    }
    if (!err && more)
        set_names(&served->names, more, served->model.facts.name);
    else if (!err)
        err = gw_model_names_parse(&served->names, options->served_model_name,
                                   served->model.facts.name, why);
    return err;
}

/* Without the weights only the names of the files tell models of the same shape apart. */
static bool is_same(const struct gw_model *a, const struct gw_model *b)
{
    const struct baton_fingerprint *of_a = &a->fingerprint, *of_b = &b->fingerprint;
    return !strcmp(of_a->config, of_b->config) && !strcmp(of_a->tokenizer, of_b->tokenizer) &&
           !strcmp(of_a->weights, of_b->weights) &&
           (*of_a->weights || !strcmp(a->facts.name, b->facts.name));
}

enum baton_err gw_served_model_check_apart(const struct gw_served_model *a,
                                           const struct gw_served_model *b, struct baton_why *why)
{
    for (int i = 0; i < a->names.n; i++)
        if (gw_model_names_lists(&b->names, a->names.list[i]))
            return baton_fail(why, BATON_INVALID,
                              "two models are called \"%.128s\": give one another name with "
                              "--served-model-name or --more-models NAME=PATH",
                              a->names.list[i]);
    if (is_same(&a->model, &b->model))
        return baton_fail(why, BATON_INVALID,
                          "\"%.128s\" and \"%.128s\" are the same model: further names of a model "
                          "belong in --served-model-name, or in --more-models with the same path",
                          a->names.list[0], b->names.list[0]);
    return BATON_OK;
}

static void init_fleet(struct gw_served_model *served, const struct gw_fleet_surroundings *around)
{
    const struct gw_options *options = served->options;
    gw_fleet_init(
        &served->fleet,
        &(struct gw_fleet_options){
            .identity = {.epoch = around->epoch,
                         .gateway_id = options->id,
                         .token = around->token,
                         .fingerprint = &served->model.fingerprint,
                         .facts = &served->model.facts},
            .fleets = around->fleets,
            .inbox = around->inbox,
            .heartbeat = {.beat_ns = (int64_t)(options->fleet.beat_s * (double)BATON_SECOND),
                          .silence_ns = (int64_t)(options->fleet.silence_s * (double)BATON_SECOND),
                          .per_s = GW_BEATS_PER_S},
            .absence_ns = gw_settings_absence_ns(options),
            .wake = around->wake,
            .wake_arg = around->wake_arg,
            .on_message = on_message,
            .on_lost = on_lost,
            .on_unfit = on_unfit,
            .on_capacity = on_capacity,
            .arg = served});
    served->has_fleet = true;
}

enum baton_err gw_served_model_start(struct gw_served_model *served,
                                     const struct gw_fleet_surroundings *around)
{
    const struct gw_options *options = served->options;
    struct gw_routing_options routing = gw_settings_routing(options);
    if (around->is_one_of_several)
        routing.model = served->names.list[0];
    init_fleet(served, around);
    served->core = (struct gw_core){
        .requests = &served->requests,
        .detokenizer = {.tokenizer = served->model.tokenizer, .facts = &served->model.facts},
        .metrics = &served->metrics,
        .spans = around->spans,
        .feed = around->feed};
    return gw_dispatcher_init(
        &served->dispatcher,
        &(struct gw_dispatcher_options){.lifecycle = {.max_attempts = options->max_attempts,
                                                      .migration_limit = options->migration_limit},
                                        .routing = routing,
                                        .bounds = {.max_queued = options->max_queued,
                                                   .max_queued_tokens = options->max_queued_tokens,
                                                   .max_wait_s = options->max_wait_s}},
        &served->core, &served->fleet);
}

void gw_served_model_stop(struct gw_served_model *served)
{
    if (served->has_fleet)
        gw_fleet_fini(&served->fleet);
    served->has_fleet = false;
}

int64_t gw_served_model_prompt_tokens(const struct gw_served_model *served)
{
    int64_t wanted = served->options->max_prompt_tokens;
    int64_t context = served->model.facts.n_context_tokens;
    return wanted && wanted < context ? wanted : context;
}

enum baton_err gw_served_model_set_api(struct gw_served_model *served, const struct gw_api *common)
{
    struct gw_api *api = &served->api;
    *api = *common;
    api->requests = &served->requests;
    api->dispatcher = &served->dispatcher;
    api->fleet = &served->fleet;
    api->metrics = &served->metrics;
    api->tokenizer = served->model.tokenizer;
    api->pool_tokenizer = served->model.pool_tokenizer;
    api->facts = &served->model.facts;
    api->fim = &served->model.fim;
    api->names = &served->names;
    api->text_prompts = served->model.text_prompts;
    api->fingerprint = &served->model.fingerprint;
    api->chat = served->model.chat;
    api->max_prompt_tokens = gw_served_model_prompt_tokens(served);
    api->adapter_defaults = &served->adapter_defaults;
    api->lora = gw_lora_create(&served->fleet);
    return api->lora ? BATON_OK : BATON_NO_MEMORY;
}

/* ---- the end ---- */

void gw_served_model_forget_requests(struct gw_served_model *served)
{
    struct gw_requests *requests = &served->requests;
    for (int state = 0; state < GW_N_STATES; state++)
        for (struct gw_request *request;
             (request = gw_request_list_first(&requests->by_state[state]));)
            gw_request_destroy(requests, request);
}

void gw_served_model_free(struct gw_served_model *served)
{
    gw_lora_destroy(served->api.lora);
    gw_dispatcher_fini(&served->dispatcher);
    gw_model_names_fini(&served->names);
    gw_model_close(&served->model);
    free(served);
}
