/* Fleets by name: "2P1D" has two prefill workers and one decode worker.
 *
 * Ownership: plain values.
 * Threading: pure functions.
 * Errors:    INVALID names the option, the form and the range.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_LAYOUTS_H
#define BATON_TOOLS_PLAN_SIMULATE_LAYOUTS_H

#include "common/base/error.h"

enum { SIM_MAX_WORKERS = 16384, SIM_MAX_LAYOUTS = 64, SIM_LAYOUT_BYTES = 16 };

struct sim_layout {
    int n_prefill, n_decode;
};

struct sim_layouts {
    struct sim_layout items[SIM_MAX_LAYOUTS];
    int n;
};

/* Parses "1P1D,8P8D,..." */
enum baton_err sim_layouts_parse(const char *option, const char *text, struct sim_layouts *layouts,
                                 struct baton_why *why) BATON_MUST_CHECK;
void sim_layout_name(const struct sim_layout *layout, char name[SIM_LAYOUT_BYTES]);

#endif
