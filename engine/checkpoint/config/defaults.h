/* Defaults of config.json by model type: the values that transformers' configuration classes give
 * absent keys, as the text of a config.json with ' for ". A size is listed only where published
 * files leave it out; elsewhere a missing size is a mistake.
 *
 * Ownership: constants.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_CHECKPOINT_CONFIG_DEFAULTS_H
#define BATON_ENGINE_CHECKPOINT_CONFIG_DEFAULTS_H

/* Returns NULL when the model type has no defaults. */
const char *baton_model_defaults(const char *model_type);

/* Returns the model type of the language model in a wrapper whose text_config has no model_type;
 * wrapper itself when it is not a wrapper. */
const char *baton_model_wrapped(const char *wrapper);

/* Returns the model type of the language model of a model of pictures whose file has the keys of
 * both side by side; model_type itself for any other. */
const char *baton_model_text_of(const char *model_type);

#endif
