/* The draft model of a decode worker: a small model with the same vocabulary that drafts tokens for
 * the served model (Leviathan et al., "Fast Inference from Transformers via Speculative Decoding",
 * 2023), or the served model's own head that drafts (multi-token prediction: DeepSeek-AI,
 * "DeepSeek-V3", 2024, 2.2). drafter.h runs it.
 *
 * Ownership: owns the model and the KV pool of its sequences, which must be freed before it.
 * Threading: main thread; the model and the sequences' blocks are the engine thread's to read and
 *            write.
 * Errors:    open: as baton_model_open; INVALID if the vocabularies differ, with the first token
 *            that does. The reason begins with the option's name.
 */
#ifndef BATON_DECODE_WORKER_DRAFT_MODEL_H
#define BATON_DECODE_WORKER_DRAFT_MODEL_H

#include "worker/host.h"

struct dc_draft_model {
    struct baton_model *model;
    struct baton_kv *kv; /* NULL before reserve */
    char name[sizeof((struct baton_model_facts *)0)->name];
    int n_vocab, n_context;
    int n_embd;   /* C */
    bool is_head; /* its inputs are the served model's final hidden states, and tokens */
};

/* The path that means the served model's own head. */
#define DC_OWN_HEAD "mtp"

/* The tokens that a sequence of it lacks at most, step after step. */
int dc_draft_model_lag(const struct dc_draft_model *draft);

/* path: as --model, or DC_OWN_HEAD. dtype: as --dtype, for this model. host: the worker's, with its
 * model loaded. */
enum baton_err dc_draft_model_open(struct dc_draft_model *draft, const char *path,
                                   const char *dtype, const struct baton_host *host,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* Creates the pool for its sequences, with as many blocks as the served model's pool, which grows
 * and shrinks as options say. */
enum baton_err dc_draft_model_reserve(struct dc_draft_model *draft, const char *kv_dtype,
                                      int n_blocks, const struct baton_kv_options *options,
                                      struct baton_why *why) BATON_MUST_CHECK;

/* A zeroed struct is fine. */
void dc_draft_model_close(struct dc_draft_model *draft);

struct baton_tokenizer_tables;

/* Whether each id that both have is the same token. One vocabulary may be longer, because models
 * pad theirs to convenient sizes. INVALID: why names the token. */
enum baton_err dc_draft_vocabulary_check(const struct baton_tokenizer_tables *model,
                                         const struct baton_tokenizer_tables *draft,
                                         struct baton_why *why) BATON_MUST_CHECK;

#endif
