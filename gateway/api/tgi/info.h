/* GET /info: what TGI's clients ask of a server.
 *
 * Ownership: nothing is kept.
 * Threading: loop thread.
 * Errors:    none of its own.
 */
#ifndef BATON_GATEWAY_API_TGI_INFO_H
#define BATON_GATEWAY_API_TGI_INFO_H

#include "gateway/api/api.h"

void gw_tgi_info(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *unused);

#endif
