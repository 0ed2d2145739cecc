#include "common/policy/reservations.h"

/* Two, and one for every 32 slots: see the header. */
enum { COMING = 2, SLOTS_PER_COMING = 32 };

int baton_reservations_max(int max_batch)
{
    return max_batch + COMING + max_batch / SLOTS_PER_COMING;
}

bool baton_reservations_may(int n_slots, enum baton_priority priority, const int *n_held,
                            int n_paused)
{
    int n_batch = n_held[BATON_PRIORITY_BATCH], n_sure = (int)baton_batch_spare(n_slots);
    if (priority == BATON_PRIORITY_INTERACTIVE && n_batch > n_sure)
        n_batch = n_sure;
    return n_held[BATON_PRIORITY_INTERACTIVE] + n_batch - n_paused <
           baton_reservations_max(n_slots);
}
