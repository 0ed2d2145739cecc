#include "common/base/cond.h"

#include <time.h>

#include "common/base/clock.h"

void baton_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

bool baton_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / BATON_SECOND, .tv_nsec = until_ns % BATON_SECOND};
    return !pthread_cond_timedwait(cond, mutex, &until);
}
