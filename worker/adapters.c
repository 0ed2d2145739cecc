#include "worker/adapters.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/list.h"
#include "common/base/log.h"
#include "common/params/adapters.h"

_Static_assert((int)BATON_BLEND_MAX == (int)BATON_MAX_BLENDED,
               "the engine sums as many adapters as a request may name");

enum { MAX_ORDERS = 2 * BATON_MAX_ADAPTERS };

struct baton_held_adapter {
    struct baton_adapter *adapter;
    char name[BATON_MAX_ADAPTER_NAME + 1], path[BATON_MAX_ADAPTER_PATH + 1];
    char digest[BATON_SHA256_HEX];
    int n_holds;
    bool is_dropped;
    Baton__V1__Adapter message; /* its texts are the fields above */
};

/* An order of a gateway, in one of the two lists until it is freed. */
struct order {
    struct baton_node in_list;
    struct baton_adapter_done done;
    bool drops;
    char name[BATON_MAX_ADAPTER_NAME + 1], path[BATON_MAX_ADAPTER_PATH + 1];
    float scale;
    struct baton_adapter *adapter; /* loaded, and not held yet */
    double load_s;
};

BATON_LIST(order_list, struct order, in_list)

struct baton_adapters {
    struct baton_adapters_options options;
    size_t n;
    struct baton_held_adapter *held[BATON_MAX_ADAPTERS]; /* by name */
    Baton__V1__Adapter *messages[BATON_MAX_ADAPTERS];

    /* shared with the loader, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct order_list waiting, over;
    bool stops;
    pthread_t loader;
    bool has_loader;
};

/* ---- held adapters, main thread ---- */

static void free_held(struct baton_held_adapter *held)
{
    baton_adapter_close(held->adapter);
    free(held);
}

static void list_messages(struct baton_adapters *adapters)
{
    for (size_t i = 0; i < adapters->n; i++)
        adapters->messages[i] = &adapters->held[i]->message;
}

static struct baton_held_adapter **find(struct baton_adapters *adapters, const char *name)
{
    for (size_t i = 0; i < adapters->n; i++)
        if (!strcmp(adapters->held[i]->name, name))
            return &adapters->held[i];
    return NULL;
}

/* Requests that hold it keep it. */
static void drop(struct baton_held_adapter *held)
{
    held->is_dropped = true;
    if (!held->n_holds)
        free_held(held);
}

static bool remove_named(struct baton_adapters *adapters, const char *name)
{
    struct baton_held_adapter **place = find(adapters, name);
    if (!place)
        return false;
    drop(*place);
    *place = adapters->held[--adapters->n];
    list_messages(adapters);
    return true;
}

static enum baton_err add(struct baton_adapters *adapters, struct order *order,
                          struct baton_why *why)
{
    struct baton_held_adapter *held = calloc(1, sizeof *held);
    if (!held)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for the adapter");
    (void)remove_named(adapters, order->name);
    if (adapters->n == BATON_MAX_ADAPTERS) {
        free(held);
        return baton_fail(why, BATON_LIMIT, "a worker has at most %d adapters", BATON_MAX_ADAPTERS);
    }
    const struct baton_adapter_info *info = baton_adapter_info(order->adapter);
    held->adapter = order->adapter;
    order->adapter = NULL;
    memcpy(held->name, order->name, sizeof held->name);
    memcpy(held->path, order->path, sizeof held->path);
    memcpy(held->digest, info->digest, sizeof held->digest);
    baton__v1__adapter__init(&held->message);
    held->message.name = held->name;
    held->message.path = held->path;
    held->message.digest = held->digest;
    held->message.scale = order->scale;
    held->message.rank = (uint32_t)info->rank;
    adapters->held[adapters->n++] = held;
    list_messages(adapters);
    baton_log(BATON_LOG_INFO, "adapter_loaded", BATON_S("adapter", held->name),
              BATON_S("path", held->path), BATON_S("sha256", held->digest),
              BATON_I("rank", info->rank), BATON_I("bytes", info->n_bytes),
              BATON_F("load_s", order->load_s));
    return BATON_OK;
}

/* ---- the loader ---- */

static enum baton_err load(const struct baton_adapters *adapters, struct order *order,
                           struct baton_why *why)
{
    int64_t begin_ns = baton_now_ns();
    enum baton_err err =
        baton_adapter_load(adapters->options.model, order->path, &order->adapter, why);
    order->load_s = baton_seconds(baton_now_ns() - begin_ns);
    return err;
}

static void *run_loader(void *arg)
{
    struct baton_adapters *adapters = arg;
    struct order *order;
    (void)pthread_mutex_lock(&adapters->lock);
    while (!adapters->stops) {
        order = order_list_pop_front(&adapters->waiting);
        if (!order) {
            (void)pthread_cond_wait(&adapters->changed, &adapters->lock);
            continue;
        }
        (void)pthread_mutex_unlock(&adapters->lock);
        if (!order->drops)
            (void)load(adapters, order, &order->done.why);
        (void)pthread_mutex_lock(&adapters->lock);
        order_list_push_back(&adapters->over, order);
        adapters->options.wake(adapters->options.arg);
    }
    (void)pthread_mutex_unlock(&adapters->lock);
    return NULL;
}

static enum baton_err start_loader(struct baton_adapters *adapters, struct baton_why *why)
{
    if (pthread_create(&adapters->loader, NULL, run_loader, adapters))
        return baton_fail(why, BATON_NO_MEMORY, "no thread to load adapters");
    (void)pthread_setname_np(adapters->loader, "baton-adapters");
    adapters->has_loader = true;
    return BATON_OK;
}

/* ---- --lora ---- */

/* Splits "PATH:SCALE"; a path may have colons of its own. */
static enum baton_err read_scale(struct order *order, struct baton_why *why)
{
    char *colon = strrchr(order->path, ':'), *end;
    double scale = colon ? strtod(colon + 1, &end) : 1;
    order->scale = 1;
    if (!colon || end == colon + 1 || *end)
        return BATON_OK;
    if (!baton_adapter_is_scale(scale))
        return baton_fail(why, BATON_INVALID, "--lora: the scale of %s must be -%d..%d",
                          order->name, BATON_MAX_ADAPTER_SCALE, BATON_MAX_ADAPTER_SCALE);
    order->scale = (float)scale;
    *colon = 0;
    return BATON_OK;
}

static enum baton_err read_entry(const char *entry, struct order *order, struct baton_why *why)
{
    const char *equals = strchr(entry, '=');
    size_t n = equals ? (size_t)(equals - entry) : 0;
    *order = (struct order){0};
    if (n && n < sizeof order->name)
        memcpy(order->name, entry, n);
    if (!n || !baton_adapter_is_name(order->name) || strlen(equals + 1) >= sizeof order->path ||
        !equals[1])
        return baton_fail(why, BATON_INVALID,
                          "--lora: \"%.200s\" is not NAME=PATH[:SCALE], with a name of 1 to %d "
                          "characters of [A-Za-z0-9._/-]",
                          entry, BATON_MAX_ADAPTER_NAME);
    (void)snprintf(order->path, sizeof order->path, "%s", equals + 1);
    return read_scale(order, why);
}

static enum baton_err add_entry(struct baton_adapters *adapters, const char *entry,
                                struct baton_why *why)
{
    struct order order;
    enum baton_err err = read_entry(entry, &order, why);
    if (!err && find(adapters, order.name))
        err = baton_fail(why, BATON_INVALID, "--lora: the name %s is there twice", order.name);
    if (!err)
        err = load(adapters, &order, why);
    if (!err)
        err = add(adapters, &order, why);
    baton_adapter_close(order.adapter);
    return err;
}

static enum baton_err add_list(struct baton_adapters *adapters, struct baton_why *why)
{
    char *list = strdup(adapters->options.list);
    enum baton_err err = list ? BATON_OK : BATON_NO_MEMORY;
    for (char *rest = list, *entry; !err && (entry = strsep(&rest, ","));)
        if (*entry)
            err = add_entry(adapters, entry, why);
    free(list);
    return err;
}

enum baton_err baton_adapters_open(const struct baton_adapters_options *options,
                                   struct baton_adapters **adapters, struct baton_why *why)
{
    struct baton_adapters *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for adapters");
    made->options = *options;
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_cond_init(&made->changed, NULL);
    order_list_init(&made->waiting);
    order_list_init(&made->over);
    enum baton_err err = add_list(made, why);
    if (!err && baton_adapters_are_on(made))
        err = start_loader(made, why);
    if (err)
        baton_adapters_close(made);
    else
        *adapters = made;
    return err;
}

static void free_orders(struct order_list *list)
{
    for (struct order *order; (order = order_list_pop_front(list));) {
        baton_adapter_close(order->adapter);
        free(order);
    }
}

void baton_adapters_close(struct baton_adapters *adapters)
{
    if (!adapters)
        return;
    (void)pthread_mutex_lock(&adapters->lock);
    adapters->stops = true;
    (void)pthread_cond_signal(&adapters->changed);
    (void)pthread_mutex_unlock(&adapters->lock);
    if (adapters->has_loader)
        (void)pthread_join(adapters->loader, NULL);
    free_orders(&adapters->waiting);
    free_orders(&adapters->over);
    while (adapters->n)
        drop(adapters->held[--adapters->n]);
    (void)pthread_cond_destroy(&adapters->changed);
    (void)pthread_mutex_destroy(&adapters->lock);
    free(adapters);
}

bool baton_adapters_are_on(const struct baton_adapters *adapters)
{
    return adapters && (adapters->options.more || *adapters->options.list);
}

Baton__V1__Adapter **baton_adapters_list(const struct baton_adapters *adapters, size_t *n)
{
    *n = adapters->n;
    return (Baton__V1__Adapter **)(uintptr_t)adapters->messages;
}

/* ---- orders ---- */

static void fill_order(struct order *order, const baton_envelope *envelope)
{
    const Baton__V1__LoadAdapter *wanted = envelope->load_adapter;
    order->drops = envelope->body_case == BATON__V1__ENVELOPE__BODY_DROP_ADAPTER;
    order->done.order = order->drops ? envelope->drop_adapter->order : wanted->order;
    (void)snprintf(order->name, sizeof order->name, "%s",
                   order->drops ? envelope->drop_adapter->name : wanted->name);
    if (order->drops)
        return;
    (void)snprintf(order->path, sizeof order->path, "%s", wanted->path);
    order->scale = wanted->scale;
}

/* The reason for which an order is over before it begins; "": it is not. */
static const char *refusal_of(const struct baton_adapters *adapters)
{
    if (!baton_adapters_are_on(adapters))
        return "this worker takes no adapters: start it with --enable-lora";
    return adapters->waiting.n + adapters->over.n >= MAX_ORDERS ? "too many orders wait" : "";
}

void baton_adapters_order(struct baton_adapters *adapters, uint64_t gateway_epoch,
                          const baton_envelope *envelope)
{
    struct order *order = calloc(1, sizeof *order);
    if (!order) /* the gateway's wait ends by its clock */
        return;
    fill_order(order, envelope);
    order->done.gateway_epoch = gateway_epoch;
    (void)pthread_mutex_lock(&adapters->lock);
    (void)snprintf(order->done.why.text, sizeof order->done.why.text, "%s", refusal_of(adapters));
    order_list_push_back(*order->done.why.text ? &adapters->over : &adapters->waiting, order);
    (void)pthread_cond_signal(&adapters->changed);
    (void)pthread_mutex_unlock(&adapters->lock);
    adapters->options.wake(adapters->options.arg);
}

static void finish(struct baton_adapters *adapters, struct order *order)
{
    struct baton_why *why = &order->done.why;
    if (!*why->text && order->drops && !remove_named(adapters, order->name))
        (void)baton_fail(why, BATON_NOT_FOUND, "no adapter is called %s", order->name);
    if (!*why->text && !order->drops)
        (void)add(adapters, order, why);
    if (*why->text)
        baton_log(BATON_LOG_WARN, "adapter_failed", BATON_S("adapter", order->name),
                  BATON_S("why", why->text));
    else if (order->drops)
        baton_log(BATON_LOG_INFO, "adapter_dropped", BATON_S("adapter", order->name));
}

bool baton_adapters_take_done(struct baton_adapters *adapters, struct baton_adapter_done *done)
{
    (void)pthread_mutex_lock(&adapters->lock);
    struct order *order = order_list_pop_front(&adapters->over);
    (void)pthread_mutex_unlock(&adapters->lock);
    if (!order)
        return false;
    finish(adapters, order);
    *done = order->done;
    baton_adapter_close(order->adapter);
    free(order);
    return true;
}

/* ---- requests ---- */

static struct baton_held_adapter *find_digest(const struct baton_adapters *adapters,
                                              const char *digest)
{
    for (size_t i = 0; adapters && i < adapters->n; i++)
        if (!strcmp(adapters->held[i]->digest, digest))
            return adapters->held[i];
    return NULL;
}

bool baton_adapters_hold(struct baton_adapters *adapters, Baton__V1__AdapterUse *const *uses,
                         size_t n, struct baton_adapter_hold *hold)
{
    *hold = (struct baton_adapter_hold){0};
    for (size_t i = 0; i < n; i++) {
        struct baton_held_adapter *held = find_digest(adapters, uses[i]->digest);
        if (!held) {
            baton_adapter_hold_release(hold);
            return false;
        }
        held->n_holds++;
        hold->held[i] = held;
        hold->blend.list[i].adapter = held->adapter;
        hold->blend.list[i].scale = uses[i]->scale;
        hold->blend.n++;
    }
    return true;
}

void baton_adapter_hold_release(struct baton_adapter_hold *hold)
{
    for (int i = 0; i < hold->blend.n; i++)
        if (!--hold->held[i]->n_holds && hold->held[i]->is_dropped)
            free_held(hold->held[i]);
    *hold = (struct baton_adapter_hold){0};
}
