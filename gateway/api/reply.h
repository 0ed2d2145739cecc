/* What a finished generation looks like in JSON (API contract, sections 1 and 4).
 *
 * Ownership: writes into the caller's buffer.
 * Threading: loop thread.
 * Errors:    stick in the buffer.
 */
#ifndef BATON_GATEWAY_API_REPLY_H
#define BATON_GATEWAY_API_REPLY_H

#include "gateway/api/api.h"

/* "gen-0123456789abcdef" */
enum { GW_REPLY_ID_BYTES = 24 };
void gw_reply_id(const struct gw_request *request, char id[GW_REPLY_ID_BYTES]);

/* data of the meta event. */
void gw_reply_meta(struct baton_buf *out, const struct gw_request *request);

/* data of the summary event. */
void gw_reply_summary(struct baton_buf *out, const struct gw_request *request, bool timeline);

/* The whole answer of POST /generate; prompt and generated are text. */
void gw_reply_whole(struct baton_buf *out, const struct gw_api *api,
                    const struct gw_request *request, const struct baton_buf *prompt,
                    const struct baton_buf *generated, bool timeline);

#endif
