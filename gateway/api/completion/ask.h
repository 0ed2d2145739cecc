/* A completion in the making, on the routes of other servers' APIs: the fields of its body, and
 * what was read out of them so far.
 *
 *     gw_ask_init --> the route reads its fields --> gw_ask_end_fields --> the prompt -->
 *     gw_ask_start
 *
 * A problem on the way is kept in fields; gw_ask_start answers with it.
 *
 * Ownership: an ask owns its params, its prompts and its options until gw_ask_start, which frees
 *            them or hands them on; the body is borrowed, and so is options.own.
 * Threading: loop thread.
 * Errors:    in fields.problem.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_ASK_H
#define BATON_GATEWAY_API_COMPLETION_ASK_H

#include "gateway/api/completion/writer.h"

struct gw_ask {
    struct gw_api *api;
    struct gw_exchange *exchange;
    struct gw_fields fields;
    struct gw_completion_params params;
    struct gw_prompts prompts;
    struct gw_completion_options options;
};

/* One choice per prompt; dialect may be NULL. */
void gw_ask_init(struct gw_ask *ask, struct gw_api *api, struct gw_exchange *exchange,
                 const struct baton_json *body, const struct gw_dialect *dialect);

/* How many tokens a client may ask for: any number, if what does not fit is cut. */
int64_t gw_ask_most_tokens(const struct gw_api *api);

/* llama.cpp's "return_progress", after `stream` was read: a stream tells how far its prompt is. */
void gw_ask_read_progress(struct gw_ask *ask);

/* Every field of the route was read: the others are refused, or ignored and told in the header
 * x-baton-ignored. */
void gw_ask_end_fields(struct gw_ask *ask);

/* The conversation as the one prompt, which the assistant's end of turn ends. */
void gw_ask_take_chat(struct gw_ask *ask, const struct baton_chat_input *input);

/* After gw_ask_take_chat, for writers that tell the parts apart: calls of the tools that the input
 * shows are taken out of the text; so is reasoning. */
void gw_ask_take_tools(struct gw_ask *ask);
void gw_ask_take_reasoning(struct gw_ask *ask);

/* Starts the completion, or answers with the problem. wanted is how many tokens the client asks for
 * in the field length_name; 0: it does not say, and gets as many as fit, at most fallback. */
void gw_ask_start(struct gw_ask *ask, const struct gw_answer_writer *writer,
                  const char *length_name, int64_t wanted, int64_t fallback);

/* Of an ask that is answered without a completion; what options.own holds is not freed. */
void gw_ask_fini(struct gw_ask *ask);

#endif
