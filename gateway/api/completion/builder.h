/* Builds a completion from the fields of a body.
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

#include "gateway/api/completion/thinking_bound.h"
#include "gateway/api/completion/writer.h"

struct gw_completion_builder {
    struct gw_api *api;
    struct gw_exchange *exchange;
    bool is_strict; /* unknown fields and too long outputs are errors, whatever the options say */
    struct gw_fields fields;
    struct gw_completion_params params;
    struct gw_prompts prompts;
    struct gw_completion_options options;
    struct gw_thinking_bound thinking; /* of the conversation's answer */
};

/* One choice per prompt; dialect may be NULL. */
void gw_builder_init(struct gw_completion_builder *builder, struct gw_api *api,
                     struct gw_exchange *exchange, const struct baton_json *body,
                     const struct gw_dialect *dialect);

/* The most tokens that a client may request: any number, unless an excess is an error. */
int64_t gw_builder_max_tokens(const struct gw_api *api);

/* Reads llama.cpp's "return_progress", after `stream`: a stream reports how far its prompt is. */
void gw_builder_read_progress(struct gw_completion_builder *builder);

/* Call after every field of the route was read: the others are errors, or are ignored and listed in
 * the header x-baton-ignored. */
void gw_builder_end_fields(struct gw_completion_builder *builder);

/* Sets the conversation as the only prompt. The assistant's end of turn ends its output. */
void gw_builder_set_chat(struct gw_completion_builder *builder,
                         const struct baton_chat_input *input);

/* For prompts that ask for a middle: the tokens after which a model goes on with other text end the
 * output. */
void gw_builder_add_fim_stops(struct gw_completion_builder *builder);

/* After gw_builder_set_chat, for writers that separate the parts of an answer: tool calls become
 * parts of their own; so does reasoning. */
void gw_builder_extract_tools(struct gw_completion_builder *builder);
void gw_builder_extract_reasoning(struct gw_completion_builder *builder);

/* Adds the header x-baton-dropped if prompts were shortened or cut. gw_builder_start does so
 * too. */
void gw_builder_tell_dropped(const struct gw_completion_builder *builder);

/* Starts the completion, or answers with the problem. wanted is the number of tokens that the
 * client requests in the field length_name; 0: none is given, and as many as fit are generated, at
 * most fallback. */
void gw_builder_start(struct gw_completion_builder *builder, const struct gw_answer_writer *writer,
                      const char *length_name, int64_t wanted, int64_t fallback);

/* Frees a builder whose request is answered without a completion. Does not free options.own. */
void gw_builder_fini(struct gw_completion_builder *builder);

#endif
