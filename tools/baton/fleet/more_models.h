/* The models that `baton up --more-models` serves beside that of --model.
 *
 *     NAME=MODEL or MODEL, separated by commas; MODEL as of --model
 *
 * Ownership: plain data.
 * Threading: one thread.
 * Errors:    INVALID names the option and the entry.
 */
#ifndef BATON_TOOLS_BATON_FLEET_MORE_MODELS_H
#define BATON_TOOLS_BATON_FLEET_MORE_MODELS_H

#include <limits.h>

#include "tools/baton/fleet/up_options.h"

enum { BT_MAX_MORE_MODELS = 15, BT_SERVED_NAME_BYTES = 129 };

struct bt_more_model {
    char name[BT_SERVED_NAME_BYTES]; /* for clients; "": the model's own */
    char path[PATH_MAX];             /* absolute */
    bool is_encoder;                 /* it needs no decode worker */
};

struct bt_more_models {
    struct bt_more_model list[BT_MAX_MORE_MODELS];
    int n;
};

/* Finds and checks the models that the options name. */
enum baton_err bt_more_models_find(const struct bt_up_options *options,
                                   struct bt_more_models *models,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* Writes them as the gateway's option of that name takes them. */
enum baton_err bt_more_models_put(const struct bt_more_models *models, char *text, size_t size,
                                  struct baton_why *why) BATON_MUST_CHECK;

#endif
