/* A bounded first-in first-out queue of pointers between threads: the only crossing between a
 * worker's I/O side and its engine thread.
 *
 * Ownership: the queue owns nothing; a pointer taken belongs to its new owner.
 * Threading: any number of producers and consumers.
 * Errors:    put: AGAIN when full, CLOSED after close. take: AGAIN when nothing came in time,
 *            CLOSED when closed and empty.
 */
#ifndef BATON_COMMON_BASE_QUEUE_H
#define BATON_COMMON_BASE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct baton_queue;

struct baton_queue *baton_queue_create(size_t capacity);
void baton_queue_destroy(struct baton_queue *queue);
enum baton_err baton_queue_put(struct baton_queue *queue, void *item) BATON_MUST_CHECK;

/* Waits up to timeout_ns (0: not at all; negative: no limit). */
enum baton_err baton_queue_take(struct baton_queue *queue, int64_t timeout_ns,
                                void **item) BATON_MUST_CHECK;

/* Wakes every waiter; queued items can still be taken. */
void baton_queue_close(struct baton_queue *queue);

#endif
