/* Access to the API: the keys that clients present, and the origins whose pages may read answers.
 *
 *     request --preflight of an allowed origin--> 204
 *             --a key is needed, none is valid--> 401
 *             --the key is over a rate----------> 429
 *             --otherwise-----------------------> its endpoint
 *
 * A key comes as "Authorization: Bearer KEY" or as "x-api-key: KEY", as Anthropic's clients send
 * it. GET and HEAD of /health, /live and /ready (probes), of / and its parts under /web (the page
 * asks its user for a key), and preflights, which browsers send without a key, need none.
 *
 * Ownership: an access belongs to the gateway; it borrows the option texts.
 * Threading: loop thread.
 * Errors:    open: those of keys.h and cors.h, with file, line and reason. Later ones are answered
 *            (401) or logged (reload).
 */
#ifndef BATON_GATEWAY_API_ACCESS_ACCESS_H
#define BATON_GATEWAY_API_ACCESS_ACCESS_H

#include "common/base/digest.h"
#include "common/base/error.h"
#include "gateway/http/server.h"

struct gw_access;
struct gw_key;
struct gw_metrics;

/* The owner of stored data: an API key's digest, or zeros if no key is needed. */
struct gw_owner {
    uint8_t digest[BATON_SHA256_BYTES];
};

/* keys_path "": no key is needed. key_limits: for keys whose lines have no limits of their own.
 * origins "": pages of other origins are not allowed. */
enum baton_err gw_access_open(const char *keys_path, const struct gw_limits *key_limits,
                              const char *origins, struct gw_metrics *metrics,
                              struct gw_access **access, struct baton_why *why) BATON_MUST_CHECK;
/* NULL is none. */
void gw_access_close(struct gw_access *access);

/* Reads the keys again, if a file has them. An error in the file is logged, and the old keys stay.
 * Admitted requests continue. */
void gw_access_reload(struct gw_access *access);

/* Call after a head was read: adds the headers that every answer to it has. */
void gw_access_mark(const struct gw_access *access, struct gw_exchange *exchange);

/* The key that an admitted request presented; NULL when none is needed. Borrowed. */
struct gw_key *gw_access_key(const struct gw_access *access, const struct gw_exchange *exchange);

/* The owner of the key that the request presented. Data that the gateway stores for one owner is
 * invisible to all others. */
struct gw_owner gw_access_owner(const struct gw_access *access, const struct gw_exchange *exchange);

/* False: the request was answered here, and the exchange is gone. */
bool gw_access_admit(struct gw_access *access, struct gw_exchange *exchange);

#endif
