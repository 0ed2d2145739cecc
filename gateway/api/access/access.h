/* Access to the API: the keys that clients present, the role of operators, and the origins whose
 * pages may read answers.
 *
 *     head    --names another host, or is of a foreign page (judge.h)--> 421, 403, 415
 *     request --preflight, and some origins are allowed----------------> 200
 *             --a key is needed, none is valid-------------------------> 401
 *             --its route is for operators, and the client is none-----> 403
 *             --the key is over a rate---------------------------------> 429
 *             --otherwise----------------------------------------------> its endpoint
 *
 * A key comes as "Authorization: Bearer KEY" or as "x-api-key: KEY", as Anthropic's clients send
 * it. GET and HEAD of /health, /live and /ready (probes), of / and its parts under /web (the page
 * asks its user for a key), and preflights, which browsers send without a key, need none.
 *
 * An operator presents a key of --admin-keys, or one that is marked in --api-keys. Without both
 * files, the operator is who sends a request on the gateway's own host, under a name of this
 * server, by no proxy and by no page of another origin.
 *
 * Ownership: an access belongs to the gateway; it borrows the option texts.
 * Threading: loop thread.
 * Errors:    open: those of keys.h and cors.h, with file, line and reason. Later ones are answered
 *            (401) or logged (reload).
 */
#ifndef BATON_GATEWAY_API_ACCESS_ACCESS_H
#define BATON_GATEWAY_API_ACCESS_ACCESS_H

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/error.h"
#include "gateway/http/server.h"

struct gw_access;
struct gw_key;

/* The owner of stored data: an API key's digest, or zeros if no key is needed. */
struct gw_owner {
    uint8_t digest[BATON_SHA256_BYTES];
};

/* Texts are borrowed as long as the access is open. */
struct gw_access_options {
    const char *api_keys;        /* file; "": clients need no key */
    const char *admin_keys;      /* file of operators' keys; "": none */
    struct gw_limits key_limits; /* for keys whose lines have no limits of their own */
    const char *cors_origins;    /* "": pages of other origins are not allowed */
    const char *allowed_hosts;   /* hosts.h */
    const char *host;            /* the address of the listener */
    bool is_https;
};

enum baton_err gw_access_open(const struct gw_access_options *options, struct gw_access **access,
                              struct baton_why *why) BATON_MUST_CHECK;
/* NULL is none. */
void gw_access_close(struct gw_access *access);

/* Reads the keys again, if a file has them. An error in the file is logged, and the old keys stay.
 * Admitted requests continue. */
void gw_access_reload(struct gw_access *access);

/* Call after a head was read: adds the headers that every answer to it has. has_body: its endpoint
 * reads a body. Returns why the request is refused before its body is read, or NULL. */
const struct gw_error *gw_access_mark(const struct gw_access *access, struct gw_exchange *exchange,
                                      bool has_body);

/* The key that an admitted request presented; NULL: none, where none is needed. Borrowed. */
struct gw_key *gw_access_key(const struct gw_access *access, const struct gw_exchange *exchange);

/* The owner of the key that the request presented. Data that the gateway stores for one owner is
 * invisible to all others. */
struct gw_owner gw_access_owner(const struct gw_access *access, const struct gw_exchange *exchange);

/* Whether the request is an operator's. */
bool gw_access_is_operator(const struct gw_access *access, const struct gw_exchange *exchange);

/* False: the request was answered here, and the exchange is gone. */
bool gw_access_admit(struct gw_access *access, struct gw_exchange *exchange, bool for_operators);

/* Appends the number of requests without a valid key, as Prometheus' text. */
void gw_access_write_metrics(const struct gw_access *access, struct baton_buf *out);

#endif
