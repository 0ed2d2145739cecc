#include "common/base/os/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/base/os/cgroup.h"

/* The names of the files of one version of control groups. */
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

/* Applies one group's limit. Page cache does not count as used: it is reclaimed before the limit
 * kills. */
static void apply_group(void *arg, const char *dir, int version)
{
    const struct group_files *files = version == 1 ? &v1 : &v2;
    struct baton_memory_left *left = arg;
    struct stat info;
    uint64_t limit, used, active = 0, inactive = 0;
    if (!baton_cgroup_number(dir, files->limit, "", &limit) ||
        !baton_cgroup_number(dir, files->used, "", &used) || stat(dir, &info))
        return;
    (void)baton_cgroup_number(dir, "memory.stat", files->active, &active);
    (void)baton_cgroup_number(dir, "memory.stat", files->inactive, &inactive);
    used -= smaller(used, active + inactive);
    uint64_t bytes = limit > used ? limit - used : 0;
    if (bytes >= left->bytes)
        return;
    left->bytes = bytes;
    left->group = info.st_ino;
    (void)snprintf(left->limit, sizeof left->limit, "%" PRIu64 " MiB of %.120s", limit >> 20, dir);
}

void baton_memory_left_under(const char *root, struct baton_memory_left *left)
{
    char proc[PATH_MAX];
    uint64_t kib;
    *left = (struct baton_memory_left){.bytes = UINT64_MAX, .limit = "the machine"};
    int n = snprintf(proc, sizeof proc, "%s/proc", root);
    if (n > 0 && n < (int)sizeof proc &&
        baton_cgroup_number(proc, "meminfo", "MemAvailable:", &kib))
        left->bytes = kib * 1024;
    baton_cgroup_visit(root, "memory", apply_group, left);
}

void baton_memory_left(struct baton_memory_left *left)
{
    baton_memory_left_under("", left);
}
