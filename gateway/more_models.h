/* The list of --more-models: models that a gateway serves beside that of --model.
 *
 *     NAME=PATH or PATH, separated by commas; a path that stands there again gives another name
 *
 * Ownership: the list owns its texts.
 * Threading: read-only after parsing.
 * Errors:    INVALID names the option and the entry.
 */
#ifndef BATON_GATEWAY_MORE_MODELS_H
#define BATON_GATEWAY_MORE_MODELS_H

#include <stddef.h>

#include "common/base/error.h"
#include "gateway/api/api.h"

struct gw_more_model {
    const char *path;
    int n_names; /* 0: its own name */
    const char *names[GW_MAX_MODEL_NAMES];
};

/* Zeroed it is empty. */
struct gw_more_models {
    char *text;
    size_t n;
    struct gw_more_model list[GW_MAX_MODELS - 1];
};

enum baton_err gw_more_models_parse(struct gw_more_models *models, const char *list,
                                    struct baton_why *why) BATON_MUST_CHECK;
void gw_more_models_fini(struct gw_more_models *models);

#endif
