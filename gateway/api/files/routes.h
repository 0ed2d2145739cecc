/* OpenAI's files (docs/http-api.md): /v1/files and the paths below it; see also upload.h.
 *
 * Ownership: see gateway/api/api.h.
 * Threading: loop thread.
 * Errors:    404 for another key's file too; 501 without --files-dir.
 */
#ifndef BATON_GATEWAY_API_FILES_ROUTES_H
#define BATON_GATEWAY_API_FILES_ROUTES_H

#include "gateway/api/api.h"

void gw_files_list(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none);
void gw_files_get(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none);
void gw_files_content(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *none);
void gw_files_delete(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *none);

#endif
