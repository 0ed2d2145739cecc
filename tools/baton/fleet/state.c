#include "tools/baton/fleet/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/os/file.h"
#include "tools/baton/fleet/proc.h"

static enum baton_err format_path(char path[PATH_MAX], struct baton_why *why, const char *fmt, ...)
    BATON_PRINTF(3, 4);

static enum baton_err format_path(char path[PATH_MAX], struct baton_why *why, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(path, PATH_MAX, fmt, args);
    va_end(args);
    if (n < 0 || n >= PATH_MAX)
        return baton_fail(why, BATON_INVALID, "%.60s...: a path longer than %d bytes", path,
                          PATH_MAX - 1);
    return BATON_OK;
}

/* Writes $XDG_STATE_HOME/baton, ~/.local/state/baton or, for a user without a home,
 * /tmp/baton-UID. */
static enum baton_err own_directory(char path[PATH_MAX], struct baton_why *why)
{
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (xdg && *xdg == '/')
        return format_path(path, why, "%s/baton", xdg);
    if (home && *home == '/' && !access(home, W_OK))
        return format_path(path, why, "%s/.local/state/baton", home);
    return format_path(path, why, "/tmp/baton-%ld", (long)getuid());
}

enum baton_err bt_state_find(const char *option, struct bt_state *state, struct baton_why *why)
{
    char cwd[PATH_MAX];
    if (!option || !*option)
        return own_directory(state->dir, why);
    if (*option == '/')
        return format_path(state->dir, why, "%s", option);
    if (!getcwd(cwd, sizeof cwd))
        return baton_fail(why, BATON_IO, "the current directory: %s", strerror(errno));
    return format_path(state->dir, why, "%s/%s", cwd, option);
}

enum baton_err bt_state_path(const struct bt_state *state, const char *name, char path[PATH_MAX],
                             struct baton_why *why)
{
    return baton_file_path(path, state->dir, name, why);
}

/* Creates a directory and its parents; only its owner may enter the last one. */
static enum baton_err make_directory(const char *path, struct baton_why *why)
{
    char part[PATH_MAX];
    (void)snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)mkdir(part, 0777);
        *slash = '/';
    }
    if (mkdir(part, 0700) && errno != EEXIST)
        return baton_fail(why, BATON_IO, "--state: %s: %s", path, strerror(errno));
    return BATON_OK;
}

enum baton_err bt_state_make(const struct bt_state *state, struct baton_why *why)
{
    char log[PATH_MAX];
    enum baton_err err = make_directory(state->dir, why);
    if (!err)
        err = bt_state_path(state, "log", log, why);
    return err ? err : make_directory(log, why);
}

enum baton_err bt_state_lock(const struct bt_state *state, int *fd, struct baton_why *why)
{
    char path[PATH_MAX];
    enum baton_err err = bt_state_path(state, "lock", path, why);
    if (err)
        return err;
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0)
        return baton_fail(why, BATON_IO, "--state: %s: %s", path, strerror(errno));
    /* The kernel releases the lock when the process ends, in whatever way. */
    if (flock(lock, LOCK_EX | LOCK_NB)) {
        (void)close(lock);
        return baton_fail(why, BATON_AGAIN, "already running with --state %s", state->dir);
    }
    *fd = lock;
    return BATON_OK;
}

/* ---- files ---- */

static enum baton_err write_whole(int fd, const char *path, const char *text, struct baton_why *why)
{
    size_t n = strlen(text);
    bool wrote = write(fd, text, n) == (ssize_t)n;
    int failure = errno;
    if (close(fd) || !wrote)
        return baton_fail(why, BATON_IO, "%s: %s", path,
                          wrote ? strerror(errno) : strerror(failure));
    return BATON_OK;
}

enum baton_err bt_state_write(const struct bt_state *state, const char *name, const char *text,
                              mode_t mode, struct baton_why *why)
{
    char path[PATH_MAX], draft[PATH_MAX];
    enum baton_err err = bt_state_path(state, name, path, why);
    if (!err)
        err = format_path(draft, why, "%s.new", path);
    if (err)
        return err;
    /* A crash may have left a draft, which O_EXCL would refuse. */
    (void)unlink(draft);
    int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return baton_fail(why, BATON_IO, "%s: %s", draft, strerror(errno));
    err = write_whole(fd, draft, text, why);
    /* rename() replaces the file at once: a reader never sees half of it. */
    if (!err && rename(draft, path))
        err = baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
    return err;
}

void bt_state_remove(const struct bt_state *state, const char *name)
{
    char path[PATH_MAX];
    if (!bt_state_path(state, name, path, NULL))
        (void)unlink(path);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n > k && !strcmp(text + n - k, end);
}

/* Removes the files of DIR/folder that end so. */
static void remove_all(const struct bt_state *state, const char *folder, const char *end)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    DIR *dir = bt_state_path(state, folder, path, NULL) ? NULL : opendir(path);
    while (dir && (entry = readdir(dir)))
        if (ends_with(entry->d_name, end))
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        (void)closedir(dir);
}

void bt_state_clear(const struct bt_state *state, bool with_logs)
{
    remove_all(state, ".", ".pid");
    bt_state_remove(state, "supervisor");
    bt_state_remove(state, "fleet.json");
    bt_state_remove(state, "port");
    if (with_logs)
        remove_all(state, "log", ".log");
}

/* ---- processes ---- */

enum baton_err bt_state_write_pid(const struct bt_state *state, const char *file, pid_t pid,
                                  int n_restarts, struct baton_why *why)
{
    char line[64];
    struct bt_proc proc = {.started = 0}; /* a start time of 0 if it has already ended */
    (void)bt_proc_get(pid, &proc);
    (void)snprintf(line, sizeof line, "%d %" PRIu64 " %d\n", (int)pid, proc.started, n_restarts);
    return bt_state_write(state, file, line, 0600, why);
}

pid_t bt_state_pid(const struct bt_state *state, const char *file, int *n_restarts)
{
    char path[PATH_MAX], line[64] = "", *end = line;
    struct bt_proc proc;
    FILE *in = bt_state_path(state, file, path, NULL) ? NULL : fopen(path, "re");
    if (!in)
        return 0;
    bool read = fgets(line, sizeof line, in) != NULL;
    (void)fclose(in);
    pid_t pid = (pid_t)strtol(line, &end, 10);
    uint64_t started = strtoull(end, &end, 10);
    if (n_restarts)
        *n_restarts = (int)strtol(end, NULL, 10);
    /* Another process may have the pid by now, but not with that start time. */
    return read && pid > 0 && bt_proc_get(pid, &proc) && proc.started == started ? pid : 0;
}

static void add_role(const struct bt_state *state, const char *role, struct bt_names *names)
{
    char path[PATH_MAX], file[BT_NAME_BYTES + 8];
    for (int i = 0; i < BT_MAX_WORKERS; i++) {
        (void)snprintf(file, sizeof file, "%s-%d.pid", role, i);
        if (!bt_state_path(state, file, path, NULL) && !access(path, F_OK))
            (void)snprintf(names->names[names->n++], BT_NAME_BYTES, "%s-%d", role, i);
    }
}

void bt_state_names(const struct bt_state *state, struct bt_names *names)
{
    char path[PATH_MAX];
    names->n = 0;
    if (!bt_state_path(state, "gateway.pid", path, NULL) && !access(path, F_OK))
        (void)snprintf(names->names[names->n++], BT_NAME_BYTES, "gateway");
    add_role(state, "prefill", names);
    add_role(state, "decode", names);
}

pid_t bt_state_process(const struct bt_state *state, const char *name, int *n_restarts)
{
    char file[BT_NAME_BYTES + 8];
    (void)snprintf(file, sizeof file, "%s.pid", name);
    return bt_state_pid(state, file, n_restarts);
}

bool bt_state_is_running(const struct bt_state *state)
{
    struct bt_names names;
    if (bt_state_pid(state, "supervisor", NULL))
        return true;
    bt_state_names(state, &names);
    for (int i = 0; i < names.n; i++)
        if (bt_state_process(state, names.names[i], NULL))
            return true;
    return false;
}
