/* What a finished generation looks like in JSON (API contract, sections 1 and 4).
 *
 * Ownership: writes into the caller's buffer.
 * Threading: loop thread.
 * Errors:    stick in the buffer.
 */
#ifndef BATON_GATEWAY_API_NATIVE_REPLY_H
#define BATON_GATEWAY_API_NATIVE_REPLY_H

#include "gateway/api/completion/completion.h"

/* "gen-0123456789abcdef" */
enum { GW_REPLY_ID_BYTES = 24 };
void gw_reply_id(const struct gw_request *request, char id[GW_REPLY_ID_BYTES]);

/* data of the meta event. */
void gw_reply_meta(struct baton_buf *out, const struct gw_request *request);

/* data of the summary event. */
void gw_reply_summary(struct baton_buf *out, const struct gw_request *request, bool timeline);

/* The whole answer of POST /generate for one prompt; the choice's request still lives. */
void gw_reply_whole(struct baton_buf *out, const struct gw_choice *choice);

/* "steps": what gathered there, JSON objects with commas between. */
void gw_reply_steps(struct baton_json_out *out, const struct baton_buf *steps);

/* The answer for a batch, made of its choices' results. */
void gw_reply_batch(struct baton_buf *out, struct gw_completion *completion);

/* "timings": llama.cpp's names, then the seconds of our stages. */
void gw_reply_timings(struct baton_json_out *out, const struct gw_totals *totals);

#endif
