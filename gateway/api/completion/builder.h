/* A completion in the making: the fields of its body, and what was read out of them so far.
 *
 *     gw_builder_init --> the route reads its fields --> gw_builder_end_fields --> the prompt -->
 *     gw_builder_start
 *
 * A problem on the way is kept in fields; gw_builder_start answers with it.
 *
 * Ownership: a builder owns its params, its prompts and its options until gw_builder_start, which
 *            frees them or hands them on; the body is borrowed, and so is options.own.
 * Threading: loop thread.
 * Errors:    in fields.problem.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_BUILDER_H
#define BATON_GATEWAY_API_COMPLETION_BUILDER_H

#include "gateway/api/completion/writer.h"

struct gw_completion_builder {
    struct gw_api *api;
    struct gw_exchange *exchange;
    bool is_strict; /* unknown fields and too long outputs are refused, whatever the options say */
    struct gw_fields fields;
    struct gw_completion_params params;
    struct gw_prompts prompts;
    struct gw_completion_options options;
};

/* One choice per prompt; dialect may be NULL. */
void gw_builder_init(struct gw_completion_builder *builder, struct gw_api *api,
                     struct gw_exchange *exchange, const struct baton_json *body,
                     const struct gw_dialect *dialect);

/* How many tokens a client may ask for: any number, if what does not fit is cut. */
int64_t gw_builder_max_tokens(const struct gw_api *api);

/* llama.cpp's "return_progress", after `stream` was read: a stream tells how far its prompt is. */
void gw_builder_read_progress(struct gw_completion_builder *builder);

/* Every field of the route was read: the others are refused, or ignored and told in the header
 * x-baton-ignored. */
void gw_builder_end_fields(struct gw_completion_builder *builder);

/* The conversation as the one prompt, which the assistant's end of turn ends. */
void gw_builder_set_chat(struct gw_completion_builder *builder,
                         const struct baton_chat_input *input);

/* After gw_builder_set_chat, for writers that tell the parts apart: calls of the tools that the
 * input shows are taken out of the text; so is reasoning. */
void gw_builder_extract_tools(struct gw_completion_builder *builder);
void gw_builder_extract_reasoning(struct gw_completion_builder *builder);

/* Starts the completion, or answers with the problem. wanted is how many tokens the client asks for
 * in the field length_name; 0: it does not say, and gets as many as fit, at most fallback. */
void gw_builder_start(struct gw_completion_builder *builder, const struct gw_answer_writer *writer,
                      const char *length_name, int64_t wanted, int64_t fallback);

/* Of a builder that is answered without a completion; what options.own holds is not freed. */
void gw_builder_fini(struct gw_completion_builder *builder);

#endif
