/* "timings" of answers under llama.cpp's names: numbers of tokens and their rates.
 *
 * Ownership: plain functions; they write to the caller's JSON.
 * Threading: loop thread.
 * Errors:    in the JSON's buffer.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_TIMINGS_H
#define BATON_GATEWAY_API_COMPLETION_TIMINGS_H

#include "gateway/api/completion/completion.h"

/* "timings":{...} of a completion that is over: rates, then the seconds of Baton's stages. */
void gw_timings_put(struct baton_json_out *out, const struct gw_totals *totals);

/* "prompt_progress":{...} under llama.cpp's names: n_tokens of the choice's prompt are computed or
 * were found in a cache. */
void gw_timings_put_progress(struct baton_json_out *out, const struct gw_request *request,
                             uint64_t n_tokens, uint64_t cached_tokens);

/* "timings":{...}: the rates of a choice that still runs, up to now. */
void gw_timings_put_so_far(struct baton_json_out *out, const struct gw_request *request);

#endif
