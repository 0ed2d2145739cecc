/* baton rm MODEL: removes a model from the folders of models, and nothing else. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/os/file.h"
#include "engine/checkpoint/gguf/model.h"
#include "tools/baton/commands.h"
#include "tools/baton/models/store.h"
#include "tools/support/cli.h"

struct options {
    const char *models;
    bool yes;
};

static const char *operand[1];
static struct baton_config config;

static const struct baton_option option_table[] = {
    BATON_ROW_TEXT(struct options, models, "models", NULL,
                   "directory of models by name; unset: where `baton pull` puts them"),
    BATON_ROW_BOOL(struct options, yes, "yes", "false", "remove it without a question"),
};

static enum baton_err remove_file(const char *path, struct baton_why *why)
{
    return !unlink(path) || errno == ENOENT
               ? BATON_OK
               : baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
}

static enum baton_err remove_gguf(const char *path, struct baton_why *why)
{
    char part[PATH_MAX];
    int n = baton_gguf_n_shards(path);
    enum baton_err err = BATON_OK;
    for (int i = n; n > 1 && i > 0 && !err; i--)
        if (baton_gguf_shard_path(path, i, part))
            err = remove_file(part, why);
    return err || n > 1 ? err : remove_file(path, why);
}

/* Removes the files of a directory and of its cache, then the two. Other directories in it stay,
 * and so does it. */
static enum baton_err remove_directory(const char *path, bool with_cache, struct baton_why *why)
{
    char below[PATH_MAX];
    const struct dirent *entry;
    enum baton_err err = BATON_OK;
    DIR *dir = opendir(path);
    while (dir && !err && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        err = baton_file_path(below, path, entry->d_name, why);
        if (!err && with_cache && !strcmp(entry->d_name, ".baton"))
            err = remove_directory(below, false, why);
        else if (!err)
            err = remove_file(below, why);
    }
    if (dir)
        (void)closedir(dir);
    return err || !rmdir(path) ? err : baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
}

/* A link goes; what it leads to is not Baton's. */
static enum baton_err remove_model(const struct bt_stored *model, struct baton_why *why)
{
    char target[2];
    if (readlink(model->path, target, sizeof target) >= 0)
        return remove_file(model->path, why);
    return model->is_file ? remove_gguf(model->path, why)
                          : remove_directory(model->path, true, why);
}

/* True when the user says yes, on a terminal. */
static bool confirm(const struct bt_stored *model)
{
    char line[16] = "";
    if (!isatty(STDIN_FILENO))
        return false;
    (void)fprintf(stderr, "remove %s, %.2f GB? [y/N] ", model->path, (double)model->n_bytes / 1e9);
    return fgets(line, sizeof line, stdin) && (*line == 'y' || *line == 'Y');
}

static enum baton_err remove_named(const struct options *options, const struct bt_store *store,
                                   const char *name, struct baton_why *why)
{
    const struct bt_stored *model = bt_store_find(store, name);
    if (!model)
        return bt_store_refuse(store, name, why);
    if (!strcmp(model->name, "tale"))
        return baton_fail(why, BATON_INVALID, "tale is Baton's own model: it stays");
    if (!options->yes && !confirm(model))
        return baton_fail(why, BATON_CANCELED, "%s stays; --yes removes it without a question",
                          model->path);
    enum baton_err err = remove_model(model, why);
    if (!err)
        (void)printf("removed %s\n", model->path);
    return err;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    struct bt_store store;
    if (!config.n_operands)
        return baton_fail(why, BATON_INVALID, "baton rm MODEL; \"baton list\" shows the names");
    enum baton_err err = bt_store_read(options->models, &store, why);
    if (err)
        return err;
    err = remove_named(options, &store, operand[0], why);
    bt_store_fini(&store);
    return err;
}

enum baton_err bt_rm(int argc, char **argv, struct baton_why *why)
{
    struct options options;
    config = (struct baton_config){.process = "baton rm",
                                   .summary = "removes a model from the folders of models",
                                   .env_prefix = "BATON",
                                   .options = option_table,
                                   .n_options = BATON_N_OF(option_table),
                                   .operands = "MODEL",
                                   .operand = operand,
                                   .max_operands = 1};
    return cli_run(&config, &options, argc, argv, run, why);
}
