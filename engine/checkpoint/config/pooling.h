/* How the positions of a text become one embedding, and what a model's files say of it.
 *
 *     modules.json               of sentence-transformers: what follows the transformer
 *     1_Pooling/config.json      {"pooling_mode_mean_tokens": true, ...}
 *     ARCH.pooling_type          the same in a GGUF file: 1 mean, 3 last
 *
 * Files that ask for what is not here (the CLS token, a dense layer) say nothing.
 *
 * Ownership: plain data.
 * Threading: any thread.
 * Errors:    read: NOT_FOUND, IO, INVALID, LIMIT with the file; NO_MEMORY. Outputs are untouched.
 */
#ifndef BATON_ENGINE_CHECKPOINT_CONFIG_POOLING_H
#define BATON_ENGINE_CHECKPOINT_CONFIG_POOLING_H

#include "common/base/error.h"

enum baton_pooling {
    BATON_POOLING_NONE, /* no embedding; of a model: its files say nothing */
    BATON_POOLING_LAST, /* the last position's final hidden state */
    BATON_POOLING_MEAN  /* the mean of all positions' */
};

/* "none", "last", "mean" */
const char *baton_pooling_name(enum baton_pooling pooling);

/* What the files of a Hugging Face checkout say. */
enum baton_err baton_pooling_read(const char *model_path, enum baton_pooling *pooling,
                                  struct baton_why *why) BATON_MUST_CHECK;

#endif
