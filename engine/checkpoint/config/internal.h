/* The parts of a config.json: the keys with one value each, rotary embeddings, lists by layer, the
 * ids that begin and end a text. For model_config.c. */
#ifndef BATON_ENGINE_CHECKPOINT_CONFIG_INTERNAL_H
#define BATON_ENGINE_CHECKPOINT_CONFIG_INTERNAL_H

#include "common/base/json.h"
#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/config/table.h"

/* The keys with one value each. */
extern const struct baton_config_table baton_model_config_keys;

/* Reads rope_scaling and rope_parameters. Call it after rope_theta and partial_rotary_factor are
 * read, which stay unless the object has them too. */
enum baton_err baton_model_config_read_ropes(const struct baton_json *object, const char *prefix,
                                             struct baton_model_config *config,
                                             struct baton_why *why) BATON_MUST_CHECK;

/* Reads layer_types and the keys that stand for it, no_rope_layers, mlp_only_layers and
 * per_layer_config. Call it after n_layers is read, which the lists have to match. */
enum baton_err baton_model_config_read_layers(const struct baton_json *object, const char *prefix,
                                              struct baton_model_config *config,
                                              struct baton_why *why) BATON_MUST_CHECK;

/* The first entry of layer_types that is no attention; "": there is none. */
const char *baton_model_config_state_type(const struct baton_model_config *config);

/* Reads time_step_limit. */
enum baton_err baton_model_config_read_time_steps(const struct baton_json *object,
                                                  const char *prefix,
                                                  struct baton_model_config *config,
                                                  struct baton_why *why) BATON_MUST_CHECK;

/* Adds a number or an array of numbers. Ids outside the vocabulary can never be generated and are
 * left out. */
enum baton_err baton_model_config_add_eos(struct baton_model_config *config,
                                          const struct baton_json *value,
                                          struct baton_why *why) BATON_MUST_CHECK;

/* Returns -1 unless value is an id of the vocabulary. */
int64_t baton_model_config_id(const struct baton_model_config *config,
                              const struct baton_json *value);

/* Reads what an encoder has: the kind of its result, and the positions that its texts may take.
 * Call it last. */
enum baton_err baton_model_config_read_encoder(const struct baton_json *root,
                                               struct baton_model_config *config,
                                               struct baton_why *why) BATON_MUST_CHECK;

/* Reads do_sample, temperature, .. of a generation_config.json. */
enum baton_err baton_model_config_read_sampling(const struct baton_json *object,
                                                struct baton_sampling_defaults *sampling,
                                                struct baton_why *why) BATON_MUST_CHECK;

#endif
