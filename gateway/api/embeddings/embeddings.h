/* The common part of all APIs' embedding routes: their fields, their start, and the format of one
 * embedding.
 *
 *     gw_builder_init --> gw_embeddings_read and the route's fields --> gw_builder_end_fields
 *                 --> gw_embeddings_read_input --> gw_embeddings_start
 *
 * A text is a choice of a completion, so keys, admission, retries and accounting are those of
 * completions. A prefill worker computes it and nothing is decoded (docs/design/embeddings.md).
 * Only GW_EMBEDDINGS_AT_ONCE texts of a request are queued at a time, so that a long list does not
 * delay other requests.
 *
 * Ownership: as gw_completion_builder and the answer writers.
 * Threading: loop thread.
 * Errors:    in the builder's fields.problem; gw_embeddings_start answers with it.
 */
#ifndef BATON_GATEWAY_API_EMBEDDINGS_EMBEDDINGS_H
#define BATON_GATEWAY_API_EMBEDDINGS_EMBEDDINGS_H

#include "gateway/api/completion/builder.h"

enum {
    GW_MAX_EMBEDDINGS = 2048, /* texts of one request: OpenAI's limit */
    GW_EMBEDDINGS_AT_ONCE = 32
};

/* The format of embeddings: options.own of their writers. */
struct gw_embeddings_options {
    int n_dimensions; /* values that are kept of each; 0: all */
    bool base64;      /* as base64 of little-endian floats, not as numbers */
    bool is_raw;      /* not normalised */
};

/* Reads pooling, dimensions, cache_prompt, priority, timeout_s. The model's own pooling is the
 * default. The options become the builder's options.own and must outlive it. */
void gw_embeddings_read(struct gw_completion_builder *builder,
                        struct gw_embeddings_options *options);

/* Reads the texts or ids in the field. are_cut: texts that exceed the context are truncated. */
void gw_embeddings_read_input(struct gw_completion_builder *builder, const char *field,
                              enum gw_prompt_list batch, bool are_cut);

/* Starts the embeddings, or answers with the problem; ends the builder. */
void gw_embeddings_start(struct gw_completion_builder *builder,
                         const struct gw_answer_writer *writer);

/* The pooling of requests that name none. */
enum baton_pooling gw_embeddings_pooling(const struct gw_api *api);

/* For a writer's `embedding`: appends the values to the choice's result as JSON, truncated and
 * normalised by the options. */
void gw_embedding_keep(struct gw_choice *choice, const float *values, size_t n);

#endif
