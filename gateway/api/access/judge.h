/* Judges a request by its head, before its body is read: the host that it names, and the page that
 * sent it.
 *
 *     Host is no name of this server----------------------------> 421
 *     changes something, from a page of an unlisted origin------> 403
 *     a page's body without a Content-Type----------------------> 415
 *
 * A page of any origin may make its reader's browser send requests to us without asking ("simple"
 * requests of the Fetch standard); it only cannot read the answers. Browsers state the origin in
 * Sec-Fetch-Site or Origin, which no page can change. Other clients send neither.
 *
 * Ownership: a struct gw_judge borrows its parts; a struct gw_source borrows its texts.
 * Threading: pure functions.
 * Errors:    a refusal names the header and the option.
 */
#ifndef BATON_GATEWAY_API_ACCESS_JUDGE_H
#define BATON_GATEWAY_API_ACCESS_JUDGE_H

#include "gateway/api/access/cors.h"
#include "gateway/api/access/hosts.h"

struct gw_judge {
    struct gw_cors cors;
    struct gw_hosts hosts;
    bool is_https; /* this server speaks TLS itself */
};

/* The parts of a head that show where the request comes from. Absent headers are "". */
struct gw_source {
    const char *method, *host, *origin, *fetch_site, *content_type;
    bool has_body; /* its endpoint reads a body */
};

/* The source of the exchange's request; texts are borrowed from it. */
struct gw_source gw_source_of(const struct gw_exchange *exchange, bool has_body);

/* Returns why the request is refused, or NULL. */
const struct gw_error *gw_judge_head(const struct gw_judge *judge, const struct gw_source *source);

/* Whether a page of another origin than this server's sent the request, listed or not. */
bool gw_judge_is_foreign(const struct gw_judge *judge, const struct gw_source *source);

#endif
