/* An architecture, as a row of a table: the configurations that it computes, their meaning for the
 * computation, and the names of its checkpoints' tensors. The engine's decoder runs all of them.
 *
 *     config    the keys of config.json                        checkpoint/config/model_config.h
 *       | a row of families.c, read by configure.c; refine.c where rows do not suffice
 *     spec      the computation of the decoder                 spec.h
 *       |
 *     arrays    the weights that it needs                      arrays.h
 *       | names_hf.c, names_gguf.c
 *     tensors   the tensors of a checkpoint that fill them     tensors.h
 *
 * A new architecture is a row in families.c, lists of its tensors' names where no others fit, and a
 * function in refine.c only if rows cannot express it. A new kind of computation begins in spec.h.
 *
 * Ownership: a table of constants.
 * Threading: pure.
 * Errors:    configure: INVALID with the key, its value and what is supported.
 */
#ifndef BATON_ENGINE_ARCH_ARCH_H
#define BATON_ENGINE_ARCH_ARCH_H

#include "engine/arch/spec.h"
#include "engine/arch/tensors.h"

/* The layers that have a window in configs without layer_types. */
enum baton_window_rule {
    BATON_WINDOW_NONE,
    BATON_WINDOW_ALL,
    BATON_WINDOW_SWITCHED,     /* all, where use_sliding_window is true */
    BATON_WINDOW_EVEN,         /* the first, the third, .. */
    BATON_WINDOW_PATTERN,      /* all but each sliding_window_pattern-th */
    BATON_WINDOW_PATTERN_LAST, /* all but these and the last layer, whatever layer_types has */
    BATON_WINDOW_LATE,         /* from max_window_layers on, where use_sliding_window is true */
    BATON_WINDOW_NO_ROPE       /* those without rotation, where use_sliding_window is true */
};

/* The config key of the activation, and that of the norms' epsilon. */
enum baton_activation_key {
    BATON_KEY_HIDDEN_ACT,
    BATON_KEY_HIDDEN_ACTIVATION, /* or hidden_act; "gelu" is its tanh form */
    BATON_KEY_MLP_HIDDEN_ACT,
    BATON_KEY_ACTIVATION_FUNCTION,
    BATON_KEY_ACTIVATION_OR_GATE /* activation_function, where "swiglu" is a gated MLP with silu */
};

enum baton_epsilon_key {
    BATON_KEY_RMS_NORM_EPS,
    BATON_KEY_LAYER_NORM_EPS,
    BATON_KEY_LAYER_NORM_EPSILON,
    BATON_KEY_NORM_EPSILON
};

struct baton_arch {
    const char *model_type; /* of config.json */
    const struct baton_tensor_names *tensors;
    const struct baton_tensor_names *gguf; /* in GGUF files; NULL: there are none */

    /* Of the head that drafts, in a directory and in a GGUF file; NULL: there is none. */
    const struct baton_tensor_names *draft, *gguf_draft;

    uint64_t features; /* of BATON_FEATURE (model_config.h), that it computes; others are refused */

    enum baton_block_form form;
    enum baton_norm_kind norm;
    bool norm_has_bias;
    enum baton_epsilon_key epsilon;
    enum baton_mlp_form mlp;
    enum baton_activation_key activation;
    enum baton_qk_norm qk_norm;
    enum baton_window_rule window;
    bool has_learned_positions; /* else rotary ones */
    bool has_embed_norm;
    bool rotates_pairs;
    bool has_qkv_bias, has_out_bias, has_mlp_bias, has_head_bias; /* whatever the config has */
    bool never_has_out_bias; /* attention_bias means queries, keys and values alone */
    bool defaults_n_ff;      /* F is 4 C where the config gives none */
    bool scales_global_rope; /* layers with a window turn by rope_theta alone */

    /* Changes the spec that the rest of the row makes of a config; NULL: nothing. */
    enum baton_err (*refine)(const struct baton_model_config *config, struct baton_spec *spec,
                             struct baton_why *why);
};

/* The names of the tensors of a model of this config. */
static inline const struct baton_tensor_names *
baton_arch_tensors(const struct baton_arch *arch, const struct baton_model_config *config)
{
    return config->gguf_names ? arch->gguf : arch->tensors;
}

/* The names of the head that drafts for a model of n_layers. False: its family has none. */
bool baton_arch_draft_names(const struct baton_arch *arch, bool in_gguf, int n_layers,
                            struct baton_tensor_names *names);

/* All families: a new architecture is a row of this table. */
extern const struct baton_arch baton_families[]; /* [baton_n_families] */
extern const int baton_n_families;

/* NULL when unknown. */
const struct baton_arch *baton_arch_find(const char *model_type);

/* "supported: gpt2, ...", for messages. */
enum { BATON_ARCH_NAMES_BYTES = 768 };
const char *baton_arch_names(char text[BATON_ARCH_NAMES_BYTES]);

/* INVALID names the model_type when no architecture computes it; sizes are not judged. */
enum baton_err baton_arch_check_family(const struct baton_model_config *config,
                                       struct baton_why *why) BATON_MUST_CHECK;

/* Finds the architecture of a model of this config, and makes its spec for n_context positions to
 * serve, at most those that the model knows; 0: all of these. Rotary embeddings that depend on the
 * context depend on this number. */
enum baton_err baton_arch_configure(const struct baton_model_config *config, int n_context,
                                    const struct baton_arch **arch, struct baton_spec *spec,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* The same for a model on disk; messages name its config's file. */
struct baton_checkpoint;
enum baton_err baton_arch_configure_model(const struct baton_checkpoint *checkpoint, int n_context,
                                          const struct baton_arch **arch, struct baton_spec *spec,
                                          struct baton_why *why) BATON_MUST_CHECK;

#endif
