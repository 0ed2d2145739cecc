/* The state that the parts of config.c share: a model whose config.json is being written.
 *
 * Ownership: borrowed.
 * Threading: one owner.
 * Errors:    INVALID with the key, its value and the rule.
 */
#ifndef BATON_ENGINE_CHECKPOINT_GGUF_CONFIG_INTERNAL_H
#define BATON_ENGINE_CHECKPOINT_GGUF_CONFIG_INTERNAL_H

#include "common/base/json.h"
#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/gguf/model.h"

enum { BATON_GGUF_KEY_BYTES = 128 };

/* The traits of an architecture: facts that its files contain or omit. */
enum baton_gguf_trait {
    BATON_GGUF_ATTENTION_BIAS = 1, /* attention_bias is true when the tensors are present */
    BATON_GGUF_MLP_BIAS = 2,
    BATON_GGUF_USE_BIAS = 4,
    BATON_GGUF_QKV_BIAS = 8,
    BATON_GGUF_HEAD_NORM = 16,    /* use_qk_norm is true when the tensors are present */
    BATON_GGUF_ONE_WIDTH = 32,    /* the experts' width is intermediate_size */
    BATON_GGUF_RENORMALISES = 64, /* norm_topk_prob is true unless the file states it */
    /* YaRN's range does not end at whole pairs: truncate is false */
    BATON_GGUF_WHOLE_PAIRS = 128,
    BATON_GGUF_LOCAL_ROPE = 256, /* rope.freq_base_swa is for layers with a window */
    /* no attention.sliding_window means no window, whatever the family's default */
    BATON_GGUF_OPEN = 512,
    BATON_GGUF_QUERY_SCALAR = 1024, /* query_pre_attn_scalar */
    BATON_GGUF_GRANITE = 2048,      /* logit_scale divides; its shared expert has no gate */
    BATON_GGUF_OUT_BIAS = 4096,     /* attention_out_bias is true when the tensors are present */
    BATON_GGUF_BY_LAYER = 8192,     /* sizes and rotations differ by layer (config_layers.c) */
    BATON_GGUF_ENCODER = 16384,     /* attention.causal is false */
    BATON_GGUF_STATES = 65536,      /* most layers keep a state (config_state.c) */
    BATON_GGUF_LATENTS = 262144,    /* keys and values are made of latents (config_latents.c) */
    BATON_GGUF_TILED = 131072,      /* their value heads are tiled (arch/spec.h) */
    BATON_GGUF_CONV = 524288,       /* short convolutions where a layer has no KV heads */
    BATON_GGUF_MAMBA = 1048576,     /* Mamba-2 there */
    BATON_GGUF_ONE_PART = 2097152,  /* of mixer and feed-forward part a layer has one */
    BATON_GGUF_SIGMOID = 4194304,   /* its router is one of sigmoids */
    BATON_GGUF_PICTURES = 32768     /* positions and layers of pictures, which a text has not */
};

struct baton_gguf_family {
    const char *arch, *model_type;
    const char *epsilon; /* the key of its norms' epsilon, after the architecture */
    unsigned traits;     /* bits of baton_gguf_trait */
};

struct baton_gguf_reading {
    const struct baton_gguf_model *model;
    const struct baton_gguf_family *family;
    struct baton_json_out out;
    struct baton_why *why;
    int64_t n_layers, n_embd, n_heads, head_dim; /* head_dim 0: not known */
};

/* Writes the full key: "llama.block_count" for "block_count". */
const char *baton_gguf_key(const struct baton_gguf_reading *reading, const char *name,
                           char key[BATON_GGUF_KEY_BYTES]);

/* Returns the value of the architecture's key; NULL when the file has none. */
const struct baton_gguf_value *baton_gguf_value(const struct baton_gguf_reading *reading,
                                                const char *name);

bool baton_gguf_has(const struct baton_gguf_reading *reading, const char *tensor);

/* Returns INVALID: "llama.NAME: must be RULE". */
enum baton_err baton_gguf_refuse(const struct baton_gguf_reading *reading, const char *name,
                                 const char *rule);

/* Refuses keys that change the result unless they have the one value that every supported model
 * has. */
enum baton_err baton_gguf_check_neutral(const struct baton_gguf_reading *reading) BATON_MUST_CHECK;

/* Read numbers. *number keeps its value where the key is absent. A list of whole numbers must have
 * one value throughout. */
enum baton_err baton_gguf_get_int(const struct baton_gguf_reading *reading, const char *name,
                                  int64_t *number) BATON_MUST_CHECK;
enum baton_err baton_gguf_get_real(const struct baton_gguf_reading *reading, const char *name,
                                   double *number) BATON_MUST_CHECK;

/* Reads a layer's number, from a list with one for each layer or from a single one. */
enum baton_err baton_gguf_get_layer_int(const struct baton_gguf_reading *reading, const char *name,
                                        int64_t layer, int64_t *number) BATON_MUST_CHECK;

/* The number of KV heads of the layers with attention, which is one. */
enum baton_err baton_gguf_get_kv_heads(const struct baton_gguf_reading *reading,
                                       int64_t *n_kv_heads) BATON_MUST_CHECK;

/* The first layer that has the tensor blk.N.NAME; -1: none. */
int64_t baton_gguf_layer_with(const struct baton_gguf_reading *reading, const char *name);

/* Returns the shortest decimal that rounds to this float. This is the number that the model's
 * config.json had, so both formats compute with the same. */
double baton_gguf_decimal(float number);

/* Write the parts of the config.json. Sizes come first: the others take them from *reading. */
enum baton_err baton_gguf_put_sizes(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_put_epsilon(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_put_mlp(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_put_windows(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_put_caps(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_put_scales(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
void baton_gguf_put_query_scalar(struct baton_gguf_reading *reading);

/* Writes the flags for biases, norms and the head, by the tensors that are present. */
void baton_gguf_put_flags(struct baton_gguf_reading *reading);

/* Write the sizes that differ by layer, and the rotations of both types of layers. */
enum baton_err baton_gguf_put_layers(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_put_layer_ropes(struct baton_gguf_reading *reading) BATON_MUST_CHECK;

/* Writes the sizes of states, and which layers keep one; leaves out the layers that draft. */
/* For LATENTS: the parts of keys and values, and the router. */
enum baton_err baton_gguf_put_latent_heads(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_put_router(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_put_states(struct baton_gguf_reading *reading) BATON_MUST_CHECK;

/* Item i of a tensor of F32 numbers. */
struct baton_tensor;
float baton_gguf_factor(const struct baton_tensor *tensor, int64_t i);
/* Writes what encoders alone have, and sets the pooling of any model. */
enum baton_err baton_gguf_put_encoder(struct baton_gguf_reading *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_set_pooling(const struct baton_gguf_reading *reading,
                                      struct baton_model_config *config) BATON_MUST_CHECK;

/* Writes rope_theta, rope_scaling and the other parameters of rotation. */
enum baton_err baton_gguf_put_ropes(struct baton_gguf_reading *reading) BATON_MUST_CHECK;

#endif
