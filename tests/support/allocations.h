/* Counts every allocation of the program it is linked into.
 *
 * Ownership: nothing.
 * Threading: the count is of all threads.
 * Errors:    start: non-zero when the allocator cannot be watched.
 */
#ifndef BATON_TESTS_SUPPORT_ALLOCATIONS_H
#define BATON_TESTS_SUPPORT_ALLOCATIONS_H

/* Once, before the first count; fits a cmocka group's set-up. */
int allocations_start(void **state);

long allocations_count(void);

#endif
