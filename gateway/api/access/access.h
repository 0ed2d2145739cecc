/* Access to the API: the keys that clients present, and the origins whose pages may read answers.
 *
 *     request --preflight of an allowed origin--> 204
 *             --path needs a key, none of ours--> 401
 *             --the key is over a rate----------> 429
 *             --otherwise-----------------------> its endpoint
 *
 * A key comes as "Authorization: Bearer KEY" or as "x-api-key: KEY", as Anthropic's clients send
 * it. Open without a key are GET and HEAD of /health and /ready (probes), of / and its parts under
 * /web (the page asks its reader for a key), and preflights, which browsers send without one.
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

/* Whose something is: an API key's digest, zeros where no key is needed. */
struct gw_owner {
    uint8_t digest[BATON_SHA256_BYTES];
};

/* keys_path "": no key is needed. key_limits: of each key whose line does not say its own. origins
 * "": no page of another origin. */
enum baton_err gw_access_open(const char *keys_path, const struct gw_limits *key_limits,
                              const char *origins, struct gw_metrics *metrics,
                              struct gw_access **access, struct baton_why *why) BATON_MUST_CHECK;
/* NULL is none. */
void gw_access_close(struct gw_access *access);

/* Reads the keys again, if a file has them. An error in the file is logged, and the keys stay as
 * they were. Requests that were admitted go on. */
void gw_access_reload(struct gw_access *access);

/* A head was read: adds what every answer to it says. */
void gw_access_mark(const struct gw_access *access, struct gw_exchange *exchange);

/* The key that an admitted request presented; NULL when none is needed. Borrowed. */
struct gw_key *gw_access_key(const struct gw_access *access, const struct gw_exchange *exchange);

/* Who presented it. What the gateway keeps for one owner, no other may see. */
struct gw_owner gw_access_owner(const struct gw_access *access, const struct gw_exchange *exchange);

/* False: the request was answered here, and the exchange is gone. */
bool gw_access_admit(struct gw_access *access, struct gw_exchange *exchange);

#endif
