/* Models of a shape with random weights, whose matrices share one dtype or follow a mix.
 *
 * Ownership: the model is the caller's.
 * Threading: any thread.
 * Errors:    those of baton_model_random.
 */
#ifndef BATON_TOOLS_SUPPORT_MACHINE_SHAPE_MODEL_H
#define BATON_TOOLS_SUPPORT_MACHINE_SHAPE_MODEL_H

#include "engine/model/model.h"

/* Creates such a model. options->dtype may also be the name of a mix (gguf_mix.h) in lower case:
 * "q4_k_m". */
enum baton_err bench_shape_model(const struct baton_spec *spec,
                                 const struct baton_model_options *options,
                                 struct baton_model **model,
                                 struct baton_why *why) BATON_MUST_CHECK;

#endif
