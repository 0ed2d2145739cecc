/* The bounds that a request must keep to count as good: "ttft=200ms,itl=50ms,tpot=40ms,e2el=3s".
 *
 * Ownership: plain values.
 * Threading: pure functions.
 * Errors:    INVALID names the option and the form.
 */
#ifndef BATON_TOOLS_LOAD_WORKLOAD_SLO_H
#define BATON_TOOLS_LOAD_WORKLOAD_SLO_H

#include <stdbool.h>

#include "common/base/error.h"

/* Seconds; 0 is no bound. itl bounds every gap of the request, tpot their mean. */
struct ld_slo {
    double ttft_s, itl_s, tpot_s, e2el_s;
};

enum baton_err ld_slo_parse(const char *option, const char *text, struct ld_slo *slo,
                            struct baton_why *why) BATON_MUST_CHECK;
bool ld_slo_is_set(const struct ld_slo *slo);

#endif
