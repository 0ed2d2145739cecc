/* Shows on the terminal how far a fleet in the background has come with its start, by the logs of
 * its processes.
 *
 * Ownership: plain values.
 * Threading: one thread.
 * Errors:    none; without a terminal on stderr nothing is shown.
 */
#ifndef BATON_TOOLS_BATON_FLEET_PROGRESS_H
#define BATON_TOOLS_BATON_FLEET_PROGRESS_H

#include "tools/baton/fleet/state.h"

struct bt_progress {
    const struct bt_state *state;
    bool is_shown;
    int64_t begun_ns;
};

void bt_progress_begin(struct bt_progress *progress, const struct bt_state *state);
/* Writes the line again: the step that takes longest, or the seconds since the begin. */
void bt_progress_show(const struct bt_progress *progress);
/* Clears the line. */
void bt_progress_end(const struct bt_progress *progress);

/* Reads the last step of a log: its name, percent and seconds left. False when it has none. */
bool bt_progress_read(const char *log, size_t n, const char **step, int *percent, double *left_s);

#endif
