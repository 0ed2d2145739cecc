#include "engine/sampling/history.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/hash.h"

enum { MIN_SLOTS = 16 };

enum baton_err baton_history_init(struct baton_history *history, size_t n_max)
{
    size_t n_slots = MIN_SLOTS;
    if (n_max > UINT32_MAX / 4) /* slots hold 32-bit indices, and twice n_max rounds up */
        return BATON_NO_MEMORY;
    while (n_slots < 2 * n_max)
        n_slots *= 2;
    struct baton_history made = {.seen = calloc(n_slots / 2, sizeof *made.seen),
                                 .slots = calloc(n_slots, sizeof *made.slots),
                                 .n_slots = n_slots};
    if (!made.seen || !made.slots) {
        baton_history_fini(&made);
        return BATON_NO_MEMORY;
    }
    *history = made;
    return BATON_OK;
}

void baton_history_fini(struct baton_history *history)
{
    free(history->seen);
    free(history->slots);
    *history = (struct baton_history){0};
}

/* The slot of the id, or the empty slot where it belongs: linear probing. */
static size_t slot_of(const struct baton_history *history, uint32_t id)
{
    size_t slot = baton_hash_pair(id, 0) & (history->n_slots - 1);
    while (history->slots[slot] && history->seen[history->slots[slot] - 1].id != id)
        slot = (slot + 1) & (history->n_slots - 1);
    return slot;
}

static struct baton_seen *find_or_add(struct baton_history *history, uint32_t id)
{
    size_t slot = slot_of(history, id);
    if (history->slots[slot])
        return &history->seen[history->slots[slot] - 1];
    assert(history->n_seen < history->n_slots / 2);
    history->seen[history->n_seen] = (struct baton_seen){.id = id};
    history->slots[slot] = (uint32_t)++history->n_seen;
    return &history->seen[history->n_seen - 1];
}

void baton_history_add_prompt(struct baton_history *history, const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)find_or_add(history, ids[i]);
    history->n_prompt = history->n_seen;
}

void baton_history_add_output(struct baton_history *history, uint32_t id)
{
    find_or_add(history, id)->n_output++;
}

void baton_history_drop_output(struct baton_history *history, uint32_t id)
{
    size_t slot = slot_of(history, id);
    assert(history->slots[slot]);
    if (--history->seen[history->slots[slot] - 1].n_output ||
        history->slots[slot] <= history->n_prompt)
        return;
    /* The entry was added last, so no later one probed past its slot: emptying it
     * breaks no chain. */
    assert(history->slots[slot] == history->n_seen);
    history->slots[slot] = 0;
    history->n_seen--;
}
