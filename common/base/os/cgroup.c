#include "common/base/os/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOUNTS "/sys/fs/cgroup"

enum { LINE_BYTES = 4096 };

bool baton_cgroup_number(const char *dir, const char *name, const char *key, uint64_t *value)
{
    char path[PATH_MAX], line[LINE_BYTES];
    bool found = false;
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = n > 0 && n < (int)sizeof path ? fopen(path, "re") : NULL;
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

/* True when a list such as "cpu,cpuacct" contains the controller. */
static bool names(const char *list, const char *controller)
{
    size_t n = strlen(controller);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, controller, n) && (!at[n] || at[n] == ','))
            return true;
    }
    return false;
}

/* Finds the mount. Controllers of version 1 that are mounted together have a link for each, but not
 * in every container. */
static int find_mount(const char *root, const char *list, const char *controller,
                      char mount[PATH_MAX])
{
    int n = snprintf(mount, PATH_MAX, "%s" MOUNTS "/%s", root, controller);
    if (n > 0 && n < PATH_MAX && access(mount, F_OK))
        n = snprintf(mount, PATH_MAX, "%s" MOUNTS "/%s", root, list);
    return n;
}

static void visit_levels(const char *mount, char *group, int version, baton_cgroup_fn fn, void *arg)
{
    char dir[PATH_MAX];
    /* Cuts one level off at a time, and restores the path for the next caller. */
    for (char *slash; (slash = strrchr(group, '/')); *slash = '\0') {
        int n = snprintf(dir, sizeof dir, "%s%s", mount, group);
        if (slash[1] && n > 0 && n < (int)sizeof dir)
            fn(arg, dir, version);
    }
    fn(arg, mount, version);
}

/* Visits a line of /proc/self/cgroup: "0::/a/b", or "5:cpu,cpuacct:/a/b". */
static void visit_line(const char *root, const char *controller, char *line, baton_cgroup_fn fn,
                       void *arg)
{
    char mount[PATH_MAX];
    char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;
    if (!group)
        return;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    list++;
    int n = *list ? find_mount(root, list, controller, mount)
                  : snprintf(mount, sizeof mount, "%s" MOUNTS, root);
    if (n > 0 && n < (int)sizeof mount && (!*list || names(list, controller)))
        visit_levels(mount, group, *list ? 1 : 2, fn, arg);
}

void baton_cgroup_visit(const char *root, const char *controller, baton_cgroup_fn fn, void *arg)
{
    char path[PATH_MAX], line[LINE_BYTES];
    int n = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = n > 0 && n < (int)sizeof path ? fopen(path, "re") : NULL;
    if (!file)
        return;
    while (fgets(line, sizeof line, file))
        visit_line(root, controller, line, fn, arg);
    (void)fclose(file);
}
