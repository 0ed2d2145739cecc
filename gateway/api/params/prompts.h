/* The prompts of a completion: read as text or token ids, one or many, and encoded as token ids
 * that fit into the model's context.
 *
 * Ownership: prompts own their tokens and texts until gw_prompts_fini.
 * Threading: loop thread.
 * Errors:    in fields->problem, which names the prompt's index in a batch.
 */
#ifndef BATON_GATEWAY_API_PARAMS_PROMPTS_H
#define BATON_GATEWAY_API_PARAMS_PROMPTS_H

#include "gateway/api/params/shorten.h"

struct gw_prompt {
    char name[32];                     /* its name in errors: "prompt", or in a batch "prompt[3]" */
    struct baton_tokens tokens;        /* at least one */
    struct baton_buf text;             /* the text of the tokens */
    uint32_t n_first_part;             /* of a pair of texts, the first one's tokens; 0: one text */
    struct baton_answer_form form;     /* for a conversation: the form of its answer; it borrows */
    struct baton_chat_borders borders; /* of a conversation, for models that keep states */
};

struct gw_prompts {
    struct gw_prompt *items;
    size_t n;
    bool is_batch;         /* given as an array of prompts, even if of one */
    const char *field;     /* the field that they are read from; NULL: "prompt" */
    bool takes_objects;    /* llama.cpp's {"prompt_string"} too */
    bool are_cut;          /* too long prompts are cut at their end instead of failing */
    bool are_cut_at_start; /* ... or at their start */
    const char *before;    /* put before each text, which ids then may not replace; NULL: nothing */
    size_t n_before;
    /* The text behind the middle that prompts ask for (tokenizer/fim.h); NULL: they are plain. */
    const char *suffix;
    size_t n_suffix;
    size_t n_last; /* only the last n_last tokens of each prompt are used; 0: all */
    struct gw_shortening shortening; /* of too long prompts; counts what cuts drop too */
};

/* Whether a batch of texts or arrays of ids is allowed. A single one always is. */
enum gw_prompt_list { GW_BATCH_NONE, GW_BATCH_ANY };

/* Reads "suffix", before gw_prompts_read: each prompt then asks for the text between itself and the
 * suffix. "" counts as absent. */
void gw_prompts_read_suffix(const struct gw_api *api, struct gw_fields *fields,
                            struct gw_prompts *prompts);

/* Makes one prompt of the parts, which the limits may shorten; then *was_cut. */
void gw_prompts_read_fim(struct gw_api *api, struct gw_fields *fields,
                         const struct baton_fim_parts *parts, const struct baton_fim_limits *limits,
                         struct gw_prompts *prompts, bool *was_cut);

/* The most tokens that a prompt may have. */
size_t gw_prompts_most_tokens(const struct gw_api *api);

/* Reads the field prompts->field; at most max prompts. */
void gw_prompts_read(struct gw_api *api, struct gw_fields *fields, enum gw_prompt_list batch,
                     size_t max, struct gw_prompts *prompts);

/* Reads vLLM's truncate_prompt_tokens before the prompts: the number of last tokens that are used;
 * -1 for as many as leave room for n_answer tokens. */
void gw_prompts_read_truncation(const struct gw_api *api, struct gw_fields *fields,
                                int64_t n_answer, struct gw_prompts *prompts);

/* Reads token ids from the field and puts them before the only prompt; together they must fit, or
 * are cut. A text that begins in the prompt then goes on in it. */
void gw_prompts_put_before(struct gw_api *api, struct gw_fields *fields, const char *name,
                           struct gw_prompts *prompts);

/* Renders a conversation as one prompt by the model's chat template. Problems name "messages": the
 * template rejects them, or the model has no usable template. */
void gw_prompts_read_chat(struct gw_api *api, struct gw_fields *fields,
                          const struct baton_chat_input *input, struct gw_prompts *prompts);

/* The same, but only returns the ids, see baton_chat_encode; an error is in fields->problem too. */
enum baton_err gw_prompts_encode_chat(struct gw_api *api, struct gw_fields *fields,
                                      const struct baton_chat_input *input, size_t max_tokens,
                                      struct baton_tokens *tokens,
                                      struct baton_answer_form *form) BATON_MUST_CHECK;

/* Frees every prompt; prompts is empty after it. */
void gw_prompts_fini(struct gw_prompts *prompts);

/* The number of tokens that may continue each prompt: wanted or, if that is 0, as many as fit, at
 * most fallback. name is the field of a problem. An array [prompts->n] for free(); NULL after a
 * problem. */
int64_t *gw_prompts_lengths(const struct gw_api *api, struct gw_fields *fields,
                            const struct gw_prompts *prompts, const char *name, int64_t wanted,
                            int64_t fallback);

#endif
