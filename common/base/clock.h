/* Monotonic time in nanoseconds; durations are differences, never compared between processes.
 *
 * Ownership: nothing.
 * Threading: any thread.
 * Errors:    none.
 */
#ifndef BATON_COMMON_BASE_CLOCK_H
#define BATON_COMMON_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define BATON_MS     ((int64_t)1000000)
#define BATON_SECOND ((int64_t)1000000000)

int64_t baton_now_ns(void);

/* Returns the CPU time of the calling thread: it stands still while another thread has the core. */
int64_t baton_thread_cpu_ns(void);

/* Returns the seconds since the kernel started this process (cold start is measured from there). */
double baton_process_age_s(void);

/* Writes the wall-clock time as "2026-11-21T04:16:06.123Z", for logs; text holds at least 25
 * bytes. */
void baton_wall_time(char *text, size_t size);

static inline double baton_seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

#endif
