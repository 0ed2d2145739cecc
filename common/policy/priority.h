/* The two classes of requests, and the share of every resource that batch requests are guaranteed.
 *
 *     interactive   a user waits for the answer: goes first, wherever requests wait
 *     batch         no user waits: gets the rest, and at least an eighth of the turns
 *
 * The share is counted in turns and slots, not in time. So the order of a queue depends on its
 * content alone, and a batch request of which an eighth of a full fleet is due is never starved.
 *
 * Pure.
 */
#ifndef BATON_COMMON_POLICY_PRIORITY_H
#define BATON_COMMON_POLICY_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

enum baton_priority { BATON_PRIORITY_INTERACTIVE, BATON_PRIORITY_BATCH, BATON_N_PRIORITIES };

/* While both classes wait, one of BATON_BATCH_TURNS turns is batch's. If a batch request that is
 * due has no place, interactive ones that have one go before it, up to BATON_BATCH_PATIENCE turns:
 * then all wait for it. */
enum { BATON_BATCH_TURNS = 8, BATON_BATCH_PATIENCE = 64 };

/* Returns "interactive" or "batch". */
const char *baton_priority_name(enum baton_priority priority);

/* Returns the class that is next, of those that wait (at least one does). *n_turns, 0 at first,
 * counts the turns of interactive requests while batch requests wait. Call baton_priority_next
 * first, and baton_priority_take once the turn is used. */
enum baton_priority baton_priority_next(uint32_t n_turns, bool interactive_waits, bool batch_waits);
void baton_priority_take(uint32_t *n_turns, enum baton_priority used, bool batch_waits);

/* Returns the number of n slots that batch sequences are guaranteed in the step of that number: an
 * eighth, which for few slots is one in some steps and none in others. */
int baton_batch_slots(int n_slots, uint64_t step);

/* Returns that eighth of n places: guaranteed to batch where it must give way, and left free by it
 * where it cannot. */
int64_t baton_batch_spare(int64_t n);

#endif
