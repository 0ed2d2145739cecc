/* A wake-up (an eventfd) that other threads ring and one thread waits for. Rings between two waits
 * coalesce into one, so the waiter drains every queue after each wait.
 *
 * Ownership: created and destroyed by the waiting thread, after the ringers have stopped.
 * Threading: ring from any thread, wait from one.
 * Errors:    creation fails with IO.
 */
#ifndef BATON_COMMON_BASE_DOORBELL_H
#define BATON_COMMON_BASE_DOORBELL_H

#include <stdint.h>

#include "common/base/error.h"

struct baton_doorbell {
    int fd;
};

enum baton_err baton_doorbell_init(struct baton_doorbell *bell) BATON_MUST_CHECK;
void baton_doorbell_fini(struct baton_doorbell *bell);

/* Rings. The bell is a void *, as every wake-up callback in common/wire expects. */
void baton_doorbell_ring(void *bell);

/* Returns when rung or after timeout_ns (negative: no limit). */
void baton_doorbell_wait(struct baton_doorbell *bell, int64_t timeout_ns);

#endif
