#include "common/base/os/cpu_quota.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/base/os/cgroup.h"

static bool read_v1(const char *dir, uint64_t *quota_us, uint64_t *period_us)
{
    return baton_cgroup_number(dir, "cpu.cfs_quota_us", "", quota_us) && (int64_t)*quota_us > 0 &&
           baton_cgroup_number(dir, "cpu.cfs_period_us", "", period_us);
}

/* Reads "QUOTA PERIOD", or "max PERIOD". */
static bool read_v2(const char *dir, uint64_t *quota_us, uint64_t *period_us)
{
    char quota[24];
    if (!baton_cgroup_number(dir, "cpu.max", "", quota_us))
        return false;
    (void)snprintf(quota, sizeof quota, "%" PRIu64 " ", *quota_us);
    return baton_cgroup_number(dir, "cpu.max", quota, period_us);
}

static void apply_group(void *arg, const char *dir, int version)
{
    struct baton_cpu_quota *quota = arg;
    struct stat info;
    uint64_t quota_us, period_us;
    if (!(version == 1 ? read_v1 : read_v2)(dir, &quota_us, &period_us) || !quota_us ||
        !period_us || stat(dir, &info))
        return;
    double cores = (double)quota_us / (double)period_us;
    if (quota->cores <= 0 || cores < quota->cores)
        *quota = (struct baton_cpu_quota){cores, info.st_ino};
}

void baton_cpu_quota_get_under(const char *root, struct baton_cpu_quota *quota)
{
    *quota = (struct baton_cpu_quota){0};
    baton_cgroup_visit(root, "cpu", apply_group, quota);
}

void baton_cpu_quota_get(struct baton_cpu_quota *quota)
{
    baton_cpu_quota_get_under("", quota);
}

int baton_cpu_quota_cores(const struct baton_cpu_quota *quota, int n)
{
    if (quota->cores <= 0 || quota->cores >= n)
        return n;
    return quota->cores < 1 ? 1 : (int)quota->cores;
}
