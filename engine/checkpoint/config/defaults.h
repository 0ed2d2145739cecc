/* What a config.json leaves unsaid, by model type: the defaults that transformers' configuration
 * classes give absent keys, as the text of a config.json with ' for ". Sizes are among them only
 * where published files leave them out; elsewhere a missing size is a mistake.
 *
 * Ownership: constants.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_CHECKPOINT_CONFIG_DEFAULTS_H
#define BATON_ENGINE_CHECKPOINT_CONFIG_DEFAULTS_H

/* NULL when the model type has none. */
const char *baton_model_defaults(const char *model_type);

/* The model type of the language model in a wrapper of this type, where its text_config names none;
 * wrapper itself when it is no wrapper. */
const char *baton_model_wrapped(const char *wrapper);

#endif
