#include "worker/cores/cpu_list.h"

#include <errno.h>
#include <stdlib.h>

bool baton_cpu_list_parse(const char *list, cpu_set_t *set)
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
            (*end && *end != ',' && *end != '\n'))
            return false;
        for (long cpu = first; cpu <= last; cpu++)
            CPU_SET((size_t)cpu, set);
        if (*end != ',')
            return true;
        p = end + 1;
    }
}
