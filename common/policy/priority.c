#include "common/policy/priority.h"

const char *baton_priority_name(enum baton_priority priority)
{
    return priority == BATON_PRIORITY_BATCH ? "batch" : "interactive";
}

enum baton_priority baton_priority_next(uint32_t n_turns, bool interactive_waits, bool batch_waits)
{
    bool is_batch_due = n_turns >= BATON_BATCH_TURNS - 1;
    return batch_waits && (is_batch_due || !interactive_waits) ? BATON_PRIORITY_BATCH
                                                               : BATON_PRIORITY_INTERACTIVE;
}

void baton_priority_take(uint32_t *n_turns, enum baton_priority used, bool batch_waits)
{
    /* Turns count only while batch requests wait: an idle class saves up no claim. */
    if (used == BATON_PRIORITY_BATCH)
        *n_turns = 0;
    else
        *n_turns += batch_waits;
}

int baton_batch_slots(int n_slots, uint64_t step)
{
    uint64_t n = (uint64_t)n_slots;
    /* The difference of two floors spreads the eighth evenly over steps when n_slots < 8. */
    return (int)((step + 1) * n / BATON_BATCH_TURNS - step * n / BATON_BATCH_TURNS);
}

int64_t baton_batch_spare(int64_t n)
{
    return n / BATON_BATCH_TURNS;
}
