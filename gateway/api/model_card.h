/* What several APIs tell of the served model, and the texts in which they tell it.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_API_MODEL_CARD_H
#define BATON_GATEWAY_API_MODEL_CARD_H

#include "gateway/api/api.h"

enum { GW_PARAMETER_SIZE_BYTES = 24 };

/* SHA-256 of the weights, or of the config if the gateway has no weights. */
const char *gw_model_digest(const struct gw_api *api);

/* The number of parameters as Ollama writes it: "3.2B", "134.52M"; "" if it is unknown. */
const char *gw_model_parameter_size(const struct gw_api *api, char text[GW_PARAMETER_SIZE_BYTES]);

/* The format of the files' weights, such as "Q4_K"; the workers' dtype if the gateway has no
 * weights; "" before the first worker has joined. */
const char *gw_model_quantization(const struct gw_api *api);

/* Writes the Unix time as RFC 3339. */
void gw_put_rfc3339(struct baton_json_out *out, const char *key, int64_t unix_s);

/* Writes the number, or null for 0, which stands for unknown. */
void gw_put_known(struct baton_json_out *out, const char *key, uint64_t n);

#endif
