/* GET / and GET /web/NAME: the playground, a page that talks to the same API as everybody else.
 *
 * The policy it is sent with lets it load from and talk to this origin only, and run no text as
 * script or markup. Files are revalidated at each visit (ETag, 304), so no page of one release ever
 * meets the scripts of another.
 *
 * Ownership, threading: as api.h.
 * Errors:    404 for a name that is not part of it.
 */
#ifndef BATON_GATEWAY_API_PAGE_H
#define BATON_GATEWAY_API_PAGE_H

#include "gateway/api/api.h"

void gw_page(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
void gw_page_part(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);

/* Whether a path belongs to the page, which asks its reader for a key once it is there. */
bool gw_page_has(const char *path);

#endif
