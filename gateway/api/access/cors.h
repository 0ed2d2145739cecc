/* Cross-origin requests (the WHATWG Fetch standard, section 3.2): decides which web pages of other
 * origins may call this API and read its answers. Off unless origins are configured.
 *
 * Ownership: a struct gw_cors borrows the text that it was read from.
 * Threading: immutable once read; the rest on the loop thread.
 * Errors:    INVALID with the invalid origin, LIMIT for too many. A header that does not fit is
 *            omitted and logged: the page's browser then blocks the answer, which is the safe side.
 */
#ifndef BATON_GATEWAY_API_ACCESS_CORS_H
#define BATON_GATEWAY_API_ACCESS_CORS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "gateway/http/server.h"
#include "gateway/http/syntax.h"

enum {
    GW_CORS_MAX_ORIGINS = 64,
    GW_CORS_MAX_ORIGIN_BYTES = 256,
    GW_CORS_MAX_ASKED_BYTES = 512, /* of Access-Control-Request-Headers */
    GW_CORS_MAX_AGE_S = 7200       /* the longest that every browser accepts */
};

struct gw_cors {
    bool any;   /* "*" */
    bool local; /* "localhost": pages of this host, of any port */
    size_t n;   /* 0 and neither of these: off */
    struct gw_view origins[GW_CORS_MAX_ORIGINS];
};

/* list: "" (off), "*", or origins as browsers send them ("https://app.example:8443") and the word
 * "localhost", separated by commas; blanks around them are ignored. */
enum baton_err gw_cors_read(const char *list, struct gw_cors *cors,
                            struct baton_why *why) BATON_MUST_CHECK;

/* Whether pages of the origin may read answers. origin: an Origin header's value; "" is never
 * allowed. */
bool gw_cors_allows(const struct gw_cors *cors, const char *origin);

/* Adds the headers about origins that every answer to this request has. */
void gw_cors_mark(const struct gw_cors *cors, struct gw_exchange *exchange);

/* Whether the request is OPTIONS with the two headers of a browser's preflight, from any origin. */
bool gw_cors_is_preflight(const struct gw_exchange *exchange);

/* Answers a preflight; that of an origin which is not allowed gets no permission. False, without
 * any effect, for other requests and without allowed origins. */
bool gw_cors_answer(const struct gw_cors *cors, struct gw_exchange *exchange);

#endif
