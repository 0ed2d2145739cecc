/* The log-probabilities of a choice's tokens, kept until their text is shown and written in
 * OpenAI's two shapes.
 *
 * A token's entry is ready once its text was shown. Tokens that a stop string withholds stay
 * unlisted, so the listed tokens spell the text, except for a last token that a stop string cuts.
 * Special tokens, which are not part of the text, are listed under their names, and so is the token
 * that ends the text, as vLLM does.
 *
 * Ownership: an embedded struct that owns its arrays.
 * Threading: loop thread.
 * Errors:    without memory an entry is left out.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_LOGPROBS_H
#define BATON_GATEWAY_API_COMPLETION_LOGPROBS_H

#include "gateway/api/api.h"

struct gw_logprob {
    uint32_t token;
    double logprob; /* or a probability, see gw_logprobs_add_drawn */
};

struct gw_logprob_entry {
    struct gw_logprob self;          /* logprob NaN: the prompt's first token, which has none */
    uint32_t rank;                   /* 1: the most probable token; 0: unknown */
    size_t begin_bytes, begin_chars; /* in the generated text */
    bool of_prompt;
    int n_top;
};

struct gw_logprobs {
    struct gw_logprob_entry *entries;
    struct gw_logprob *tops; /* [n][max_top] */
    size_t n, cap, cap_tops, n_ready, n_taken;
    size_t n_before;             /* ready entries before the current piece of text */
    int max_top, max_output_top; /* of an entry; of an entry of the output */
};

/* max_top: how many of the most probable tokens are listed with each. */
void gw_logprobs_init(struct gw_logprobs *logprobs, int max_top);
void gw_logprobs_fini(struct gw_logprobs *logprobs);
/* Forgets every entry. */
void gw_logprobs_reset(struct gw_logprobs *logprobs);

void gw_logprobs_add(struct gw_logprobs *logprobs, const struct gw_token *token);
/* The same with the probabilities, 0 to 1, that the draw used, and only with the candidates that
 * the filters kept. Precondition: the token has a decision. */
void gw_logprobs_add_drawn(struct gw_logprobs *logprobs, const struct gw_token *token);
/* Adds the prompt's tokens in order. The first token, which has no logprob, is added with the
 * second. */
void gw_logprobs_add_prompt(struct gw_logprobs *logprobs, const struct baton_tokens *prompt,
                            const Baton__V1__PromptLogprobs *scores);

/* The most probable tokens of an entry [n_top]. */
const struct gw_logprob *gw_logprobs_tops(const struct gw_logprobs *logprobs, size_t entry);

/* n_bytes of the generated text were shown: their tokens become ready. */
void gw_logprobs_shown(struct gw_logprobs *logprobs, size_t n_bytes);

/* key:[{"token","logprob","bytes","top_logprobs"}]: the entries that became ready since the last
 * call. */
void gw_logprobs_put_entries(struct gw_logprobs *logprobs, struct baton_json_out *out,
                             const char *key, const struct baton_tokenizer *tokenizer);

/* The same with each token's "id", as llama.cpp has them. */
void gw_logprobs_put_identified(struct gw_logprobs *logprobs, struct baton_json_out *out,
                                const char *key, const struct baton_tokenizer *tokenizer);

/* The same for entries of gw_logprobs_add_drawn: {"id","token","prob","bytes","top_probs"}. */
void gw_logprobs_put_drawn(struct gw_logprobs *logprobs, struct baton_json_out *out,
                           const char *key, const struct baton_tokenizer *tokenizer);

/* {"content":[the same],"refusal":null} */
void gw_logprobs_put_chat(struct gw_logprobs *logprobs, struct baton_json_out *out,
                          const struct baton_tokenizer *tokenizer);

/* {"tokens","token_logprobs","top_logprobs","text_offset"}, the same for completions. prompt_chars
 * is the number of characters of an echoed prompt before the generated text. */
void gw_logprobs_put_completion(struct gw_logprobs *logprobs, struct baton_json_out *out,
                                const struct baton_tokenizer *tokenizer, size_t prompt_chars);

#endif
