/* The limits of a state space layer's time steps. */
#include <math.h>
#include <string.h>

#include "engine/checkpoint/config/internal.h"

/* Reads a limit. Infinity is no JSON: transformers writes it as Python does, which is null here
 * (common/base/json.h), or as an object with its name. */
static bool read_limit(const struct baton_json *value, double *limit)
{
    const struct baton_json *named = baton_json_get(value, "__float__");
    const char *name = baton_json_string(named, NULL);
    if (baton_json_kind(value) == BATON_JSON_NULL || (name && !strcmp(name, "Infinity"))) {
        *limit = INFINITY;
        return true;
    }
    *limit = baton_json_number(value);
    return baton_config_is_number(value, 0, 1e9);
}

enum baton_err baton_model_config_read_time_steps(const struct baton_json *object,
                                                  const char *prefix,
                                                  struct baton_model_config *config,
                                                  struct baton_why *why)
{
    const struct baton_json *list = baton_json_get(object, "time_step_limit");
    double least, most;
    if (baton_json_kind(list) == BATON_JSON_NULL)
        return BATON_OK;
    if (baton_json_size(list) != 2 || !read_limit(baton_json_at(list, 0), &least) ||
        !read_limit(baton_json_at(list, 1), &most) || !(least <= most) || isinf(least))
        return baton_config_refuse(prefix, "time_step_limit", list,
                                   "two numbers in 0..1e9, the lesser one first", why);
    config->least_time_step = least;
    config->most_time_step = most;
    return BATON_OK;
}
