/* A running fleet as its gateway reports it: GET /workers.
 *
 * Ownership: plain values.
 * Threading: blocks until the answer, so it must not run on a loop.
 * Errors:    INVALID (the url), NOT_FOUND and IO (no server answers), TIMEOUT, PEER (the server is
 *            not a gateway of ours, or refuses), with the reason.
 */
#ifndef BATON_TOOLS_PLAN_ADVISE_FLEET_AT_H
#define BATON_TOOLS_PLAN_ADVISE_FLEET_AT_H

#include "common/base/json.h"
#include "common/capacity/capacity.h"

struct plan_fleet_at {
    struct baton_fleet fleet;       /* costs 0 where the workers have not measured them */
    struct baton_workload observed; /* NaN where the gateway has seen too little */
    double kv_tokens;               /* capacity of a decode worker; 0: not reported */
    double n_sequences; /* whose states it holds, two for each; 0: its layers keep none */
};

/* Requests the fleet's state. key is for servers that require one; NULL: none. */
enum baton_err plan_fleet_get(const char *url, const char *key, struct plan_fleet_at *fleet,
                              struct baton_why *why) BATON_MUST_CHECK;

/* Reads the answer's body, without a request. PEER when it is not an answer of /workers. */
enum baton_err plan_fleet_read(const struct baton_json *answer, struct plan_fleet_at *fleet,
                               struct baton_why *why) BATON_MUST_CHECK;

#endif
