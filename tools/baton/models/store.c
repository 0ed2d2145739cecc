#include "tools/baton/models/store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/closest.h"
#include "common/base/os/file.h"
#include "engine/checkpoint/gguf/model.h"
#include "tools/baton/commands.h"

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);
    return n > n_end && !strcasecmp(name + n - n_end, end);
}

/* Of a split model only the first file counts. */
static bool is_gguf_model(const char *name)
{
    char first[PATH_MAX];
    return *name != '.' && ends_in(name, ".gguf") && !strcasestr(name, "mmproj") &&
           (baton_gguf_n_shards(name) == 1 || baton_gguf_shard_path(name, 1, first));
}

bool bt_only_gguf(const char *dir, char path[PATH_MAX])
{
    const struct dirent *entry;
    int n = 0;
    DIR *folder = opendir(dir);
    while (folder && (entry = readdir(folder))) {
        if (ends_in(entry->d_name, ".safetensors"))
            n = INT_MAX / 2;
        else if (is_gguf_model(entry->d_name) && !baton_file_path(path, dir, entry->d_name, NULL))
            n++;
    }
    if (folder)
        (void)closedir(folder);
    return n == 1;
}

/* ---- one model ---- */

static void add_file(struct bt_stored *model, const char *path)
{
    struct stat info;
    if (stat(path, &info) || !S_ISREG(info.st_mode))
        return;
    model->n_bytes += info.st_size;
    if (info.st_mtime > model->modified)
        model->modified = info.st_mtime;
}

static void measure_directory(struct bt_stored *model)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    DIR *dir = opendir(model->path);
    while (dir && (entry = readdir(dir)))
        if (*entry->d_name != '.' && !baton_file_path(path, model->path, entry->d_name, NULL))
            add_file(model, path);
    if (dir)
        (void)closedir(dir);
}

static void measure_file(struct bt_stored *model)
{
    char path[PATH_MAX];
    int n = baton_gguf_n_shards(model->path);
    if (n == 1)
        add_file(model, model->path);
    for (int i = 1; n > 1 && i <= n; i++)
        if (baton_gguf_shard_path(model->path, i, path))
            add_file(model, path);
}

/* Takes what names the format off a file's name. */
static void cut_name(struct bt_stored *model)
{
    size_t n_end = strlen(baton_gguf_n_shards(model->name) > 1 ? "-00001-of-00002.gguf" : ".gguf");
    model->name[strlen(model->name) - n_end] = '\0';
}

/* False when the entry is no model. */
static bool describe(const char *dir, const char *entry, struct bt_stored *model)
{
    char path[PATH_MAX];
    bool is_gguf = is_gguf_model(entry);
    *model = (struct bt_stored){.is_file = is_gguf, .is_gguf = is_gguf};
    (void)snprintf(model->name, sizeof model->name, "%s", entry);
    if (*entry == '.' || baton_file_path(model->path, dir, entry, NULL))
        return false;
    if (model->is_file && baton_gguf_model_is_at(model->path)) {
        cut_name(model);
        measure_file(model);
        return true;
    }
    model->is_file = false;
    model->is_gguf = bt_only_gguf(model->path, path);
    if (!model->is_gguf &&
        (baton_file_path(path, model->path, "config.json", NULL) || access(path, R_OK)))
        return false;
    measure_directory(model);
    return true;
}

/* ---- all of them ---- */

static bool has(const struct bt_store *store, const char *name)
{
    for (size_t i = 0; i < store->n; i++)
        if (!strcmp(store->models[i].name, name))
            return true;
    return false;
}

/* A model hides those of its name in later folders. */
static enum baton_err add_entry(struct bt_store *store, const char *dir, const char *entry)
{
    struct bt_stored *model = malloc(sizeof *model), *models = NULL;
    enum baton_err err = model ? BATON_OK : BATON_NO_MEMORY;
    if (model && describe(dir, entry, model) && !has(store, model->name)) {
        models = realloc(store->models, (store->n + 1) * sizeof *models);
        err = models ? BATON_OK : BATON_NO_MEMORY;
    }
    if (models) {
        store->models = models;
        store->models[store->n++] = *model;
    }
    free(model);
    return err;
}

static enum baton_err add_folder(struct bt_store *store, const char *dir)
{
    struct dirent **entries = NULL;
    enum baton_err err = BATON_OK;
    int n = scandir(dir, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (!err)
            err = add_entry(store, dir, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return err;
}

static void find_own(char path[PATH_MAX])
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    path[0] = '\0';
    if (data && *data)
        (void)!baton_file_path(path, data, "baton/models", NULL);
    else if (home && *home)
        (void)!baton_file_path(path, home, ".local/share/baton/models", NULL);
}

enum baton_err bt_store_read(const char *models, struct bt_store *store, struct baton_why *why)
{
    char own[PATH_MAX];
    find_own(own);
    const char *const folders[] = {models ? models : "", own, "/var/lib/baton/models",
                                   BATON_SOURCE_DIR "/models"};
    enum baton_err err = BATON_OK;
    *store = (struct bt_store){.n = 0};
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !err; i++)
        if (*folders[i])
            err = add_folder(store, folders[i]);
    if (!err)
        return BATON_OK;
    bt_store_fini(store);
    return baton_fail(why, err, "the models' folders: out of memory");
}

void bt_store_fini(struct bt_store *store)
{
    free(store->models);
    *store = (struct bt_store){.n = 0};
}

const struct bt_stored *bt_store_find(const struct bt_store *store, const char *name)
{
    for (size_t i = 0; i < store->n; i++)
        if (!strcasecmp(store->models[i].name, name) ||
            !strcasecmp(strrchr(store->models[i].path, '/') + 1, name))
            return &store->models[i];
    return NULL;
}

const char *bt_store_closest(const struct bt_store *store, const char *name)
{
    struct baton_closest closest = {.word = name};
    for (size_t i = 0; i < store->n; i++)
        baton_closest_try(&closest, store->models[i].name);
    return closest.best;
}

enum baton_err bt_store_refuse(const struct bt_store *store, const char *name,
                               struct baton_why *why)
{
    const char *meant = bt_store_closest(store, name);
    bool is_path = *name == '.' || *name == '/';
    return baton_fail(why, BATON_NOT_FOUND, "%s: no such directory or file%s%s%s; %s pull %s", name,
                      meant ? "; did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "",
                      bt_called_as(), is_path ? "NAME downloads a model" : name);
}

static enum baton_err find_named(const char *models, const char *name, char path[PATH_MAX],
                                 struct baton_why *why)
{
    struct bt_store store;
    enum baton_err err = bt_store_read(models, &store, why);
    if (err)
        return err;
    const struct bt_stored *model = bt_store_find(&store, name);
    if (model)
        memcpy(path, model->path, PATH_MAX);
    else
        err = bt_store_refuse(&store, name, why);
    bt_store_fini(&store);
    return err;
}

enum baton_err bt_store_resolve(const char *models, const char *name, char path[PATH_MAX],
                                struct baton_why *why)
{
    char file[PATH_MAX];
    enum baton_err err = BATON_OK;
    if (access(name, F_OK))
        err = find_named(models, name, path, why);
    else
        (void)snprintf(path, PATH_MAX, "%s", name);
    if (!err && bt_only_gguf(path, file))
        memcpy(path, file, sizeof file);
    return err;
}
