/* config.json of a Hugging Face model: which architecture it is, its shape, and a refusal of
 * whatever the architecture's code does not compute.
 *
 * Ownership: plain data.
 * Threading: pure.
 * Errors:    INVALID with the field and the reason (CORRUPT is not used: the text is an
 * operator's).
 */
#ifndef BATON_ENGINE_MODEL_CONFIG_H
#define BATON_ENGINE_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "common/engine/model/model.h"

struct baton_arch;
struct baton_json;

struct baton_model_config {
    const struct baton_arch *arch;
    struct baton_model_shape shape;
    bool tied_head; /* the output matrix is the token embedding unless the files say otherwise */
};

/* The text of a config.json. */
enum baton_err baton_model_config_parse(const void *text, size_t n,
                                        struct baton_model_config *config,
                                        struct baton_why *why) BATON_MUST_CHECK;

/* Readers of one field, for the architectures. An absent or null field keeps *value if it may be
 * absent, else it is INVALID. */
enum baton_err baton_config_int(const struct baton_json *config, const char *field, bool required,
                                int max, int *value, struct baton_why *why) BATON_MUST_CHECK;
enum baton_err baton_config_bool(const struct baton_json *config, const char *field, bool *value,
                                 struct baton_why *why) BATON_MUST_CHECK;

#endif
