#include "tools/plan/simulate/layouts.h"

#include <stdio.h>

#include "tools/load/workload/number.h"

static bool take_count(const char **p, char letter, int *count)
{
    int64_t n;
    if (!ld_take_int(p, &n) || n < 1 || n > SIM_MAX_WORKERS || !ld_take_char(p, letter))
        return false;
    *count = (int)n;
    return true;
}

enum baton_err sim_layouts_parse(const char *option, const char *text, struct sim_layouts *layouts,
                                 struct baton_why *why)
{
    struct sim_layouts parsed = {.n = 0};
    const char *p = text;
    bool ok = true, more = true;
    while (ok && more) {
        struct sim_layout *layout = &parsed.items[parsed.n];
        ok = take_count(&p, 'P', &layout->n_prefill) && take_count(&p, 'D', &layout->n_decode);
        parsed.n++;
        more = ld_take_char(&p, ',');
        ok = ok && !(more && parsed.n == SIM_MAX_LAYOUTS);
    }
    if (!ok || *p)
        return baton_fail(why, BATON_INVALID,
                          "%s: must be layouts as in 1P1D,2P1D, with 1 to %d workers of each role, "
                          "at most %d of them, not \"%.60s\"",
                          option, SIM_MAX_WORKERS, SIM_MAX_LAYOUTS, text);
    *layouts = parsed;
    return BATON_OK;
}

void sim_layout_name(const struct sim_layout *layout, char name[SIM_LAYOUT_BYTES])
{
    (void)snprintf(name, SIM_LAYOUT_BYTES, "%dP%dD", layout->n_prefill, layout->n_decode);
}
