/* Finds out from a fleet's gateway whether the fleet serves.
 *
 * Ownership: plain values.
 * Threading: any thread, which waits for up to a few seconds.
 * Errors:    those of the request.
 */
#ifndef BATON_TOOLS_BATON_FLEET_READINESS_H
#define BATON_TOOLS_BATON_FLEET_READINESS_H

#include "tools/baton/fleet/state.h"
#include "tools/baton/http.h"

enum { BT_MODEL_BYTES = 256 };

/* Fills in the address of a fleet's gateway and the first of its API keys. */
enum baton_err bt_fleet_server(const struct bt_fleet_file *fleet, struct bt_server *server,
                               struct baton_why *why) BATON_MUST_CHECK;

/* Sends GET path. */
enum baton_err bt_fleet_get(const struct bt_server *server, const char *path,
                            struct bt_answer *answer, struct baton_why *why) BATON_MUST_CHECK;

/* Asks for the name under which the first model is served; "" when there is no answer. */
void bt_fleet_model(const struct bt_server *server, char model[BT_MODEL_BYTES]);

/* Counts the workers that an answer of GET /workers shows in that state. */
int bt_count_workers(const struct bt_answer *workers, const char *state);

/* True when all workers are ready. GET /ready needs only one of each role. Then it writes the name
 * under which the model is served, too. */
bool bt_fleet_is_ready(const struct bt_fleet_file *fleet, char model[BT_MODEL_BYTES]);

/* Returns the time limit for the start of a fleet, in seconds: two minutes, and one more for each
 * GiB of weights, which are read, digested and packed once. model is a directory or a GGUF file,
 * the first file of a split one; files that cannot be read count as empty. */
double bt_patience_s(const char *model);

#endif
