/* The facts of a model that a process without weights needs (checkpoint.h fills them in).
 *
 * Pure.
 */
#ifndef BATON_ENGINE_CHECKPOINT_FACTS_H
#define BATON_ENGINE_CHECKPOINT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/weights/count.h"

struct baton_model_facts {
    char name[128];           /* the directory's name, or the file's without its ending */
    char family[64];          /* model_type of the config */
    bool has_blocks;          /* the tensors have ggml's formats, as a GGUF file's do */
    int64_t n_vocab;          /* V */
    int64_t n_embd;           /* C; 0: not in the config */
    int64_t n_pooled;         /* values of an embedding; 0: not in the config */
    int64_t n_context_tokens; /* prompt and output together */
    int n_layers, n_heads, n_kv_heads, n_ff; /* 0: not in the config */
    double rope_theta, rms_norm_eps;         /* 0: not in the config */
    struct baton_weights_count weights;      /* set by a process that has the files */
    int64_t eos_ids[BATON_MODEL_MAX_EOS];
    int n_eos;
    int64_t fim_ids[BATON_N_FIM_TOKENS]; /* that keys name; -1: none */
    /* the token that an empty prompt is replaced by; -1: none */
    int64_t bos_id;
    bool is_encoder;            /* it embeds or scores texts, and generates none */
    bool scores_pairs;          /* it is a reranker */
    bool has_states;            /* layers keep a state; set by a process that makes its spec */
    enum baton_pooling pooling; /* the pooling of embeddings; NONE: not in the files */
    struct baton_sampling_defaults sampling; /* the authors' recommendation */
};

#endif
