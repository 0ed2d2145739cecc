/* What a table of options says about itself: help, what is in force, and the table as JSON.
 *
 * Ownership: nothing is kept.
 * Threading: the main thread.
 * Errors:    none; stdout tells.
 */
#ifndef BATON_COMMON_BASE_OPTIONS_CONFIG_SHOW_H
#define BATON_COMMON_BASE_OPTIONS_CONFIG_SHOW_H

#include "common/base/options/config.h"

void baton_config_print_help(const struct baton_config *config);

/* The values in target, as a file that --config takes. */
void baton_config_print(const struct baton_config *config, const void *target);

/* The table for the generator of manual pages and completions: {"process", "summary",
 * "env_prefix", "operands", "options": [{"name", "kind", "default", "help", ...}]}. A number has
 * "min", "max" and "unit", a choice its "words". */
void baton_config_print_options(const struct baton_config *config);

#endif
