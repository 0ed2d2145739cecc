/* Models of pseudo-random weights whose matrices have dtypes by a rule.
 *
 * Ownership: the model is the caller's.
 * Threading: any thread.
 * Errors:    those of baton_model_random.
 */
#ifndef BATON_ENGINE_MODEL_RANDOM_H
#define BATON_ENGINE_MODEL_RANDOM_H

#include "common/engine/model/storage.h"

/* baton_model_random (model.h); rule NULL: all matrices have the options' dtype. */
enum baton_err baton_model_random_by(const struct baton_spec *spec, uint64_t seed,
                                     const struct baton_model_options *options,
                                     const struct baton_dtype_rule *rule,
                                     struct baton_model **model,
                                     struct baton_why *why) BATON_MUST_CHECK;

#endif
