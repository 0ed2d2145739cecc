#include "engine/checkpoint/cache_dir.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/os/file.h"

/* A user's own cache is private, as the XDG specification asks. One beside a model is shared with
 * every user that may read the model. */
enum { PRIVATE = 0700, SHARED = 0755 };

static uid_t owner_of(const char *path)
{
    struct stat info;
    /* Without a stat the current user counts as owner, which trusts nobody else. */
    return stat(path, &info) ? geteuid() : info.st_uid;
}

/* Adds parent/name, or parent itself when name is NULL. Only the last directory is created. */
static void add(struct baton_cache_dirs *dirs, const char *parent, const char *name, mode_t mode)
{
    char *path = dirs->paths[dirs->n];
    struct stat info;
    int n = name ? snprintf(path, PATH_MAX, "%s/%s", parent, name)
                 : snprintf(path, PATH_MAX, "%s", parent);
    if (n < 0 || n >= PATH_MAX)
        return;
    (void)mkdir(path, mode);
    /* A cache inside parent is trusted to parent's owner, who may replace the model anyway. */
    if (!stat(path, &info) && S_ISDIR(info.st_mode))
        dirs->owners[dirs->n++] = owner_of(name ? parent : path);
}

/* Adds the user's cache directory. The XDG Base Directory Specification ignores relative paths. */
static void add_users(struct baton_cache_dirs *dirs)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char path[PATH_MAX];
    if ((!cache || cache[0] != '/') && home && home[0] == '/' &&
        !baton_file_path(path, home, ".cache", NULL))
        cache = path;
    if (!cache || cache[0] != '/')
        return;
    (void)mkdir(cache, PRIVATE);
    add(dirs, cache, "baton", PRIVATE);
}

/* A package's files are under /usr: nothing of ours may appear among them. */
static bool is_under_usr(const char *dir)
{
    char *real = realpath(dir, NULL);
    bool is = real && !strncmp(real, "/usr/", strlen("/usr/"));
    free(real);
    return is;
}

static void add_in(struct baton_cache_dirs *dirs, const char *dir)
{
    if (!is_under_usr(dir))
        add(dirs, dir, ".baton", SHARED);
}

/* Adds .baton in the model's directory, or in the directory of a model that is a file. */
static void add_beside(struct baton_cache_dirs *dirs, const char *model_path)
{
    struct stat info;
    char parent[PATH_MAX] = ".";
    const char *slash = strrchr(model_path, '/');
    if (stat(model_path, &info) || S_ISDIR(info.st_mode)) {
        add_in(dirs, model_path);
        return;
    }
    if (slash)
        (void)snprintf(parent, sizeof parent, "%.*s",
                       slash > model_path ? (int)(slash - model_path) : 1, model_path);
    add_in(dirs, parent);
}

void baton_cache_dirs_find(const char *option, const char *model_path,
                           struct baton_cache_dirs *dirs)
{
    dirs->n = 0;
    if (!option || !*option)
        return;
    if (strcmp(option, "auto") != 0) {
        add(dirs, option, NULL, SHARED);
        return;
    }
    add_beside(dirs, model_path);
    add_users(dirs);
}
