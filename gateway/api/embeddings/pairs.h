/* Pairs of a query and a document, as the prompts by which the served model scores them.
 *
 *     a cross-encoder      reads both texts between its special tokens, and has one logit
 *     a model of "yes" and reads Qwen3-Reranker's question about both texts; its logits of the two
 *     "no"                 answers are the score
 *
 * Special tokens that are written in a query or a document are ordinary text there.
 *
 * Ownership: prompts are the builder's; texts are borrowed from the body during a call.
 * Threading: loop thread.
 * Errors:    in the builder's fields.problem.
 */
#ifndef BATON_GATEWAY_API_EMBEDDINGS_PAIRS_H
#define BATON_GATEWAY_API_EMBEDDINGS_PAIRS_H

#include "gateway/api/completion/builder.h"

enum gw_scoring { GW_SCORES_NOTHING, GW_SCORES_PAIRS, GW_SCORES_YES_NO };

/* How the served model scores documents. A model that generates text does if it has a name with
 * "rerank" in it and the tokens of Qwen3-Reranker's question, for no file states it. */
enum gw_scoring gw_scoring_of(const struct gw_api *api);

struct gw_text {
    const char *bytes; /* NULL: absent */
    size_t n;
};

struct gw_pair {
    struct gw_text query, document;
    char name[32]; /* of the document in errors: "documents[3]" */
};

struct gw_pair_options {
    struct gw_text instruction; /* of the question; absent: the model's own */
    size_t max_tokens;          /* of a pair; 0: the context's */
    size_t max_document;        /* tokens of a document; 0: any */
    bool are_cut;               /* documents that exceed max_tokens are cut, not refused */
    bool are_cut_at_start;
};

/* Reads the fields that all routes of scores share: truncate, truncation_direction,
 * max_tokens_per_doc, truncate_prompt_tokens, instruction, model, cache_prompt, priority,
 * timeout_s. */
void gw_pairs_read_options(struct gw_completion_builder *builder, struct gw_pair_options *options);

/* A text, or an object with a text as its member "text"; absent after a problem with the field. */
struct gw_text gw_pairs_text(struct gw_fields *fields, const char *name,
                             const struct baton_json *json);

/* Makes the pairs' prompts and starts their scores, or answers with the problem; ends the
 * builder. */
void gw_pairs_start(struct gw_completion_builder *builder, const struct gw_pair *pairs, size_t n,
                    const struct gw_pair_options *options, const struct gw_answer_writer *writer);

/* The score of a choice's values [n]: a logit or, unless is_raw, its sigmoid. */
double gw_pairs_score(const float *values, size_t n, bool is_raw);

#endif
