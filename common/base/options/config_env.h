/* Finds environment variables that resemble a process's options but are not: a mistyped one would
 * otherwise silently have no effect.
 *
 * Ownership: names are the caller's for the length of a call.
 * Threading: before threads start; nobody changes the environment later.
 * Errors:    none.
 */
#ifndef BATON_COMMON_BASE_OPTIONS_CONFIG_ENV_H
#define BATON_COMMON_BASE_OPTIONS_CONFIG_ENV_H

#include <stddef.h>

#include "common/base/options/config.h"

/* Writes PREFIX_KV_TOKENS for the option "kv-tokens". */
void baton_config_env_name(const struct baton_config *config, const char *option, char *name,
                           size_t size);

/* nearest is the variable of an option that differs from name in the fewest letters. */
typedef void (*baton_unknown_env_fn)(void *arg, const char *name, const char *nearest);

/* Calls fn for every variable that begins with the process's prefix and names no option. Skips
 * the variables that Kubernetes sets for a service of that name (..._SERVICE_HOST,
 * ..._PORT_8000_TCP). */
void baton_config_visit_unknown_env(const struct baton_config *config, baton_unknown_env_fn fn,
                                    void *arg);

#endif
