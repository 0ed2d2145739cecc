#include "worker/cores/cores.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "worker/cores/numa.h"

/* Threads that the process starts later inherit the set. */
static enum baton_err restrict_to(const char *list, struct baton_why *why)
{
    cpu_set_t set;
    if (!baton_cpu_list_parse(list, &set))
        return baton_fail(
            why, BATON_INVALID,
            "cores: \"%s\" must be auto, all or a list of processors such as 0 or 0,2-3", list);
    if (sched_setaffinity(0, sizeof set, &set))
        return baton_fail(why, BATON_INVALID, "cores: \"%s\": %s", list, strerror(errno));
    return BATON_OK;
}

/* The directory that every worker of the user searches. /dev/shm comes first, because services and
 * shells share it; XDG_RUNTIME_DIR is not set in most services. */
static const char *find_lease_dir(const char *option)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (strcmp(option, "auto") != 0)
        return option;
    if (!access("/dev/shm", W_OK | X_OK))
        return "/dev/shm";
    return runtime && runtime[0] == '/' ? runtime : "";
}

bool baton_cores_shared_path(const char *lease_dir, const char *name, char path[PATH_MAX])
{
    const char *dir = find_lease_dir(lease_dir);
    int n = snprintf(path, PATH_MAX, "%s/%s-%u", dir, name, (unsigned)geteuid());
    return *dir && n > 0 && n < PATH_MAX;
}

/* A failure is only a warning: sharing saves time, and a worker is correct without it. */
static void open_lease(struct baton_cores *cores, const struct baton_cores_options *options,
                       const cpu_set_t *allowed, const struct baton_cpu_quota *quota)
{
    char path[PATH_MAX];
    struct baton_why why = {"no directory for the table of cores"};
    if (!*options->lease_dir)
        return;
    if (!baton_cores_shared_path(options->lease_dir, "baton-cores", path) ||
        baton_core_lease_open(path, options->role, allowed, quota, &cores->lease, &why))
        baton_log(BATON_LOG_WARN, "no_core_lease", BATON_S("why", why.text),
                  BATON_S("instead", "all cores"));
    else
        baton_log(BATON_LOG_DEBUG, "core_lease", BATON_S("table", path));
}

/* Pins each thread to a processor of its own. With fewer processors than threads the kernel
 * schedules them. */
static void pin(struct baton_cores *cores, const cpu_set_t *allowed)
{
    int n = 0;
    if (cores->n_threads > CPU_COUNT(allowed))
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE && n < cores->n_threads; cpu++)
        if (CPU_ISSET((size_t)cpu, allowed))
            cores->processors[n++] = cpu;
    cores->pinned = true;
}

static void log_cores(const struct baton_cores *cores, const struct baton_cpu_quota *quota,
                      int n_allowed)
{
    char text[24] = "none";
    if (quota->cores > 0)
        (void)snprintf(text, sizeof text, "%.2f", quota->cores);
    baton_log(BATON_LOG_INFO, "cores_allowed", BATON_I("cores", cores->n),
              BATON_I("threads", cores->n_threads), BATON_S("cpu_quota", text),
              BATON_I("affinity", n_allowed), BATON_I("machine", sysconf(_SC_NPROCESSORS_ONLN)));
}

enum baton_err baton_cores_init(struct baton_cores *cores,
                                const struct baton_cores_options *options, struct baton_why *why)
{
    cpu_set_t allowed;
    struct baton_cpu_quota quota;
    bool is_auto = !strcmp(options->cores, "auto"),
         is_list = !is_auto && strcmp(options->cores, "all") != 0;
    enum baton_err err = is_list ? restrict_to(options->cores, why) : BATON_OK;
    if (!err && sched_getaffinity(0, sizeof allowed, &allowed))
        err = baton_fail(why, BATON_IO, "cores: %s", strerror(errno));
    if (err)
        return err;
    baton_cpu_quota_get_under(options->root ? options->root : "", &quota);
    *cores = (struct baton_cores){.n = baton_cpu_quota_cores(&quota, CPU_COUNT(&allowed))};
    int n_most = cores->n < BATON_CORES_MAX ? cores->n : BATON_CORES_MAX;
    cores->n_threads = options->n_threads ? options->n_threads : n_most;
    if (is_list)
        pin(cores, &allowed);
    else if (is_auto)
        open_lease(cores, options, &allowed, &quota);
    log_cores(cores, &quota, CPU_COUNT(&allowed));
    return BATON_OK;
}

void baton_cores_fini(struct baton_cores *cores)
{
    baton_core_lease_close(cores->lease);
    cores->lease = NULL;
}

/* A list never changes, so the share is set once. */
static bool share_list(void *arg, struct baton_share *share)
{
    struct baton_cores *cores = arg;
    if (cores->share_is_set)
        return false;
    cores->share_is_set = true;
    *share = (struct baton_share){.n = cores->n_threads, .processors = cores->processors};
    return true;
}

void baton_cores_attach(struct baton_cores *cores, struct baton_engine *engine)
{
    if (cores->lease)
        baton_engine_set_share(engine, baton_core_lease_share, cores->lease);
    else if (cores->pinned)
        baton_engine_set_share(engine, share_list, cores);
}

void baton_cores_busy(struct baton_cores *cores, bool busy)
{
    if (cores->lease)
        baton_core_lease_busy(cores->lease, busy);
}

int64_t baton_cores_tick(struct baton_cores *cores, int64_t now_ns)
{
    return cores->lease ? baton_core_lease_tick(cores->lease, now_ns) : INT64_MAX;
}
