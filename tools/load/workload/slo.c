#include "tools/load/workload/slo.h"

#include <stddef.h>
#include <string.h>

#include "common/base/array.h"
#include "tools/load/workload/number.h"

static bool take_bound(const char **p, struct ld_slo *slo)
{
    const struct {
        const char *name;
        double *seconds;
    } bounds[] = {{"ttft=", &slo->ttft_s},
                  {"itl=", &slo->itl_s},
                  {"tpot=", &slo->tpot_s},
                  {"e2el=", &slo->e2el_s}};
    for (size_t i = 0; i < BATON_N_OF(bounds); i++) {
        size_t n = strlen(bounds[i].name);
        if (strncmp(*p, bounds[i].name, n) != 0)
            continue;
        *p += n;
        /* A bound that is given twice is an error. */
        return !(*bounds[i].seconds > 0) && ld_take_seconds(p, bounds[i].seconds) &&
               *bounds[i].seconds > 0;
    }
    return false;
}

enum baton_err ld_slo_parse(const char *option, const char *text, struct ld_slo *slo,
                            struct baton_why *why)
{
    struct ld_slo parsed = {0};
    const char *p = text;
    bool ok = take_bound(&p, &parsed);
    while (ok && *p)
        ok = ld_take_char(&p, ',') && take_bound(&p, &parsed);
    if (!ok)
        return baton_fail(why, BATON_INVALID,
                          "%s: must be bounds as in ttft=200ms,itl=50ms,tpot=40ms,e2el=3s, each at "
                          "most once and above 0, not \"%.60s\"",
                          option, text);
    *slo = parsed;
    return BATON_OK;
}

bool ld_slo_is_set(const struct ld_slo *slo)
{
    return slo->ttft_s > 0 || slo->itl_s > 0 || slo->tpot_s > 0 || slo->e2el_s > 0;
}
