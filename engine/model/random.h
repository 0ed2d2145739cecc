/* Models of pseudo-random weights whose matrices have dtypes by a rule.
 *
 * Ownership: the model is the caller's.
 * Threading: any thread.
 * Errors:    those of baton_model_random.
 */
#ifndef BATON_ENGINE_MODEL_RANDOM_H
#define BATON_ENGINE_MODEL_RANDOM_H

#include "engine/model/storage.h"

/* baton_model_random (model.h); rule NULL: all matrices have the options' dtype. */
enum baton_err baton_model_random_by(const struct baton_spec *spec, uint64_t seed,
                                     const struct baton_model_options *options,
                                     const struct baton_dtype_rule *rule,
                                     struct baton_model **model,
                                     struct baton_why *why) BATON_MUST_CHECK;

/* The dtype itself where rows of n_in weights are whole blocks of it, else a wider one. */
enum baton_dtype baton_random_dtype(enum baton_dtype wanted, int n_in);

#endif
