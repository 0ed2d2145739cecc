/* The check that state machines share: a transition that a machine's drawing lacks is a bug in the
 * program.
 *
 * Pure, except that it may end the process.
 */
#ifndef BATON_COMMON_BASE_STATES_H
#define BATON_COMMON_BASE_STATES_H

/* A drawing as a table. */
struct baton_states {
    const char *object;       /* "outbox"; for the log */
    const char *const *names; /* by state */
    const unsigned *edges;    /* by state: the next ones, as bits 1 << state */
};

/* Logs impossible_edge and aborts if `from` has no edge to `to`. */
void baton_states_check(const struct baton_states *states, unsigned from, unsigned to);

#endif
