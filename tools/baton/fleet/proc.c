#include "tools/baton/fleet/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STATE_FIELD = 3, STARTED_FIELD = 22, PAGES_FIELD = 24 };

/* Returns a field of proc(5)'s stat after the second; "" when the line is shorter. The second, the
 * name, may hold blanks and parentheses, so fields are counted from the last parenthesis. */
static const char *field(const char *line, int number)
{
    const char *p = strrchr(line, ')');
    for (int i = 2; p && i < number; i++) {
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    return p ? p : "";
}

static bool parse(const char *line, char *state, uint64_t *started, int64_t *pages)
{
    *state = *field(line, STATE_FIELD);
    *started = strtoull(field(line, STARTED_FIELD), NULL, 10);
    *pages = strtoll(field(line, PAGES_FIELD), NULL, 10);
    return *started > 0;
}

bool bt_proc_get(pid_t pid, struct bt_proc *proc)
{
    char path[40], line[1024], state;
    struct timespec now;
    int64_t pages;
    uint64_t started;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool read = fgets(line, sizeof line, file) != NULL;
    (void)fclose(file);
    /* Z: ended but not reaped, X: dead. */
    if (!read || !parse(line, &state, &started, &pages) || state == 'Z' || state == 'X')
        return false;
    /* The start time counts from the boot, with the time that the machine was suspended. */
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    proc->started = started;
    proc->age_s = now.tv_sec - (int64_t)(started / (uint64_t)sysconf(_SC_CLK_TCK));
    proc->memory_bytes = pages * sysconf(_SC_PAGESIZE);
    return true;
}
