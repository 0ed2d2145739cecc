/* Reads "logit_bias": OpenAI's object {token id: number}, or llama.cpp's array of pairs.
 *
 *     [[15043, 1.5], ["Hello", -5], [2, false]]     a text stands for each of its tokens
 *
 * Ownership: params->bias belongs to the params.
 * Threading: loop thread.
 * Errors:    in fields->problem.
 */
#ifndef BATON_GATEWAY_API_PARAMS_BIAS_H
#define BATON_GATEWAY_API_PARAMS_BIAS_H

#include "gateway/api/api.h"

void gw_bias_read(const struct gw_api *api, struct gw_fields *fields,
                  struct baton_sampling_params *params);

#endif
