#include "common/base/memory.h"

#include <limits.h>
#include <stdio.h>

#include "common/base/cgroup.h"

/* What the files of a version of control groups are called. */
struct group_files {
    const char *limit, *used;
    const char *active, *inactive; /* keys of memory.stat: page cache */
};

static const struct group_files v1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                      "total_active_file ", "total_inactive_file "},
                                v2 = {"memory.max", "memory.current", "active_file ",
                                      "inactive_file "};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What one group's limit leaves. Page cache is given back before the limit kills. */
static void take_group(void *arg, const char *dir, int version)
{
    const struct group_files *files = version == 1 ? &v1 : &v2;
    uint64_t *left = arg, limit, used, active = 0, inactive = 0;
    if (!baton_cgroup_number(dir, files->limit, "", &limit) ||
        !baton_cgroup_number(dir, files->used, "", &used))
        return;
    (void)baton_cgroup_number(dir, "memory.stat", files->active, &active);
    (void)baton_cgroup_number(dir, "memory.stat", files->inactive, &inactive);
    used -= smaller(used, active + inactive);
    *left = smaller(*left, limit > used ? limit - used : 0);
}

uint64_t baton_memory_available_under(const char *root)
{
    char proc[PATH_MAX];
    uint64_t kib, left = UINT64_MAX;
    baton_cgroup_visit(root, "memory", take_group, &left);
    int n = snprintf(proc, sizeof proc, "%s/proc", root);
    if (n > 0 && n < (int)sizeof proc &&
        baton_cgroup_number(proc, "meminfo", "MemAvailable:", &kib))
        left = smaller(left, kib * 1024);
    return left;
}

uint64_t baton_memory_available_bytes(void)
{
    return baton_memory_available_under("");
}
