/* Prints a table of options: its help, the values in force, and the table as JSON.
 *
 * Ownership: nothing is kept.
 * Threading: the main thread.
 * Errors:    none; errors of stdout are not reported.
 */
#ifndef BATON_COMMON_BASE_OPTIONS_CONFIG_SHOW_H
#define BATON_COMMON_BASE_OPTIONS_CONFIG_SHOW_H

#include "common/base/options/config.h"

void baton_config_print_help(const struct baton_config *config);

/* Prints the values in target, in the format of a --config file. */
void baton_config_print(const struct baton_config *config, const void *target);

/* Prints the table for the generator of manual pages and completions: {"process", "summary",
 * "env_prefix", "operands", "options": [{"name", "kind", "default", "help", ...}]}. A number has
 * "min", "max" and "unit", a choice its "words". */
void baton_config_print_options(const struct baton_config *config);

#endif
