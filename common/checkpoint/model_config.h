/* How a model is built, as its files say it: sizes, variants, the ids that begin and end a text.
 *
 * This is the only reader of those files: one table of keys gives what the gateway tells its
 * clients and what the engine computes. A key that is absent or null keeps its field's neutral
 * value, which the struct below states. The range of a field is checked here; whether the engine
 * computes its value is the engine's to say.
 *
 * Ownership: plain data in the caller's struct.
 * Threading: any thread.
 * Errors:    INVALID with the key and the rule; read also NOT_FOUND, IO and LIMIT with the file.
 *            Outputs are untouched.
 */
#ifndef BATON_CHECKPOINT_MODEL_CONFIG_H
#define BATON_CHECKPOINT_MODEL_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* The largest sizes that are accepted: products of two of them stay far below 2^63. */
enum {
    BATON_MAX_LAYERS = 1024,
    BATON_MAX_WIDTH = 1 << 17,
    BATON_MAX_VOCAB = 1 << 24,
    BATON_MAX_CONTEXT = 1 << 24,
    BATON_MODEL_MAX_EOS = 8
};

struct baton_model_config {
    char model_type[64]; /* "gpt2"; "": not given */
    int n_layers;        /* L; this and the sizes below: 0 when not given */
    int n_embd;          /* C */
    int n_heads;         /* H */
    int n_ff;            /* F */
    int n_vocab;         /* V */
    int n_context;       /* positions the model knows */
    double norm_epsilon; /* 0: not given */
    char activation[64]; /* "gelu_new"; "": not given */
    bool tied_head;      /* the output matrix is the token embedding unless tensors say otherwise;
                            true when not given */
    bool scales_scores;  /* scores are divided by the root of D; true when not given */
    bool scales_by_layer, upcasts_scores, cross_attends; /* false when not given */
    int64_t bos_id;                                      /* -1: none */
    int64_t eos_ids[BATON_MODEL_MAX_EOS];                /* each ends a generation; all below V */
    int n_eos;
};

/* The text of a config.json. */
enum baton_err baton_model_config_parse(const void *text, size_t n,
                                        struct baton_model_config *config,
                                        struct baton_why *why) BATON_MUST_CHECK;

/* Adds the eos ids of a generation_config.json's text. */
enum baton_err baton_model_config_parse_generation(const void *text, size_t n,
                                                   struct baton_model_config *config,
                                                   struct baton_why *why) BATON_MUST_CHECK;

/* From the model at model_path: its config.json and, if present, its generation_config.json. source
 * receives the path of the file that the sizes are from, for messages about them. */
enum baton_err baton_model_config_read(const char *model_path, struct baton_model_config *config,
                                       char source[PATH_MAX],
                                       struct baton_why *why) BATON_MUST_CHECK;

/* INVALID, with the key and its range, when *size, one of config's own sizes, is not given. */
enum baton_err baton_model_config_require(const struct baton_model_config *config, const int *size,
                                          struct baton_why *why) BATON_MUST_CHECK;

#endif
