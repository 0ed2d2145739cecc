/* What a process without weights needs to know of a model (checkpoint.h fills it in).
 *
 * Pure.
 */
#ifndef BATON_ENGINE_CHECKPOINT_FACTS_H
#define BATON_ENGINE_CHECKPOINT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/checkpoint/config/model_config.h"

struct baton_model_facts {
    char name[128];           /* of the directory, or of the file without its ending */
    char family[64];          /* model_type of the config */
    bool has_blocks;          /* of ggml's formats, as a GGUF file's tensors are */
    int64_t n_vocab;          /* V */
    int64_t n_embd;           /* C; 0: the config does not say it */
    int64_t n_context_tokens; /* prompt and output together */
    int64_t eos_ids[BATON_MODEL_MAX_EOS];
    int n_eos;
    int64_t bos_id;                          /* what an empty prompt stands for; -1: none */
    enum baton_pooling pooling;              /* of embeddings, where its files say it */
    struct baton_sampling_defaults sampling; /* what the model's authors sample with */
};

#endif
