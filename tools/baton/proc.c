#include "tools/baton/proc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Fields 3, 22 and 24 of proc(5)'s stat. The name before may hold blanks and parentheses. */
static bool parse(const char *line, char *state, uint64_t *started, int64_t *pages)
{
    const char *after = strrchr(line, ')');
    return after && sscanf(after + 1,
                           " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                           "%*d %*d %" SCNu64 " %*u %" SCNd64,
                           state, started, pages) == 3;
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
    if (!read || !parse(line, &state, &started, &pages) || state == 'Z' || state == 'X')
        return false;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    proc->started = started;
    proc->age_s = now.tv_sec - (int64_t)(started / (uint64_t)sysconf(_SC_CLK_TCK));
    proc->memory_bytes = pages * sysconf(_SC_PAGESIZE);
    return true;
}
