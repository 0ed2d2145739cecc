/* Lists of stored things, a page at a time, and the parts of a request's URL.
 *
 *     ?limit=N&order=asc|desc&after=ID   N items behind the one with that id
 *
 * Ownership: a listing borrows its items.
 * Threading: loop thread.
 * Errors:    a query that is out of range is answered with 400, and the exchange is gone.
 */
#ifndef BATON_GATEWAY_API_LISTING_H
#define BATON_GATEWAY_API_LISTING_H

#include "common/base/json.h"
#include "gateway/http/server.h"

enum { GW_URL_PART_BYTES = 160 };

/* Copies the value of a name of the query; "" if it has none, or one that is too long. */
const char *gw_query_value(const struct gw_exchange *exchange, const char *name,
                           char value[GW_URL_PART_BYTES]);

/* Copies a segment of the path, the first one is 0; "" if there is none, or it is too long. */
const char *gw_path_segment(const struct gw_exchange *exchange, int i,
                            char segment[GW_URL_PART_BYTES]);

struct gw_listing {
    const void *items; /* [n], the oldest first */
    size_t n;
    const char *(*id_of)(const void *items, size_t i);
    long default_limit, max_limit;
    const char *after, *before; /* names of the parameters; NULL: it has no such one */

    /* the page, in the order that is asked for */
    size_t begin, n_page;
    bool is_oldest_first;
};

/* Reads the query. False: the exchange was answered. */
bool gw_listing_read(struct gw_listing *listing, struct gw_exchange *exchange);
/* The index of the page's i-th item. */
size_t gw_listing_at(const struct gw_listing *listing, size_t i);
/* Writes "first_id", "last_id" and "has_more". */
void gw_listing_put_edges(const struct gw_listing *listing, struct baton_json_out *out);

#endif
