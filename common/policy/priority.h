/* The two classes of requests, and the share of every resource that batch requests are sure of.
 *
 *     interactive   somebody waits for the answer: goes first, wherever requests wait
 *     batch         nobody does: takes what is left, and at least an eighth of the turns
 *
 * The share is counted in turns and slots, not in time. So the order of a queue depends on what was
 * in it alone, and a batch request of which an eighth of a full fleet is due is never starved.
 *
 * Pure.
 */
#ifndef BATON_COMMON_POLICY_PRIORITY_H
#define BATON_COMMON_POLICY_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

enum baton_priority { BATON_PRIORITY_INTERACTIVE, BATON_PRIORITY_BATCH, BATON_N_PRIORITIES };

/* Of so many turns one is batch's, while both classes wait. Where a batch request that is due finds
 * no place, interactive ones that do go on before it, up to so many turns: then all wait for it. */
enum { BATON_BATCH_TURNS = 8, BATON_BATCH_PATIENCE = 64 };

/* "interactive", "batch". */
const char *baton_priority_name(enum baton_priority priority);

/* Who is next, of those classes that wait (at least one does). *n_turns, 0 at first, counts the
 * turns of interactive requests while batch requests wait. Look first, and take the turn
 * (baton_priority_take) once it is used. */
enum baton_priority baton_priority_next(uint32_t n_turns, bool interactive_waits, bool batch_waits);
void baton_priority_take(uint32_t *n_turns, enum baton_priority taken, bool batch_waits);

/* How many of n slots batch sequences have for sure in the step of that number: an eighth, of few
 * slots in some steps one and in others none. */
int baton_batch_slots(int n_slots, uint64_t step);

/* That eighth of n places: what batch is sure of where it must give way, and what it leaves free
 * where it cannot. */
int64_t baton_batch_spare(int64_t n);

#endif
