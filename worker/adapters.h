/* The LoRA adapters of a worker: those of --lora, and those that gateways order. A thread of its
 * own loads them one after the other, so heartbeats and steps go on.
 *
 *     ordered --> loading --> held by name --dropped, replaced--> freed when no request holds it
 *
 * Ownership: owns the adapters; the model is borrowed. A request holds its adapters until release.
 * Threading: main thread; the loader takes one order at a time and wakes it.
 * Errors:    open: INVALID with the entry of --lora, and the errors of baton_adapter_load.
 */
#ifndef BATON_WORKER_ADAPTERS_H
#define BATON_WORKER_ADAPTERS_H

#include "common/wire/envelope/envelope.h"
#include "common/wire/link.h"
#include "engine/adapter.h"

struct baton_adapters;
struct baton_held_adapter;

struct baton_adapters_options {
    const struct baton_model *model;
    const char *list; /* "NAME=PATH[:SCALE],..", or "" */
    bool more;        /* others may be ordered while the list is empty */
    void (*wake)(void *arg);
    void *arg;
};

/* Loads the adapters of the list, and starts the loader. */
enum baton_err baton_adapters_open(const struct baton_adapters_options *options,
                                   struct baton_adapters **adapters,
                                   struct baton_why *why) BATON_MUST_CHECK;
/* Waits for a load that runs. NULL is harmless. */
void baton_adapters_close(struct baton_adapters *adapters);

/* Whether requests may use adapters, now or once they are loaded. NULL: none may. */
bool baton_adapters_are_on(const struct baton_adapters *adapters);

/* The adapters as messages: [*n], borrowed until they change. */
Baton__V1__Adapter **baton_adapters_list(const struct baton_adapters *adapters, size_t *n);

/* Takes a gateway's order to load or to drop; take_done says when it is over. */
void baton_adapters_order(struct baton_adapters *adapters, uint64_t gateway_epoch,
                          const baton_envelope *envelope);

/* An order that is over; its gateway gets the answer, others the list. */
struct baton_adapter_done {
    uint64_t gateway_epoch, order;
    struct baton_why why; /* "": it succeeded */
};
/* False: none is over. */
bool baton_adapters_take_done(struct baton_adapters *adapters, struct baton_adapter_done *done);

/* The adapters of one request. Zeroed it holds none. */
struct baton_adapter_hold {
    struct baton_held_adapter *held[BATON_BLEND_MAX];
    struct baton_blend blend;
};

/* False: one of them is not here, and none is held. adapters NULL: none is here. */
bool baton_adapters_hold(struct baton_adapters *adapters, Baton__V1__AdapterUse *const *uses,
                         size_t n, struct baton_adapter_hold *hold) BATON_MUST_CHECK;
/* The reason for which baton_adapters_hold refuses. */
#define BATON_NO_ADAPTER "an adapter of the request is not on this worker"

/* Harmless when called twice. */
void baton_adapter_hold_release(struct baton_adapter_hold *hold);

/* For a sequence: NULL when there are no adapters. */
static inline const struct baton_blend *
baton_adapter_hold_blend(const struct baton_adapter_hold *hold)
{
    return hold->blend.n ? &hold->blend : NULL;
}

#endif
