#include "common/base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t baton_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * BATON_SECOND + t.tv_nsec;
}

int64_t baton_thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * BATON_SECOND + t.tv_nsec;
}

/* Field 22 of /proc/self/stat is the start time in clock ticks since boot (proc(5)). The process
 * name before it may contain anything, so fields are counted from its closing parenthesis. */
double baton_process_age_s(void)
{
    char line[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file)
        return 0;
    size_t n = fread(line, 1, sizeof line - 1, file);
    (void)fclose(file);
    line[n] = 0;
    const char *p = strrchr(line, ')');
    unsigned long long start_ticks = 0;
    if (!p ||
        sscanf(p + 1, /* NOLINT(cert-err34-c): the kernel writes digits */
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &start_ticks) != 1)
        return 0;
    struct timespec boot;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    double now_s = (double)boot.tv_sec + (double)boot.tv_nsec * 1e-9;
    double age_s = now_s - (double)start_ticks / (double)sysconf(_SC_CLK_TCK);
    return age_s > 0 ? age_s : 0;
}

void baton_wall_time(char *text, size_t size)
{
    struct timespec t;
    struct tm utc;
    char seconds[24];
    clock_gettime(CLOCK_REALTIME, &t);
    gmtime_r(&t.tv_sec, &utc);
    (void)strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(text, size, "%s.%03dZ", seconds, (int)(t.tv_nsec / 1000000));
}
