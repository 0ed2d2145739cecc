#include "tests/support/skip_time.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"

static _Atomic int64_t skipped_ns;

void skip_time_ms(int64_t ms)
{
    atomic_fetch_add(&skipped_ns, ms * BATON_MS);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int err = (int)syscall(SYS_clock_gettime, clock, now);
    if (err || (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_COARSE))
        return err;
    int64_t ns = now->tv_nsec + atomic_load(&skipped_ns);
    now->tv_sec += ns / BATON_SECOND;
    now->tv_nsec = ns % BATON_SECOND;
    return 0;
}
