#include "tools/load/http/client_host.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Files of the loop, of outputs, and of connections that are still closing. */
enum { SPARE_FILES = 64, CPU_NAME_BYTES = 128 };

enum baton_err ld_host_raise_files(int64_t n_connections, struct baton_why *why)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return baton_fail(why, BATON_IO, "open files: %s", strerror(errno));
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit))
        return baton_fail(why, BATON_IO, "open files: %s", strerror(errno));
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < (rlim_t)n_connections + SPARE_FILES)
        return baton_fail(why, BATON_LIMIT,
                          "%lld connections need %lld open files, and this system allows %llu "
                          "(ulimit -Hn); lower --concurrency, --streams or --max-in-flight",
                          (long long)n_connections, (long long)n_connections + SPARE_FILES,
                          (unsigned long long)limit.rlim_max);
    return BATON_OK;
}

bool ld_host_take_priority(void)
{
    /* The lowest real-time priority is above every ordinary thread. */
    const struct sched_param param = {.sched_priority = 1};
    return !sched_setscheduler(0, SCHED_RR, &param);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

double ld_host_cpu_s(void)
{
    struct rusage usage = {.ru_maxrss = 0};
    (void)getrusage(RUSAGE_SELF, &usage);
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

int64_t ld_host_peak_bytes(void)
{
    struct rusage usage = {.ru_maxrss = 0};
    (void)getrusage(RUSAGE_SELF, &usage);
    /* getrusage counts KiB. */
    return usage.ru_maxrss * 1024;
}

/* Reads "model name : ..." of the first processor; "unknown" on machines other than x86. */
static void read_cpu_name(char name[CPU_NAME_BYTES])
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    (void)snprintf(name, CPU_NAME_BYTES, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        (void)snprintf(name, CPU_NAME_BYTES, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file)
        (void)fclose(file);
}

void ld_host_put(struct baton_json_out *out)
{
    char cpu[CPU_NAME_BYTES];
    struct utsname system = {.release = ""};
    read_cpu_name(cpu);
    (void)uname(&system);
    baton_json_put_string(out, "cpu", cpu);
    baton_json_put_int(out, "cores", sysconf(_SC_NPROCESSORS_ONLN));
    baton_json_put_int(out, "memory_bytes", sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
    baton_json_put_string(out, "kernel", system.release);
}
