/* The queue of events, in order of time. Events of one moment come in the order in which they were
 * added, so that a simulation is a function of its input.
 *
 * Ownership: the queue owns its heap until sim_events_fini; subjects are borrowed.
 * Threading: one owner.
 * Errors:    `failed` stays set after a failure of memory, which loses the event; to be checked at
 *            the end.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_EVENT_QUEUE_H
#define BATON_TOOLS_PLAN_SIMULATE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_kind {
    SIM_DUE,      /* the source may have a request due */
    SIM_QUEUE,    /* a request arrives at the gateway's queue */
    SIM_BEGIN,    /* a worker that was idle begins a pass or step */
    SIM_COMPUTED, /* a worker's pass or step has ended */
    SIM_FIRST,    /* a first token arrives at the gateway */
    SIM_RECEIVED, /* a decode worker has received a whole context */
    SIM_END       /* an answer has ended for its client */
};

struct sim_event {
    int64_t at_ns;
    uint64_t order; /* sequence number of the addition */
    enum sim_kind kind;
    uint32_t stamp; /* compared with the subject's, to recognise an event that is no longer valid */
    void *subject;
};

struct sim_events {
    struct sim_event *items; /* a binary heap; the next event is the first */
    size_t n, cap;
    uint64_t n_added;
    bool failed;
};

void sim_events_add(struct sim_events *events, int64_t at_ns, enum sim_kind kind, void *subject,
                    uint32_t stamp);
/* Removes the next event. False when there is none. */
bool sim_events_take(struct sim_events *events, struct sim_event *event);
void sim_events_fini(struct sim_events *events);

#endif
