/* What the embedding routes of all servers' APIs share: their fields, their start, and how one
 * embedding is written.
 *
 *     gw_builder_init --> gw_embeddings_read and the route's fields --> gw_builder_end_fields
 *                 --> gw_embeddings_read_input --> gw_embeddings_start
 *
 * A text is a choice of a completion, so keys, admission, retries and accounting are those of
 * completions. A prefill worker computes it and nothing is decoded (docs/design/embeddings.md). Few
 * of a request's texts are queued at a time, so that a long list of them does not keep others
 * waiting.
 *
 * Ownership: as gw_completion_builder and the answer writers.
 * Threading: loop thread.
 * Errors:    in the builder's fields.problem; gw_embeddings_start answers with it.
 */
#ifndef BATON_GATEWAY_API_EMBEDDINGS_EMBEDDINGS_H
#define BATON_GATEWAY_API_EMBEDDINGS_EMBEDDINGS_H

#include "gateway/api/completion/builder.h"

enum {
    GW_MAX_EMBEDDINGS = 2048, /* texts of one request, as at OpenAI */
    GW_EMBEDDINGS_AT_ONCE = 32
};

/* How embeddings are written: the own options of their writers. */
struct gw_embeddings_options {
    int n_dimensions; /* how many values of each are kept; 0: all */
    bool base64;      /* as base64 of little-endian floats, not as numbers */
    bool is_raw;      /* not normalised */
};

/* pooling, dimensions, cache_prompt, priority, timeout_s. The model's own pooling is the
 * default. The options become the builder's own, and outlive it. */
void gw_embeddings_read(struct gw_completion_builder *builder,
                        struct gw_embeddings_options *options);

/* The texts or ids in the field of that name. are_cut: what exceeds the context is left out. */
void gw_embeddings_read_input(struct gw_completion_builder *builder, const char *field,
                              enum gw_batch batch, bool are_cut);

/* Ends the builder: begins its embeddings, or answers with the problem. */
void gw_embeddings_start(struct gw_completion_builder *builder,
                         const struct gw_answer_writer *writer);

/* The pooling that requests get which do not name one. */
enum baton_pooling gw_embeddings_pooling(const struct gw_api *api);

/* For a writer's embedding: appends it to the choice's result as JSON, cut and normalised as
 * asked. */
void gw_embedding_keep(struct gw_choice *choice, const float *values, size_t n);

#endif
