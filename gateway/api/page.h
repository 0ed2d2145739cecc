/* GET / and GET /web/{name}: the playground, a page that uses the API like any other client.
 *
 * Its Content-Security-Policy lets it load from and connect to this origin only, and run no text as
 * script or markup. Files are revalidated at each visit (ETag, 304), so a page never runs with the
 * scripts of another release.
 *
 * Ownership: as gateway/api/api.h.
 * Threading: loop thread.
 * Errors:    404 for a name that is not a part of the page.
 */
#ifndef BATON_GATEWAY_API_PAGE_H
#define BATON_GATEWAY_API_PAGE_H

#include "gateway/api/api.h"

/* The page itself, and one of its parts by the path's last segment. */
void gw_page(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
void gw_page_part(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);

/* Whether a path belongs to the page. The page itself needs no key: it asks its user for one. */
bool gw_page_has(const char *path);

#endif
