/* The prompts that a model's authors put before texts to embed: "search_query: ". The files of
 * sentence-transformers name them (config_sentence_transformers.json).
 *
 * Ownership: see each function.
 * Threading: loop thread.
 * Errors:    in the builder's fields.problem.
 */
#ifndef BATON_GATEWAY_API_EMBEDDINGS_TEXT_PROMPT_H
#define BATON_GATEWAY_API_EMBEDDINGS_TEXT_PROMPT_H

#include "gateway/api/completion/builder.h"

/* Reads "prompt_name", a name of the model's prompts, and "input_type", what the texts are, which
 * leads to one. The prompt becomes that of the builder's prompts; the header x-baton-prompt tells
 * its name. */
void gw_text_prompt_read(struct gw_completion_builder *builder);

/* Writes the prompts as an object under the key: {"query": "search_query: "}. */
void gw_text_prompts_put(struct baton_json_out *out, const char *key, const struct gw_api *api);

#endif
