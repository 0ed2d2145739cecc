/* What a process without weights needs to know of a model.
 *
 * Ownership: plain data in the caller's struct.
 * Threading: any thread.
 * Errors:    NOT_FOUND, IO, INVALID with the file and the field.
 */
#ifndef BATON_CHECKPOINT_FACTS_H
#define BATON_CHECKPOINT_FACTS_H

#include <stdint.h>

#include "common/checkpoint/model_config.h"

struct baton_model_facts {
    char name[128];           /* of the file or directory itself, for people */
    int64_t n_vocab;          /* V */
    int64_t n_context_tokens; /* prompt and output together */
    int64_t eos_ids[BATON_MODEL_MAX_EOS];
    int n_eos;
    int64_t bos_id; /* what an empty prompt stands for; -1: none */
};

/* From the model's config, which must give the vocabulary and the context. */
enum baton_err baton_facts_read(const char *dir, struct baton_model_facts *facts,
                                struct baton_why *why) BATON_MUST_CHECK;

#endif
