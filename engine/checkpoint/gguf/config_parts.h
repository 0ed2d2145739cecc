/* What the parts of config.c share: a model that is being written down as a config.json.
 *
 * Ownership: borrowed.
 * Threading: one owner.
 * Errors:    INVALID with the key, its value and the rule.
 */
#ifndef BATON_ENGINE_CHECKPOINT_GGUF_CONFIG_PARTS_H
#define BATON_ENGINE_CHECKPOINT_GGUF_CONFIG_PARTS_H

#include "common/base/json.h"
#include "engine/checkpoint/gguf/model.h"

enum { BATON_GGUF_KEY_BYTES = 128 };

/* What an architecture's files hold, or leave unsaid. */
enum baton_gguf_trait {
    BATON_GGUF_ATTENTION_BIAS = 1, /* attention_bias by the tensors that are there */
    BATON_GGUF_MLP_BIAS = 2,
    BATON_GGUF_USE_BIAS = 4,
    BATON_GGUF_QKV_BIAS = 8,
    BATON_GGUF_HEAD_NORM = 16,      /* use_qk_norm */
    BATON_GGUF_ONE_WIDTH = 32,      /* experts' width is intermediate_size */
    BATON_GGUF_RENORMALISES = 64,   /* norm_topk_prob, unless the file says it */
    BATON_GGUF_WHOLE_PAIRS = 128,   /* YaRN's range does not end at whole pairs */
    BATON_GGUF_LOCAL_ROPE = 256,    /* rope.freq_base_swa is for layers with a window */
    BATON_GGUF_OPEN = 512,          /* without attention.sliding_window there is none */
    BATON_GGUF_QUERY_SCALAR = 1024, /* query_pre_attn_scalar */
    BATON_GGUF_GRANITE = 2048       /* logit_scale divides; its shared expert has no gate */
};

struct baton_gguf_family {
    const char *arch, *model_type;
    const char *epsilon; /* the key of its norms' epsilon, after the architecture */
    unsigned traits;     /* of baton_gguf_trait */
};

struct baton_gguf_reading {
    const struct baton_gguf_model *model;
    const struct baton_gguf_family *family;
    struct baton_json_out out;
    struct baton_why *why;
    int64_t n_layers, n_embd, n_heads, head_dim; /* head_dim 0: not known */
};

/* "llama.block_count" of "block_count". */
const char *baton_gguf_key(const struct baton_gguf_reading *reading, const char *name,
                           char key[BATON_GGUF_KEY_BYTES]);

/* The value of the architecture's key; NULL: there is none. */
const struct baton_gguf_value *baton_gguf_value(const struct baton_gguf_reading *reading,
                                                const char *name);

bool baton_gguf_has(const struct baton_gguf_reading *reading, const char *tensor);

/* INVALID: "llama.NAME: must be RULE". */
enum baton_err baton_gguf_refuse(const struct baton_gguf_reading *reading, const char *name,
                                 const char *rule);

/* Refuses keys that change the result unless they have the value that they have in every model
 * here. */
enum baton_err baton_gguf_check_neutral(const struct baton_gguf_reading *reading) BATON_MUST_CHECK;

/* Numbers; *number keeps its value where the key is not given. A list of whole numbers must have
 * one value throughout. */
enum baton_err baton_gguf_get_int(const struct baton_gguf_reading *reading, const char *name,
                                  int64_t *number) BATON_MUST_CHECK;
enum baton_err baton_gguf_get_real(const struct baton_gguf_reading *reading, const char *name,
                                   double *number) BATON_MUST_CHECK;

/* The shortest decimal that rounds to this float: the number that the model's config.json had, so
 * that both formats compute with the same. */
double baton_gguf_decimal(float number);

/* Parts of the config.json. Sizes come first: the others take them from *reading. */
enum baton_err baton_gguf_put_sizes(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_put_epsilon(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_put_mlp(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_put_windows(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_put_caps(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_put_scales(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
void baton_gguf_put_query_scalar(struct baton_gguf_reading *reading);

/* Biases, norms and the head, by the tensors that are there. */
void baton_gguf_put_flags(struct baton_gguf_reading *reading);

/* rope_theta, rope_scaling and what else says how heads turn. */
enum baton_err baton_gguf_put_ropes(struct baton_gguf_reading *reading) BATON_MUST_CHECK;

#endif
