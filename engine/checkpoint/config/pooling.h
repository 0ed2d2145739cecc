/* How the positions of a text become one embedding, and what a model's files state about it. */
#ifndef BATON_ENGINE_CHECKPOINT_CONFIG_POOLING_H
#define BATON_ENGINE_CHECKPOINT_CONFIG_POOLING_H

#include "common/base/error.h"

enum baton_pooling {
    BATON_POOLING_NONE, /* no embedding; for a model: the files state none */
    BATON_POOLING_LAST, /* the last position's final hidden state */
    BATON_POOLING_MEAN  /* the mean of all positions' */
};

/* "none", "last", "mean" */
const char *baton_pooling_name(enum baton_pooling pooling);

/* Reads the files of a Hugging Face checkout. */
enum baton_err baton_pooling_read(const char *model_path, enum baton_pooling *pooling,
                                  struct baton_why *why) BATON_MUST_CHECK;

#endif
