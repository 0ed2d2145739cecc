/* The draft model of a decode worker: a small model of the same vocabulary, whose tokens are drafts
 * for the model that the worker serves (Leviathan et al., "Fast Inference from Transformers via
 * Speculative Decoding", 2023). drafter.h runs it.
 *
 * Ownership: owns the model and the KV pool of its sequences, which must be gone before it is.
 * Threading: main thread; the model and the sequences' blocks are the engine thread's to read and
 *            write.
 * Errors:    open: as baton_model_open; INVALID when the vocabularies differ, with the first token
 *            that does. The reason begins with the option's name.
 */
#ifndef BATON_DECODE_WORKER_DRAFT_MODEL_H
#define BATON_DECODE_WORKER_DRAFT_MODEL_H

#include "worker/host.h"

struct dc_draft_model {
    struct baton_model *model;
    struct baton_kv *kv; /* since reserve */
    char name[sizeof((struct baton_model_facts *)0)->name];
    int n_vocab, n_context;
};

/* path: as --model. dtype: as --dtype, of this model. host: the worker's, with its model. */
enum baton_err dc_draft_model_open(struct dc_draft_model *draft, const char *path,
                                   const char *dtype, const struct baton_host *host,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* The pool of its sequences: as many blocks as that of the model which is served has. */
enum baton_err dc_draft_model_reserve(struct dc_draft_model *draft, const char *kv_dtype,
                                      int n_blocks, struct baton_why *why) BATON_MUST_CHECK;

/* Harmless on a zeroed struct. */
void dc_draft_model_close(struct dc_draft_model *draft);

struct baton_tokenizer_tables;

/* Whether each id that both know is the same token. A vocabulary may be longer: models are padded
 * to sizes that suit their makers. INVALID: why names the token. */
enum baton_err dc_draft_vocabulary_check(const struct baton_tokenizer_tables *model,
                                         const struct baton_tokenizer_tables *draft,
                                         struct baton_why *why) BATON_MUST_CHECK;

#endif
