#include "common/base/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 512 };

/* What the files of a version of control groups are called. */
struct group_files {
    const char *dir; /* where the groups are mounted */
    const char *limit, *used;
    const char *active, *inactive; /* keys of memory.stat: page cache */
};

static const struct group_files v2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                      "active_file ", "inactive_file "},
                                v1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                      "memory.usage_in_bytes", "total_active_file ",
                                      "total_inactive_file "};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The number after key in a file, or at its start when key is "". False: there is none, as for the
 * limit "max". */
static bool read_number(const char *path, const char *key, uint64_t *value)
{
    char line[LINE_BYTES];
    FILE *file = fopen(path, "re");
    bool found = false;
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file)) {
        char *end, *at = line + strlen(key);
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        *value = strtoull(at, &end, 10);
        found = end != at;
    }
    (void)fclose(file);
    return found;
}

static bool group_number(const struct group_files *files, const char *root, const char *group,
                         const char *name, const char *key, uint64_t *value)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s%s/%s", root, files->dir, group, name);
    return n > 0 && n < (int)sizeof path && read_number(path, key, value);
}

/* What one group's limit leaves. Page cache is given back before the limit kills. */
static uint64_t group_left(const struct group_files *files, const char *root, const char *group)
{
    uint64_t limit, used, active = 0, inactive = 0;
    if (!group_number(files, root, group, files->limit, "", &limit) ||
        !group_number(files, root, group, files->used, "", &used))
        return UINT64_MAX;
    (void)group_number(files, root, group, "memory.stat", files->active, &active);
    (void)group_number(files, root, group, "memory.stat", files->inactive, &inactive);
    used -= smaller(used, active + inactive);
    return limit > used ? limit - used : 0;
}

/* The group and those around it: each has a limit of its own. In a container the group's own path
 * may not be visible; the mounted root is then the container's. */
static uint64_t groups_left(const struct group_files *files, const char *root, char *group)
{
    uint64_t left = UINT64_MAX;
    for (char *slash; (slash = strrchr(group, '/')); *slash = '\0')
        left = smaller(left, group_left(files, root, group));
    return smaller(left, group_left(files, root, ""));
}

/* A line of /proc/self/cgroup: "0::/a/b", or "5:memory:/a/b". */
static uint64_t line_left(const char *root, char *line)
{
    char *controllers = strchr(line, ':'),
         *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return UINT64_MAX;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    controllers++;
    if (!*controllers)
        return groups_left(&v2, root, group);
    return strstr(controllers, "memory") ? groups_left(&v1, root, group) : UINT64_MAX;
}

static uint64_t limits_left(const char *root)
{
    char path[PATH_MAX], line[LINE_BYTES];
    uint64_t left = UINT64_MAX;
    (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    if (!file)
        return left;
    while (fgets(line, sizeof line, file))
        left = smaller(left, line_left(root, line));
    (void)fclose(file);
    return left;
}

uint64_t baton_memory_available_under(const char *root)
{
    char path[PATH_MAX];
    uint64_t kib;
    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    return smaller(limits_left(root),
                   read_number(path, "MemAvailable:", &kib) ? kib * 1024 : UINT64_MAX);
}

uint64_t baton_memory_available_bytes(void)
{
    return baton_memory_available_under("");
}
