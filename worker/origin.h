/* The origin of a request: the gateway, its request id, and the attempt. Every answer goes there.
 *
 * Ownership: holds a reference to the gateway's link from init to fini.
 * Threading: init and fini on the main thread; send and fail from any.
 * Errors:    send as baton_link_send: AGAIN when the link's queue is full, CLOSED when it is down.
 */
#ifndef BATON_WORKER_ORIGIN_H
#define BATON_WORKER_ORIGIN_H

#include "common/wire/link.h"

struct baton_origin {
    struct baton_link *gateway;
    uint64_t gateway_epoch, request_id;
    uint32_t attempt;
    struct baton_request_tag tag;
};

/* The fields of a log line about a request. */
#define BATON_ORIGIN(origin) BATON_REQUEST((origin)->request_id, (origin)->tag)

/* Sets the origin to the sender of envelope, which arrived on that link. */
void baton_origin_init(struct baton_origin *origin, struct baton_link *gateway,
                       const baton_envelope *envelope);
void baton_origin_fini(struct baton_origin *origin);

/* Whether envelope comes from the same gateway, about the same attempt at the same request. */
bool baton_origin_is(const struct baton_origin *origin, const baton_envelope *envelope);

/* The same for a message of another worker, which does not have the gateway. Request ids are
 * random, so they suffice. */
bool baton_origin_is_request(const struct baton_origin *origin, const baton_envelope *envelope);

/* Sends envelope (with its body set) as an answer. */
enum baton_err baton_origin_send(const struct baton_origin *origin,
                                 baton_envelope *envelope) BATON_MUST_CHECK;

/* The same for callers that cannot handle a failure: it is logged. A gateway whose link stays full
 * is soon silent as well, and then counts as lost. */
void baton_origin_send_or_log(const struct baton_origin *origin, baton_envelope *envelope);

/* Answers Failed, and logs it. */
void baton_origin_fail(const struct baton_origin *origin, Baton__V1__Failed__Code code,
                       const char *message);

#endif
