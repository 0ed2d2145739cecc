/* Condition variables whose deadlines are times of baton_now_ns (clock.h): a deadline of the wall
 * clock would move when that clock is set.
 *
 * Ownership: the caller's; destroyed by pthread_cond_destroy.
 * Threading: as pthread_cond_timedwait.
 * Errors:    none.
 */
#ifndef BATON_COMMON_BASE_COND_H
#define BATON_COMMON_BASE_COND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

void baton_cond_init(pthread_cond_t *cond);

/* Waits with the mutex held. False when the time is over. */
bool baton_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_ns);

#endif
