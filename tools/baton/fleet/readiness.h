/* Whether a fleet serves, as its gateway tells.
 *
 * Ownership: plain values.
 * Threading: any thread; waits up to a few seconds.
 * Errors:    those of the request.
 */
#ifndef BATON_TOOLS_BATON_FLEET_READINESS_H
#define BATON_TOOLS_BATON_FLEET_READINESS_H

#include "tools/baton/fleet/state.h"
#include "tools/baton/http.h"

/* How to reach the gateway of a fleet, with the first of its API keys. */
enum baton_err bt_fleet_server(const struct bt_fleet_file *fleet, struct bt_server *server,
                               struct baton_why *why) BATON_MUST_CHECK;

/* GET path. */
enum baton_err bt_fleet_get(const struct bt_server *server, const char *path,
                            struct bt_answer *answer, struct baton_why *why) BATON_MUST_CHECK;

/* How many workers an answer of GET /workers shows in that state. */
int bt_count_workers(const struct bt_answer *workers, const char *state);

/* GET /ready says that one worker of each role is there; this waits for all of them. */
bool bt_fleet_is_ready(const struct bt_fleet_file *fleet);

#endif
