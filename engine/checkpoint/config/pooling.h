/* How the positions of a text become one embedding, and what a model's files state about it. */
#ifndef BATON_ENGINE_CHECKPOINT_CONFIG_POOLING_H
#define BATON_ENGINE_CHECKPOINT_CONFIG_POOLING_H

#include <stdbool.h>

#include "common/base/error.h"

enum baton_pooling {
    BATON_POOLING_NONE, /* no embedding; for a model: the files state none */
    BATON_POOLING_LAST, /* the last position's final hidden state */
    BATON_POOLING_MEAN, /* the mean of all positions' */
    BATON_POOLING_CLS   /* the first position's, in encoders */
};

/* "none", "last", "mean", "cls" */
const char *baton_pooling_name(enum baton_pooling pooling);

/* What becomes of a pooled state: linear stages, which may be followed by tanh. */
enum { BATON_MAX_POOLED_STAGES = 2 };

struct baton_pooled_stage {
    int n_out;
    bool has_bias, is_tanh;
};

struct baton_pooling_config {
    enum baton_pooling pooling;
    int n_stages;
    struct baton_pooled_stage stages[BATON_MAX_POOLED_STAGES];
};

/* Reads sentence-transformers' files of a Hugging Face checkout: modules.json, 1_Pooling, and the
 * dense modules 2_Dense and 3_Dense. Of a decoder, with is_strict false, modules that are not
 * supported mean that the files state nothing; of an encoder they are INVALID. */
enum baton_err baton_pooling_read(const char *model_path, bool is_strict,
                                  struct baton_pooling_config *config,
                                  struct baton_why *why) BATON_MUST_CHECK;

#endif
