/* SGLang's native API: POST /generate with text or input_ids, and what its clients ask of a server.
 *
 *     {"text" | "input_ids", "sampling_params": {...}, "stream"}
 *     -> {"text", "output_ids", "meta_info"}; for a batch an array
 *
 * Ownership: as gateway/api/api.h.
 * Threading: loop thread.
 * Errors:    400 with the field at fault.
 */
#ifndef BATON_GATEWAY_API_SGLANG_GENERATE_H
#define BATON_GATEWAY_API_SGLANG_GENERATE_H

#include "gateway/api/api.h"

/* Whether the body of POST /generate is one of SGLang's. */
bool gw_sglang_is_body(const struct baton_json *body);

void gw_sglang_generate(struct gw_api *api, struct gw_exchange *exchange,
                        const struct baton_json *body);
/* Later prompts share no KV blocks with earlier ones, whose blocks leave as others need room. */
void gw_sglang_flush_cache(struct gw_api *api, struct gw_exchange *exchange,
                           const struct baton_json *none);
void gw_sglang_model_info(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *none);
void gw_sglang_server_info(struct gw_api *api, struct gw_exchange *exchange,
                           const struct baton_json *none);

#endif
