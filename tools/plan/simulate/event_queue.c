#include "tools/plan/simulate/event_queue.h"

#include <stdlib.h>

#include "common/base/array.h"

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

void sim_events_add(struct sim_events *events, int64_t at_ns, enum sim_kind kind, void *subject,
                    uint32_t stamp)
{
    const struct sim_event event = {
        .at_ns = at_ns, .order = events->n_added, .kind = kind, .stamp = stamp, .subject = subject};
    if (BATON_RESERVE(events->items, events->cap, events->n + 1)) {
        events->failed = true;
        return;
    }
    events->n_added++;
    size_t hole = events->n++;
    for (; hole && is_before(&event, &events->items[(hole - 1) / 2]); hole = (hole - 1) / 2)
        events->items[hole] = events->items[(hole - 1) / 2];
    events->items[hole] = event;
}

/* Returns the earlier child of hole; n when it has none. */
static size_t first_child(const struct sim_events *events, size_t hole)
{
    size_t left = 2 * hole + 1, right = left + 1;
    if (right < events->n && is_before(&events->items[right], &events->items[left]))
        return right;
    return left < events->n ? left : events->n;
}

bool sim_events_take(struct sim_events *events, struct sim_event *event)
{
    if (!events->n)
        return false;
    *event = events->items[0];
    const struct sim_event last = events->items[--events->n];
    size_t hole = 0, child;
    while ((child = first_child(events, hole)) < events->n &&
           is_before(&events->items[child], &last)) {
        events->items[hole] = events->items[child];
        hole = child;
    }
    events->items[hole] = last;
    return true;
}

void sim_events_fini(struct sim_events *events)
{
    free(events->items);
    *events = (struct sim_events){0};
}
