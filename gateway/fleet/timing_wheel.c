#include "gateway/fleet/timing_wheel.h"

void gw_timing_wheel_init(struct gw_timing_wheel *wheel, int64_t slot_ns, int64_t now_ns)
{
    for (int i = 0; i < GW_WHEEL_SLOTS; i++)
        gw_due_list_init(&wheel->slots[i]);
    gw_due_list_init(&wheel->due);
    wheel->slot_ns = slot_ns;
    wheel->turned_to = now_ns / slot_ns;
}

static struct gw_due_list *slot(struct gw_timing_wheel *wheel, int64_t number)
{
    return &wheel->slots[number % GW_WHEEL_SLOTS];
}

void gw_timing_wheel_put(struct gw_timing_wheel *wheel, struct gw_worker *worker, int64_t due_ns)
{
    int64_t number = due_ns / wheel->slot_ns;
    worker->due_slot = number > wheel->turned_to ? number : wheel->turned_to;
    gw_due_list_push_back(slot(wheel, worker->due_slot), worker);
}

/* A worker whose slot has ended was moved to the list `due`; the lists count their members, so the
 * right one must be named. */
void gw_timing_wheel_remove(struct gw_timing_wheel *wheel, struct gw_worker *worker)
{
    if (!worker->in_due.next)
        return;
    gw_due_list_remove(
        worker->due_slot < wheel->turned_to ? &wheel->due : slot(wheel, worker->due_slot), worker);
}

/* Moves the workers of all slots that have ended to `due`. Rounds of the wheel share their slots,
 * so a slot may also hold workers of a later round, which stay. After a pause longer than a round
 * each slot is visited once. */
static void turn(struct gw_timing_wheel *wheel, int64_t now_ns)
{
    int64_t from = wheel->turned_to, end = now_ns / wheel->slot_ns;
    if (end - from > GW_WHEEL_SLOTS)
        from = end - GW_WHEEL_SLOTS;
    for (int64_t number = from; number < end; number++) {
        struct gw_due_list *list = slot(wheel, number);
        for (struct gw_worker *worker = gw_due_list_first(list), *next; worker; worker = next) {
            next = gw_due_list_next(list, worker);
            if (worker->due_slot >= end)
                continue;
            gw_due_list_remove(list, worker);
            gw_due_list_push_back(&wheel->due, worker);
        }
    }
    if (end > wheel->turned_to)
        wheel->turned_to = end;
}

struct gw_worker *gw_timing_wheel_take(struct gw_timing_wheel *wheel, int64_t now_ns)
{
    turn(wheel, now_ns);
    return gw_due_list_pop_front(&wheel->due);
}
