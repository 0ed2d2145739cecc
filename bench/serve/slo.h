/* What a request must keep to count as good: "ttft=200ms,itl=50ms,tpot=40ms,e2el=3s".
 *
 * Ownership: plain values.
 * Threading: pure functions.
 * Errors:    INVALID names the option and the form.
 */
#ifndef BATON_BENCH_SERVE_SLO_H
#define BATON_BENCH_SERVE_SLO_H

#include <stdbool.h>

#include "common/base/error.h"

/* Seconds; 0 is no bound. itl bounds every gap of the request, tpot their mean. */
struct sv_slo {
    double ttft_s, itl_s, tpot_s, e2el_s;
};

enum baton_err sv_slo_parse(const char *option, const char *text, struct sv_slo *slo,
                            struct baton_why *why) BATON_MUST_CHECK;
bool sv_slo_is_set(const struct sv_slo *slo);

#endif
