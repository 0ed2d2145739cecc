/* The gateway's part of the model that its fleet serves: facts, fingerprint, tokenizer, chat
 * template.
 *
 * Ownership: gw_model_open fills the caller's struct; gw_model_close frees its contents.
 * Threading: read-only after opening, safe from any thread, except that one thread at a time may
 *            encode with each tokenizer.
 * Errors:    enum baton_err with a baton_why that names the file and the field.
 */
#ifndef BATON_GATEWAY_MODEL_H
#define BATON_GATEWAY_MODEL_H

#include "engine/checkpoint/checkpoint.h"
#include "engine/tokenizer/fim.h"
#include "engine/tokenizer/tokenizer.h"
#include "gateway/chat/chat.h"
#include "gateway/settings.h"

struct gw_model {
    struct baton_model_facts facts;
    struct baton_fingerprint fingerprint;
    struct baton_tokenizer *tokenizer;
    struct baton_tokenizer *pool_tokenizer; /* the same for another thread */
    struct baton_fim fim;
    struct baton_chat *chat;
    struct baton_json *text_prompts; /* what the authors put before texts to embed; NULL: nothing */
};

/* One of the models that a gateway serves. */
struct gw_model_options {
    const char *path;          /* a directory or a GGUF file */
    const char *chat_template; /* "auto": the model's own */
    int64_t context_tokens;    /* 0: the model's own */
};

/* Reads the model, without its weights except for their
 * digest. Also rejects a model that no worker could compute, so that the gateway's start fails and
 * not only the workers'. Call gw_model_close also after an error. */
enum baton_err gw_model_open(struct gw_model *model, const struct gw_model_options *own,
                             const struct gw_options *options,
                             struct baton_why *why) BATON_MUST_CHECK;

/* A zeroed model is allowed. */
void gw_model_close(struct gw_model *model);

#endif
