/* The fields that only llama.cpp's POST /infill has, and those by which editors bound an output.
 *
 * Ownership: what is read is borrowed from the body.
 * Threading: loop thread.
 * Errors:    in fields->problem: 501 for a model without the tokens.
 */
#ifndef BATON_GATEWAY_API_LLAMACPP_INFILL_H
#define BATON_GATEWAY_API_LLAMACPP_INFILL_H

#include "gateway/api/completion/builder.h"

struct gw_infill {
    struct baton_fim_text prefix, prompt, suffix; /* the prompt continues the prefix */
    const struct baton_json *files;               /* NULL: none */
};

void gw_infill_read(struct gw_completion_builder *builder, struct gw_infill *infill);

/* Makes the prompt, which is shortened to leave n_predict tokens of the context (0: not given).
 * Sets *was_cut then. */
void gw_infill_set_prompt(struct gw_completion_builder *builder, const struct gw_infill *infill,
                          int64_t n_predict, bool *was_cut);

/* Reads "samplers", the names of the samplers that run: the others are switched off. Call after
 * gw_params_read. */
void gw_infill_read_samplers(struct gw_fields *fields, struct baton_sampling_params *params);

/* Reads "n_indent" and "t_max_predict_ms". */
void gw_infill_read_bounds(struct gw_fields *fields, struct gw_params *params);

#endif
