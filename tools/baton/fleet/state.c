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
#include "common/base/os/own_file.h"
#include "tools/baton/fleet/proc.h"

enum { WRITABLE_FOR_OTHERS = 022 };

/* The lock says that the directory is a fleet's. So the files there that have Baton's names are
 * Baton's, if they are plain files of this user, whatever they hold. */
static const struct baton_own_kind lock_kind = {.magic = "baton fleet\n",
                                                .forbidden = WRITABLE_FOR_OTHERS};
static const struct baton_own_kind any_kind = {.magic = ""};

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

/* A directory of another user, such as one that waits in /tmp, gets no secrets. */
static enum baton_err make_own_directory(const char *path, struct baton_why *why)
{
    int fd = -1;
    struct baton_why reason;
    enum baton_err err = make_directory(path, why);
    if (err)
        return err;
    err = baton_own_dir_open(path, WRITABLE_FOR_OTHERS, &fd, &reason);
    if (err)
        return baton_fail(why, err, "--state: %s", reason.text);
    (void)close(fd);
    return BATON_OK;
}

enum baton_err bt_state_make(const struct bt_state *state, struct baton_why *why)
{
    char log[PATH_MAX];
    enum baton_err err = make_own_directory(state->dir, why);
    if (!err)
        err = bt_state_path(state, "log", log, why);
    return err ? err : make_own_directory(log, why);
}

/* ---- names of Baton's files ---- */

static bool has_process_name(const char *name, const char *end)
{
    static const char *const roles[] = {"prefill-", "decode-"};
    size_t n = strlen(name), k = strlen(end);
    if (n <= k || strcmp(name + n - k, end) != 0)
        return false;
    n -= k;
    if (n == strlen("gateway") && !strncmp(name, "gateway", n))
        return true;
    for (int i = 0; i < 2; i++) {
        size_t begin = strlen(roles[i]);
        if (n > begin && !strncmp(name, roles[i], begin) &&
            begin + strspn(name + begin, "0123456789") == n)
            return true;
    }
    return false;
}

static bool is_run_file(const char *name)
{
    return has_process_name(name, ".pid") || !strcmp(name, "supervisor") ||
           !strcmp(name, "fleet.json") || !strcmp(name, "port");
}

static bool is_log_file(const char *name)
{
    return has_process_name(name, ".log") || !strcmp(name, "baton.log");
}

static bool is_file_of_ours(const char *name)
{
    return is_run_file(name) || !strcmp(name, "cluster-token");
}

/* Calls visit for each file of that kind of name in DIR/folder, until one fails. */
static enum baton_err for_each(const struct bt_state *state, const char *folder,
                               bool (*is_one)(const char *name),
                               enum baton_err (*visit)(int dir, const char *name, const char *path,
                                                       struct baton_why *why),
                               struct baton_why *why)
{
    char path[PATH_MAX], file[PATH_MAX];
    const struct dirent *entry;
    enum baton_err err = bt_state_path(state, folder, path, why);
    DIR *dir = err ? NULL : opendir(path);
    while (!err && dir && (entry = readdir(dir)))
        if (is_one(entry->d_name))
            err = format_path(file, why, "%s/%s", path, entry->d_name) ||
                          visit(dirfd(dir), entry->d_name, file, why)
                      ? BATON_INVALID
                      : BATON_OK;
    if (dir)
        (void)closedir(dir);
    return err;
}

static enum baton_err refuse(int dir, const char *name, const char *path, struct baton_why *why)
{
    (void)dir;
    (void)name;
    return baton_fail(why, BATON_INVALID,
                      "--state: %s: not a file of Baton's, since no fleet ran here; give another "
                      "directory",
                      path);
}

/* Makes the lock of a directory without one, if nothing there would be taken for a fleet's. */
static enum baton_err make_lock(const struct bt_state *state, const char *path,
                                struct baton_why *why)
{
    enum baton_err err = for_each(state, ".", is_file_of_ours, refuse, why);
    if (!err)
        err = for_each(state, "log", is_log_file, refuse, why);
    int fd = err ? -1 : open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (err || (fd < 0 && errno == EEXIST)) /* another process has made it meanwhile */
        return err;
    if (fd < 0)
        return baton_fail(why, BATON_IO, "--state: %s: %s", path, strerror(errno));
    (void)close(fd);
    return BATON_OK;
}

enum baton_err bt_state_lock(const struct bt_state *state, int *fd, struct baton_why *why)
{
    char path[PATH_MAX];
    struct baton_why reason = {""};
    enum baton_err err = bt_state_path(state, "lock", path, why);
    if (err)
        return err;
    int lock = -1;
    if (access(path, F_OK))
        err = make_lock(state, path, why);
    if (!err)
        err = baton_own_file_open(AT_FDCWD, path, path, O_RDWR, 0600, &lock_kind, &lock, &reason);
    if (err)
        return lock < 0 && *reason.text ? baton_fail(why, err, "--state: %s", reason.text) : err;
    /* The kernel releases the lock when the process ends, in whatever way. */
    if (flock(lock, LOCK_EX | LOCK_NB)) {
        (void)close(lock);
        return baton_fail(why, BATON_AGAIN, "already running with --state %s", state->dir);
    }
    ssize_t n = (ssize_t)strlen(lock_kind.magic);
    if (pwrite(lock, lock_kind.magic, (size_t)n, 0) != n) {
        (void)close(lock);
        return baton_fail(why, BATON_IO, "--state: %s: %s", path, strerror(errno));
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
    err = baton_own_file_remove(AT_FDCWD, draft, draft, &any_kind, why);
    if (err == BATON_OK || err == BATON_NOT_FOUND)
        err = baton_own_file_may_replace(path, &any_kind, why);
    if (err)
        return err;
    int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return baton_fail(why, BATON_IO, "%s: %s", draft, strerror(errno));
    err = write_whole(fd, draft, text, why);
    /* rename() replaces the file at once: a reader never sees half of it. */
    if (!err && rename(draft, path))
        err = baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
    return err;
}

static enum baton_err remove_one(int dir, const char *name, const char *path, struct baton_why *why)
{
    (void)why;
    /* What is not ours stays, and does not keep the others. */
    (void)!baton_own_file_remove(dir, name, path, &any_kind, NULL);
    return BATON_OK;
}

static bool is_fleets(const struct bt_state *state)
{
    char path[PATH_MAX];
    int fd = -1;
    if (bt_state_path(state, "lock", path, NULL) ||
        baton_own_file_open(AT_FDCWD, path, path, O_RDONLY, 0600, &lock_kind, &fd, NULL))
        return false;
    (void)close(fd);
    return true;
}

void bt_state_clear(const struct bt_state *state, bool with_logs)
{
    if (!is_fleets(state))
        return;
    (void)!for_each(state, ".", is_run_file, remove_one, NULL);
    if (with_logs)
        (void)!for_each(state, "log", is_log_file, remove_one, NULL);
}

enum baton_err bt_state_open_log(const struct bt_state *state, const char *name, int *fd,
                                 struct baton_why *why)
{
    char file[BT_NAME_BYTES + 16], path[PATH_MAX];
    (void)snprintf(file, sizeof file, "log/%s.log", name);
    enum baton_err err = bt_state_path(state, file, path, why);
    if (err)
        return err;
    return baton_own_file_open(AT_FDCWD, path, path, O_WRONLY | O_CREAT | O_APPEND, 0600, &any_kind,
                               fd, why);
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
