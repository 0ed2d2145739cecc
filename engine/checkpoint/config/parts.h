/* The parts of a config.json: the keys of one value each, rotary embeddings, lists by layer, the
 * ids that begin and end a text. For model_config.c.
 *
 * Ownership: plain data in the caller's struct.
 * Threading: pure.
 * Errors:    INVALID with prefix and key.
 */
#ifndef BATON_ENGINE_CHECKPOINT_CONFIG_PARTS_H
#define BATON_ENGINE_CHECKPOINT_CONFIG_PARTS_H

#include "common/base/json.h"
#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/config/table.h"

/* The keys with one value each. */
extern const struct baton_config_table baton_model_config_keys;

/* rope_scaling and rope_parameters, after rope_theta and partial_rotary_factor, which stay unless
 * the object has them too. */
enum baton_err baton_model_config_read_ropes(const struct baton_json *object, const char *prefix,
                                             struct baton_model_config *config,
                                             struct baton_why *why) BATON_MUST_CHECK;

/* layer_types, attention_layers and attention_types, no_rope_layers, mlp_only_layers: after
 * n_layers, which the lists have to match. */
enum baton_err baton_model_config_read_layers(const struct baton_json *object, const char *prefix,
                                              struct baton_model_config *config,
                                              struct baton_why *why) BATON_MUST_CHECK;

/* A number or an array of numbers. Ids outside the vocabulary can never come up and are left out.
 */
enum baton_err baton_model_config_add_eos(struct baton_model_config *config,
                                          const struct baton_json *value,
                                          struct baton_why *why) BATON_MUST_CHECK;

/* -1 unless it is an id of the vocabulary. */
int64_t baton_model_config_id(const struct baton_model_config *config,
                              const struct baton_json *value);

/* do_sample, temperature, .. of a generation_config.json. */
enum baton_err baton_model_config_read_sampling(const struct baton_json *object,
                                                struct baton_sampling_defaults *sampling,
                                                struct baton_why *why) BATON_MUST_CHECK;

#endif
