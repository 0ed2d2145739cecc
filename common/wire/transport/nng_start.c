#include "common/wire/transport/nng_start.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <nng/nng.h>

#include "common/base/clock.h"
#include "common/base/cond.h"
#include "common/base/log.h"
#include "common/wire/transport/nng_error.h"

/* NNG 1.5.2: timer, reaper, poller and four resolvers; besides, of each processor: */
enum { NNG_THREADS = 7, NNG_TASKS_OF_CPU = 2, NNG_MAX_TASKS = 16, NNG_EXPIRES_OF_CPU = 1 };

/* The watchdog counts pauses and no clock: a process that is stopped meanwhile loses one. */
enum { PAUSE_MS = 50, MAX_PAUSES = 100, MAX_BURIAL_PAUSES = 20 };

struct probe {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool is_over, is_started;
    struct baton_why reason; /* what the watchdog says */
};

static int n_nng_threads(void)
{
    long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int n = n_cpus < 1 ? 1 : (int)n_cpus, n_tasks = NNG_TASKS_OF_CPU * n;
    return NNG_THREADS + NNG_EXPIRES_OF_CPU * n +
           (n_tasks < NNG_MAX_TASKS ? n_tasks : NNG_MAX_TASKS);
}

static const char *limit_text(int resource, rlim_t unit, char *text, size_t size)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return "none";
    (void)snprintf(text, size, "%llu", (unsigned long long)(limit.rlim_cur / unit));
    return text;
}

static enum baton_err too_few(int n_made, int n_wanted, const char *reason, struct baton_why *why)
{
    char threads[24], space[24];
    return baton_fail(why, BATON_IO,
                      "%d more threads are needed to start, and there is room for %d (%s). Limits: "
                      "threads of this user %s (ulimit -u), address space %s KiB (ulimit -v), and "
                      "those of the container or service (pids)",
                      n_wanted, n_made, reason,
                      limit_text(RLIMIT_NPROC, 1, threads, sizeof threads),
                      limit_text(RLIMIT_AS, 1 << 10, space, sizeof space));
}

/* ---- the probe ---- */

static void *stay(void *arg)
{
    struct probe *probe = arg;
    pthread_mutex_lock(&probe->lock);
    while (!probe->is_over)
        pthread_cond_wait(&probe->changed, &probe->lock);
    pthread_mutex_unlock(&probe->lock);
    return NULL;
}

static void set(struct probe *probe, bool *flag)
{
    pthread_mutex_lock(&probe->lock);
    *flag = true;
    pthread_cond_broadcast(&probe->changed);
    pthread_mutex_unlock(&probe->lock);
}

static long count_threads(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) ? 0 : (long)tasks.st_nlink;
}

/* A thread that was joined counts against the limits until the kernel has buried it. */
static void await_burial(long n_before)
{
    const struct timespec pause = {.tv_nsec = BATON_MS};
    for (int i = 0; i < MAX_BURIAL_PAUSES && count_threads() > n_before; i++)
        (void)nanosleep(&pause, NULL);
}

/* Makes as many threads as will be needed, all at once, and ends them again. */
static enum baton_err try_threads(struct probe *probe, int n_wanted, struct baton_why *why)
{
    pthread_t *threads = calloc((size_t)n_wanted, sizeof *threads);
    long n_before = count_threads();
    int n = 0, error = threads ? 0 : ENOMEM;
    while (n < n_wanted && !error) {
        error = pthread_create(&threads[n], NULL, stay, probe);
        n += !error;
    }
    set(probe, &probe->is_over);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    await_burial(n_before);
    (void)too_few(n, n_wanted, "it was there a moment ago", &probe->reason);
    return error ? too_few(n, n_wanted, strerror(error), why) : BATON_OK;
}

/* ---- the watchdog ---- */

/* Waits for a pause at most; whether NNG has started. */
static bool await_start(struct probe *probe)
{
    int64_t until_ns = baton_now_ns() + PAUSE_MS * BATON_MS;
    pthread_mutex_lock(&probe->lock);
    if (!probe->is_started)
        (void)baton_cond_wait_until(&probe->changed, &probe->lock, until_ns);
    bool started = probe->is_started;
    pthread_mutex_unlock(&probe->lock);
    return started;
}

/* The main thread may wait for ever inside NNG, and hold nothing that ending here would break. */
static void *watch(void *arg)
{
    struct probe *probe = arg;
    (void)pthread_setname_np(pthread_self(), "baton-watchdog");
    for (int i = 0; i < MAX_PAUSES; i++)
        if (await_start(probe))
            return NULL;
    baton_log(BATON_LOG_ERROR, "start_failed", BATON_S("reason", probe->reason.text));
    _exit(EXIT_FAILURE);
}

static enum baton_err start_watched(struct probe *probe, struct baton_why *why)
{
    pthread_t watchdog;
    nng_aio *first = NULL;
    int error = pthread_create(&watchdog, NULL, watch, probe);
    if (error)
        return too_few(0, 1, strerror(error), why);
    int rv = nng_aio_alloc(&first, NULL, NULL);
    set(probe, &probe->is_started);
    pthread_join(watchdog, NULL);
    nng_aio_free(first);
    return rv ? baton_nng_fail(why, rv, "start", "nng") : BATON_OK;
}

enum baton_err baton_nng_start(int n_own, struct baton_why *why)
{
    struct probe probe = {.lock = PTHREAD_MUTEX_INITIALIZER};
    baton_cond_init(&probe.changed);
    enum baton_err err = try_threads(&probe, n_own + n_nng_threads() + 1, why);
    if (!err)
        err = start_watched(&probe, why);
    pthread_cond_destroy(&probe.changed);
    pthread_mutex_destroy(&probe.lock);
    return err;
}
