#include "common/worker/cores.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static enum baton_err parse(const char *list, cpu_set_t *set, struct baton_why *why)
{
    CPU_ZERO(set);
    for (const char *p = list;;) {
        char *end;
        errno = 0;
        long first = strtol(p, &end, 10), last = first;
        if (end != p && *end == '-') {
            p = end + 1;
            last = strtol(p, &end, 10);
        }
        if (end == p || errno || first < 0 || last < first || last >= CPU_SETSIZE ||
            (*end && *end != ','))
            return baton_fail(why, BATON_INVALID,
                              "cores: \"%s\" must be a list of processors such as 0 or 0,2-3",
                              list);
        for (long cpu = first; cpu <= last; cpu++)
            CPU_SET((size_t)cpu, set);
        if (!*end)
            return BATON_OK;
        p = end + 1;
    }
}

enum baton_err baton_cores_choose(const char *list, int *n_cores, struct baton_why *why)
{
    cpu_set_t set;
    if (*list) {
        enum baton_err err = parse(list, &set, why);
        if (err)
            return err;
        if (sched_setaffinity(0, sizeof set, &set))
            return baton_fail(why, BATON_INVALID, "cores: \"%s\": %s", list, strerror(errno));
    }
    if (sched_getaffinity(0, sizeof set, &set))
        return baton_fail(why, BATON_IO, "cores: %s", strerror(errno));
    *n_cores = CPU_COUNT(&set);
    return BATON_OK;
}
