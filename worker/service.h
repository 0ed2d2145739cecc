/* The part of a worker's service that both roles share: the KV pool with its prefix cache and its
 * account, the engine thread, the requests, and transfers of contexts from and to other workers.
 *
 *     host --messages, wake-ups--> struct baton_service --role-specific work--> its ops
 *
 * A role's service has this struct as its first member.
 *
 * Ownership: owns what it opened; the host is borrowed, and requests belong to the role.
 * Threading: main thread.
 * Errors:    open and start: as their parts, with a readable reason.
 */
#ifndef BATON_WORKER_SERVICE_H
#define BATON_WORKER_SERVICE_H

#include "worker/canary.h"
#include "worker/engine_thread.h"
#include "worker/host.h"
#include "worker/kv/prefix_cache.h"
#include "worker/kv/receive.h"
#include "worker/kv/report.h"
#include "worker/kv/send.h"
#include "worker/request_table.h"

struct baton_service;

struct baton_service_ops {
    /* Handles a message of a joined gateway other than KvQuery; borrows link and message. */
    void (*from_gateway)(struct baton_service *service, struct baton_link *gateway,
                         const struct baton_message *message);
    /* Does what is due for each request, once other workers' messages are taken. Returns when to be
     * called again. */
    int64_t (*work)(struct baton_service *service, int64_t now_ns);
    /* Returns the request's entry in the account of the pool. */
    struct baton_kv_owner (*owner)(struct baton_request_node *request);
    /* Adds blocks that no request holds to service->kv_report. NULL: there are none. */
    void (*report)(struct baton_service *service);
    /* Fills in how much work is here and how much is running. */
    void (*status)(struct baton_service *service, Baton__V1__Status *status);
    /* Cancels the request, because its gateway is gone. */
    void (*cancel)(struct baton_service *service, struct baton_request_node *request);
    /* Returns whether the worker is idle once it has no request. NULL: it is. */
    bool (*is_idle)(struct baton_service *service);
    /* Stops the engine thread and destroys the requests. Harmless when create failed half-way. */
    void (*stop)(struct baton_service *service);
};

/* Zeroed except for ops and host it is valid to destroy, once baton_service_init was called. */
struct baton_service {
    const struct baton_service_ops *ops;
    struct baton_host *host;
    struct baton_kv *kv;
    struct baton_prefix_cache prefix_cache;
    struct baton_kv_report kv_report;
    struct baton_engine_thread *thread;
    struct baton_canary *canary; /* NULL: there is none */
    struct baton_kv_sender *sender;
    struct baton_kv_receiver *receiver; /* NULL: nothing arrives from other workers */
    struct baton_request_table requests;
};

void baton_service_init(struct baton_service *service, const struct baton_service_ops *ops,
                        struct baton_host *host);

/* Frees the role's struct, of which the service is the first member. NULL is harmless. */
void baton_service_destroy(struct baton_service *service);

/* Makes the pool, measures the model's numeric class with it and sets up the prefix cache, which is
 * on if it is wanted and the pool keeps any blocks for it. */
enum baton_err baton_service_open_pool(struct baton_service *service,
                                       const struct baton_kv_options *options, bool prefix_cache,
                                       struct baton_why *why) BATON_MUST_CHECK;

/* Starts the thread with a canary, if --canary-s wants one. options: hooks, engine, max_queued,
 * max_held and max_rows; the rest is filled in here. */
enum baton_err baton_service_start_thread(struct baton_service *service,
                                          struct baton_engine_thread_options options,
                                          struct baton_why *why) BATON_MUST_CHECK;

/* Waits for the current step; items inside are dropped. Harmless when called twice. */
void baton_service_stop_thread(struct baton_service *service);

/* Creates the sender of this worker's contexts. NO_MEMORY. */
enum baton_err baton_service_open_sender(struct baton_service *service, enum baton_overlap overlap,
                                         enum baton_kv_path path) BATON_MUST_CHECK;

/* Opens the inbox for contexts of other workers. options: the url, the path and the hooks; the rest
 * is filled in here. */
enum baton_err baton_service_open_receiver(struct baton_service *service,
                                           struct baton_kv_receiver_options options,
                                           struct baton_why *why) BATON_MUST_CHECK;

/* Returns the URL on which contexts arrive; NULL: none do. */
const char *baton_service_bulk_url(const struct baton_service *service);

/* Returns the functions that the host calls. */
struct baton_host_hooks baton_service_hooks(struct baton_service *service);

/* Joins the gateways and works until the process is asked to stop and is drained. bulk_url: as
 * other workers reach it; NULL: nothing arrives. */
enum baton_err baton_service_run(struct baton_service *service, const char *bulk_url,
                                 struct baton_why *why) BATON_MUST_CHECK;

#endif
