#include "tools/baton/fleet/install.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum baton_err bt_own_directory(char path[PATH_MAX], struct baton_why *why)
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (n < 0)
        return baton_fail(why, BATON_IO, "/proc/self/exe: %s", strerror(errno));
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    return BATON_OK;
}

/* Writes DIR/name to path. False when it is too long or access() refuses the mode. */
static bool is_there(const char *dir, const char *name, int mode, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/%s", dir, name);
    return n > 0 && n < PATH_MAX && !access(path, mode);
}

static bool is_in_path(const char *name, char path[PATH_MAX])
{
    const char *dirs = getenv("PATH");
    char dir[PATH_MAX];
    for (const char *p = dirs; p && *p;) {
        size_t n = strcspn(p, ":");
        if (n && n < sizeof dir) {
            memcpy(dir, p, n);
            dir[n] = '\0';
            if (is_there(dir, name, X_OK, path))
                return true;
        }
        p += n + (p[n] == ':');
    }
    return false;
}

enum baton_err bt_find_program(const char *bin, const char *name, char path[PATH_MAX],
                               struct baton_why *why)
{
    char own[PATH_MAX], found[PATH_MAX];
    enum baton_err err = bin ? BATON_OK : bt_own_directory(own, why);
    if (err)
        return err;
    /* An explicit --bin must not fall back to PATH silently. */
    if (!is_there(bin ? bin : own, name, X_OK, found) && (bin || !is_in_path(name, found)))
        return bin ? baton_fail(why, BATON_NOT_FOUND, "--bin %s: no %s there", bin, name)
                   : baton_fail(why, BATON_NOT_FOUND,
                                "no %s in %s or PATH; in a source tree build it: cmake --build "
                                "--preset release --target %s",
                                name, own, name);
    memcpy(path, found, sizeof found);
    return BATON_OK;
}

enum baton_err bt_find_data(const char *installed, const char *source, char path[PATH_MAX],
                            struct baton_why *why)
{
    char own[PATH_MAX], share[PATH_MAX];
    enum baton_err err = bt_own_directory(own, why);
    if (err)
        return err;
    if ((size_t)snprintf(share, sizeof share, "%s/../share/baton", own) < sizeof share &&
        is_there(share, installed, R_OK, path))
        return BATON_OK;
    if (is_there("/usr/share/baton", installed, R_OK, path) ||
        is_there(BATON_SOURCE_DIR, source, R_OK, path))
        return BATON_OK;
    return baton_fail(why, BATON_NOT_FOUND,
                      "%s is neither in %s nor in /usr/share/baton nor, as %s, in %s", installed,
                      share, source, BATON_SOURCE_DIR);
}
