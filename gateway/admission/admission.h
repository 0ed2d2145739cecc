/* Admission decides which completions may wait for a worker. It rejects others at once, with the
 * time after which to retry.
 *
 *     completion --no worker for --absence-s, or stopping-------------> 503
 *                --larger than could ever wait------------------------> 400
 *                --the queue is full (requests, prompt tokens)--------> 429 queue_full
 *                --its turn, or its end, would come too late----------> 429 too_late
 *                --its key has as many generations as it may----------> 429 too_many_requests
 *                --otherwise--> QUEUED --too late after all-----------> 504
 *
 * A completion is admitted whole or not at all. Each of its choices (prompts x n) counts, because
 * each takes blocks and compute of its own. An idle fleet admits every completion, regardless of
 * the estimates, so the next measurement corrects a wrong estimate.
 *
 * Ownership: a verdict owns its text.
 * Threading: loop thread; judge functions are pure.
 * Errors:    in the verdict.
 */
#ifndef BATON_GATEWAY_ADMISSION_ADMISSION_H
#define BATON_GATEWAY_ADMISSION_ADMISSION_H

#include "gateway/lifecycle/lifecycle.h"
#include "gateway/request/overflow_words.h"
#include "gateway/routing/routing.h"

/* The bounds of the queue. Batch requests may wait while it is less than half full. */
struct gw_bounds {
    int64_t max_queued, max_queued_tokens; /* requests, and tokens of their prompts */
    double max_wait_s;                     /* as predicted; 0: any time */
};

struct gw_admission {
    const struct gw_core *core;
    struct gw_bounds bounds;
    struct gw_lifecycle *lifecycle;
    const struct gw_routing *routing;
    bool draining; /* the gateway is stopping: no completion is admitted */
};

/* The load that a completion adds to the queue. */
struct gw_load {
    size_t n_requests, n_tokens; /* its generations; their prompts' tokens */
    int64_t max_new_tokens;      /* of the longest */
    enum baton_priority priority;
    size_t n_behind; /* waiting batch requests, which are scheduled after an interactive one */
    const char *id;  /* the id that its client knows; NULL: none */
    double left_s;   /* until its deadline; INFINITY: it has none */
};

/* Why a completion was rejected. */
struct gw_verdict {
    struct gw_failure failure; /* its message is `text` or static */
    int retry_s;               /* Retry-After in seconds; 0: none */
    enum gw_rejection reason;
    char text[GW_OVERFLOW_WORDS_BYTES];
};

/* Borrows both: they outlive it. */
void gw_admission_init(struct gw_admission *admission, const struct gw_bounds *bounds,
                       struct gw_lifecycle *lifecycle, const struct gw_routing *routing);

/* Whether a load may join the queue. False: not now, or never (400), for the reason in *verdict. */
bool gw_admission_judge(const struct gw_bounds *bounds, const struct gw_throughput *throughput,
                        const struct gw_load *load, struct gw_verdict *verdict);

/* Whether a key with n_open generations may have n_wanted more; limit 0: unlimited. */
bool gw_admission_judge_key(const struct gw_throughput *throughput, size_t limit, size_t n_open,
                            size_t n_wanted, struct gw_verdict *verdict);

/* Whether the requests of a completion may be queued. first is one of them; each is in state
 * TOKENIZING, and they differ only in prompt and length; it gets the numbers of a prompt that no
 * worker can hold. */
bool gw_admission_admit(const struct gw_admission *admission, struct gw_request *first,
                        const struct gw_load *load, struct gw_verdict *verdict);

/* Counts and logs a rejection. */
void gw_admission_refused(const struct gw_admission *admission, const struct gw_load *load,
                          const struct gw_verdict *verdict);

/* Queues a request that was admitted. Pump after all requests of a completion are queued. */
void gw_admission_queue(struct gw_admission *admission, struct gw_request *request);

/* Whether a queued request can no longer end before its deadline while other requests wait. */
bool gw_admission_will_miss_deadline(const struct gw_admission *admission,
                                     const struct gw_request *request, int64_t now_ns);

#endif
