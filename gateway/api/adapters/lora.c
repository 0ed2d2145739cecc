#include "gateway/api/adapters/lora.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "gateway/api/answer.h"
#include "gateway/api/choose_model.h"

enum { MAX_OPEN = 8 };

/* An adapter of hundreds of megabytes is read and packed in seconds; a cold disk takes longer. */
#define TIME_NS (300 * BATON_SECOND)

struct wanted {
    char name[BATON_MAX_ADAPTER_NAME + 1], path[BATON_MAX_ADAPTER_PATH + 1];
    float scale;
};

/* One exchange that waits for workers. */
struct order {
    struct gw_other_user user; /* first: its exchange's data is this */
    struct baton_node in_open;
    struct gw_lora *lora;
    struct gw_exchange *exchange; /* NULL: its client is gone */
    uint64_t id;
    int64_t until_ns;
    bool drops;
    struct wanted wanted;
    char error[BATON_MAX_TEXT_BYTES + BATON_MAX_ID_BYTES + 16]; /* of the first worker; "": none */
    size_t n_asked, n_over;
    uint32_t tags[]; /* of workers that have not answered; 0: answered */
};

BATON_LIST(order_list, struct order, in_open)

struct gw_lora {
    struct gw_fleet *fleet;
    struct order_list open;
    uint64_t last_id;
    size_t n_loaded;
    struct wanted loaded[BATON_MAX_ADAPTERS]; /* for workers that join later */
};

struct gw_lora *gw_lora_create(struct gw_fleet *fleet)
{
    struct gw_lora *lora = calloc(1, sizeof *lora);
    if (!lora)
        return NULL;
    lora->fleet = fleet;
    order_list_init(&lora->open);
    return lora;
}

static void forget(struct order *order)
{
    order_list_remove(&order->lora->open, order);
    free(order);
}

void gw_lora_destroy(struct gw_lora *lora)
{
    if (!lora)
        return;
    for (struct order *order; (order = order_list_first(&lora->open));)
        forget(order);
    free(lora);
}

/* The order goes on: a load that succeeds on some workers must end on all of them. */
static void forget_client(struct gw_other_user *user)
{
    ((struct order *)user)->exchange = NULL;
}

/* ---- what later workers get ---- */

static size_t find_loaded(const struct gw_lora *lora, const char *name)
{
    size_t i = 0;
    while (i < lora->n_loaded && strcmp(lora->loaded[i].name, name) != 0)
        i++;
    return i;
}

static void note_loaded(struct gw_lora *lora, const struct wanted *wanted)
{
    size_t i = find_loaded(lora, wanted->name);
    if (i == BATON_MAX_ADAPTERS)
        return;
    lora->loaded[i] = *wanted;
    lora->n_loaded += i == lora->n_loaded;
}

static void note_dropped(struct gw_lora *lora, const char *name)
{
    size_t i = find_loaded(lora, name);
    if (i < lora->n_loaded)
        lora->loaded[i] = lora->loaded[--lora->n_loaded];
}

/* ---- messages ---- */

static enum baton_err send_load(struct gw_worker *worker, uint64_t id, const struct wanted *wanted)
{
    Baton__V1__LoadAdapter load = BATON__V1__LOAD_ADAPTER__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    load.order = id;
    load.name = baton_envelope_text(wanted->name);
    load.path = baton_envelope_text(wanted->path);
    load.scale = wanted->scale;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_LOAD_ADAPTER;
    envelope.load_adapter = &load;
    return gw_worker_send(worker, &envelope);
}

static enum baton_err send_drop(struct gw_worker *worker, uint64_t id, const char *name)
{
    Baton__V1__DropAdapter drop = BATON__V1__DROP_ADAPTER__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    drop.order = id;
    drop.name = baton_envelope_text(name);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_DROP_ADAPTER;
    envelope.drop_adapter = &drop;
    return gw_worker_send(worker, &envelope);
}

/* Takes a half-loaded adapter from the workers that have it. */
static void take_back(struct order *order)
{
    const struct gw_fleet *fleet = order->lora->fleet;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        const struct gw_adapter *adapter = gw_adapters_find(&worker->adapters, order->wanted.name);
        if (adapter && !strcmp(adapter->path, order->wanted.path))
            (void)send_drop(worker, 0, order->wanted.name);
    }
}

/* ---- the end of an order ---- */

static void answer(struct order *order)
{
    char text[sizeof order->error + 64];
    if (!order->exchange)
        return;
    gw_exchange_set_data(order->exchange, NULL);
    if (*order->error) {
        gw_answer_error(order->exchange, 400, "invalid_value", order->error);
        return;
    }
    int n = snprintf(text, sizeof text, "Success: LoRA adapter '%s' %s successfully.",
                     order->wanted.name, order->drops ? "removed" : "added");
    gw_exchange_respond(order->exchange, 200, "text/plain; charset=utf-8", "", text, (size_t)n);
}

static void finish(struct order *order)
{
    if (order->drops)
        note_dropped(order->lora, order->wanted.name);
    else if (*order->error)
        take_back(order);
    else
        note_loaded(order->lora, &order->wanted);
    baton_log(*order->error ? BATON_LOG_WARN : BATON_LOG_INFO, "adapter_order",
              BATON_S("adapter", order->wanted.name),
              BATON_S("order", order->drops ? "drop" : "load"), BATON_I("workers", order->n_asked),
              BATON_S("error", order->error));
    answer(order);
    forget(order);
}

/* The order may be over, and freed, after this. */
static void settle(struct order *order, size_t at, const char *worker, const char *error)
{
    order->tags[at] = 0;
    if (*error && !*order->error)
        (void)snprintf(order->error, sizeof order->error, "worker %s: %s", worker, error);
    if (++order->n_over == order->n_asked)
        finish(order);
}

static size_t find_tag(const struct order *order, uint32_t tag)
{
    size_t i = 0;
    while (i < order->n_asked && order->tags[i] != tag)
        i++;
    return i;
}

void gw_lora_handle(struct gw_lora *lora, const struct gw_worker *worker,
                    const Baton__V1__AdapterList *list)
{
    struct order *order = order_list_first(&lora->open);
    while (order && order->id != list->order)
        order = order_list_next(&lora->open, order);
    size_t at = order ? find_tag(order, worker->tag) : 0;
    if (order && at < order->n_asked)
        settle(order, at, worker->id, list->error);
}

void gw_lora_worker_lost(struct gw_lora *lora, const struct gw_worker *worker)
{
    for (struct order *order = order_list_first(&lora->open), *next; order; order = next) {
        next = order_list_next(&lora->open, order);
        size_t at = find_tag(order, worker->tag);
        if (at < order->n_asked)
            settle(order, at, worker->id, "");
    }
}

/* A worker lacks what was loaded before it joined. */
static void give(const struct gw_lora *lora, struct gw_worker *worker)
{
    worker->was_given_adapters = true;
    for (size_t i = 0; i < lora->n_loaded && worker->adapts; i++)
        if (!gw_adapters_find(&worker->adapters, lora->loaded[i].name) &&
            send_load(worker, 0, &lora->loaded[i]))
            return; /* its link is down */
}

void gw_lora_tick(struct gw_lora *lora, int64_t now_ns)
{
    struct order *order; /* the list is in order of until_ns */
    while ((order = order_list_first(&lora->open)) && now_ns >= order->until_ns) {
        (void)snprintf(order->error, sizeof order->error, "a worker has not answered");
        finish(order);
    }
    for (struct gw_worker *worker = gw_worker_list_first(&lora->fleet->workers);
         worker && lora->n_loaded; worker = gw_worker_list_next(&lora->fleet->workers, worker))
        if (!worker->was_given_adapters && worker->state == GW_WORKER_READY)
            give(lora, worker);
}

/* ---- orders ---- */

static bool is_asked(const struct gw_worker *worker, const struct order *order)
{
    return worker->state != GW_WORKER_JOINING && worker->state != GW_WORKER_DRAINING &&
           (!order->drops || gw_adapters_find(&worker->adapters, order->wanted.name));
}

/* A worker whose link is down needs no order: it is about to be lost. */
static void ask(struct order *order, struct gw_worker *worker)
{
    enum baton_err err = order->drops ? send_drop(worker, order->id, order->wanted.name)
                                      : send_load(worker, order->id, &order->wanted);
    if (!err)
        order->tags[order->n_asked++] = worker->tag;
}

/* Before any worker is asked: an adapter that some worker cannot have is on none. */
static void judge(struct order *order)
{
    size_t n = 0;
    for (struct gw_worker *worker = gw_worker_list_first(&order->lora->fleet->workers); worker;
         worker = gw_worker_list_next(&order->lora->fleet->workers, worker)) {
        n += is_asked(worker, order);
        if (is_asked(worker, order) && !worker->adapts)
            (void)snprintf(order->error, sizeof order->error,
                           "worker %s takes no adapters: start it with --enable-lora", worker->id);
    }
    if (!n)
        (void)snprintf(order->error, sizeof order->error, "no worker is ready; try again shortly");
}

static struct order *open_order(struct gw_lora *lora, struct gw_exchange *exchange,
                                const struct wanted *wanted, bool drops)
{
    struct order *order = calloc(1, sizeof *order + lora->fleet->workers.n * sizeof order->tags[0]);
    if (!order)
        return NULL;
    order->user = (struct gw_other_user){.user = GW_USER_OTHER, .gone = forget_client};
    order->lora = lora;
    order->exchange = exchange;
    order->id = ++lora->last_id;
    order->until_ns = baton_now_ns() + TIME_NS;
    order->drops = drops;
    order->wanted = *wanted;
    order_list_push_back(&lora->open, order);
    gw_exchange_set_data(exchange, order);
    return order;
}

static void start(struct gw_lora *lora, struct gw_exchange *exchange, const struct wanted *wanted,
                  bool drops)
{
    if (lora->open.n >= MAX_OPEN) {
        gw_answer_error(exchange, 429, "too_many_requests", "8 of these requests are open already");
        return;
    }
    struct order *order = open_order(lora, exchange, wanted, drops);
    if (!order) {
        gw_answer_error(exchange, 503, "out_of_memory", "no memory for the request");
        return;
    }
    judge(order);
    for (struct gw_worker *worker = gw_worker_list_first(&lora->fleet->workers);
         worker && !*order->error; worker = gw_worker_list_next(&lora->fleet->workers, worker))
        if (is_asked(worker, order))
            ask(order, worker);
    if (!order->n_asked)
        finish(order);
}

/* ---- the endpoints ---- */

static void read_text(struct gw_fields *fields, const char *field, char *text, size_t n_bytes)
{
    size_t n = 0;
    const char *value = baton_json_string(gw_field_of(fields, field, GW_IS_STRING, "a string"), &n);
    if (!value || !n || n >= n_bytes || strlen(value) != n)
        gw_fields_fail(fields, field, value ? "out_of_range" : "missing_field",
                       "%s: must be a string of 1 to %zu bytes", field, n_bytes - 1);
    else
        memcpy(text, value, n + 1);
}

static void read_name(struct gw_fields *fields, struct wanted *wanted)
{
    read_text(fields, "lora_name", wanted->name, sizeof wanted->name);
    if (!fields->failed && !baton_adapter_is_name(wanted->name))
        gw_fields_fail(fields, "lora_name", "invalid_value",
                       "lora_name: must have 1 to %d characters of [A-Za-z0-9._/-]",
                       BATON_MAX_ADAPTER_NAME);
}

/* The model that has the adapter; api first. NULL: none has. */
static struct gw_api *owner_of(struct gw_api *api, const char *name)
{
    struct gw_api *of = gw_fleet_adapter(api->fleet, name) ? api : NULL;
    for (size_t i = 0; i < api->served->n && !of; i++)
        if (gw_fleet_adapter(api->served->models[i]->fleet, name))
            of = api->served->models[i];
    return of;
}

/* Names are unique among all models and adapters, so that each leads to one model. */
static bool is_taken(struct gw_api *api, const struct wanted *wanted, bool in_place)
{
    const struct gw_api *of = owner_of(api, wanted->name);
    return gw_model_listed(api, wanted->name) || (of && !(in_place && of == api));
}

void gw_lora_load(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    struct gw_fields fields = gw_fields(body);
    struct wanted wanted = {.scale = 1};
    bool in_place = false;
    double scale = 1;
    fields.schema = api->schema;
    read_name(&fields, &wanted);
    read_text(&fields, "lora_path", wanted.path, sizeof wanted.path);
    gw_field_bool(&fields, "load_inplace", &in_place);
    gw_field_real(&fields, "scale", -BATON_MAX_ADAPTER_SCALE, false, BATON_MAX_ADAPTER_SCALE,
                  &scale);
    (void)gw_field(&fields, "base_model_name"); /* has chosen the model, if there are several */
    gw_fields_refuse_unknown(&fields);
    wanted.scale = (float)scale;
    if (api->schema)
        return;
    if (!fields.failed && is_taken(api, &wanted, in_place))
        gw_fields_fail(&fields, "lora_name", "invalid_value",
                       "lora_name: the name '%s' is taken; load_inplace replaces an adapter",
                       wanted.name);
    if (fields.failed)
        gw_answer_problem(exchange, &fields.problem);
    else
        start(api->lora, exchange, &wanted, false);
}

void gw_lora_drop(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    struct gw_fields fields = gw_fields(body);
    struct wanted wanted = {.scale = 1};
    fields.schema = api->schema;
    read_name(&fields, &wanted);
    (void)gw_field(&fields, "lora_int_id"); /* vLLM's, which ignores it as well */
    gw_fields_refuse_unknown(&fields);
    if (api->schema)
        return;
    struct gw_api *of = fields.failed ? NULL : owner_of(api, wanted.name);
    if (!fields.failed && !of) {
        gw_fields_fail(&fields, "lora_name", "not_found", "lora_name: no adapter is called '%s'",
                       wanted.name);
        fields.problem.status = 404;
    }
    if (fields.failed)
        gw_answer_problem(exchange, &fields.problem);
    else
        start(of->lora, exchange, &wanted, true);
}
