#include "common/policy/reservations.h"

enum { COMING = 2, SLOTS_PER_COMING = 32 };

int baton_reservations_max(int max_batch)
{
    return max_batch + COMING + max_batch / SLOTS_PER_COMING;
}
