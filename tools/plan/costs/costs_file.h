/* Costs as a file:
 *
 *     {"baton_calibration": 1, "model": "...", "kv_token_bytes": 36864, "layers": 6,
 *      "state_bytes": ..., (of models whose layers keep a state)
 *      "way": {"before_s": ..., "after_s": ..., "spread": [9 quantiles]},
 *      "handoff": {"fixed_s": ..., "token_s": ...},
 *      "cores": [{"cores": 1,
 *                 "pass": {"at": [16, ...], "s": [...], "position_s": ..., "spread": [...],
 *                          "beside": ...},
 *                 "step": {the same}}, ...]}
 *
 * costs.h explains the members.
 *
 * Ownership: plain values.
 * Threading: pure functions.
 * Errors:    INVALID names file, field and range; those of reading files.
 */
#ifndef BATON_TOOLS_PLAN_COSTS_COSTS_FILE_H
#define BATON_TOOLS_PLAN_COSTS_COSTS_FILE_H

#include <stddef.h>

#include "common/base/json.h"
#include "tools/plan/costs/costs.h"

/* Parses a file's text. name stands for the text in messages. */
enum baton_err sim_costs_file_parse(const char *name, const char *text, size_t n,
                                    struct sim_costs *costs,
                                    struct baton_why *why) BATON_MUST_CHECK;
enum baton_err sim_costs_file_read(const char *path, struct sim_costs *costs,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* Writes the object above, at key (NULL: at the top). */
void sim_costs_file_put(const struct sim_costs *costs, const char *key, struct baton_json_out *out);

/* Returns the entry for n_cores: an existing one, or a new one in order of n_cores. NULL when there
 * are already SIM_MAX_CORES. */
struct sim_core_costs *sim_costs_file_entry(struct sim_costs *costs, int n_cores);

#endif
