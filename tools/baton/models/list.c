/* baton list: the models on disk that have names. */
#include <stdio.h>

#include "common/base/array.h"
#include "tools/baton/commands.h"
#include "tools/baton/models/store.h"
#include "tools/support/cli.h"

struct options {
    const char *models;
};

static const struct baton_option option_table[] = {
    BATON_ROW_TEXT(struct options, models, "models", NULL,
                   "directory of models by name; unset: where `baton pull` puts them"),
};

static void show(const struct bt_stored *model)
{
    char modified[32] = "";
    struct tm local;
    if (localtime_r(&model->modified, &local))
        (void)strftime(modified, sizeof modified, "%Y-%m-%d %H:%M", &local);
    (void)printf("%-32s %9.2f GB  %-11s  %s\n", model->name, (double)model->n_bytes / 1e9,
                 model->is_gguf ? "gguf" : "safetensors", modified);
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    struct bt_store store;
    enum baton_err err = bt_store_read(options->models, &store, why);
    if (err)
        return err;
    (void)printf("%-32s %12s  %-11s  %s\n", "NAME", "SIZE", "FORMAT", "MODIFIED");
    for (size_t i = 0; i < store.n; i++)
        show(&store.models[i]);
    bt_store_fini(&store);
    return BATON_OK;
}

enum baton_err bt_list(int argc, char **argv, struct baton_why *why)
{
    struct options options;
    struct baton_config config = {.process = "baton list",
                                  .summary = "the models on disk, by the names that `up` takes",
                                  .env_prefix = "BATON",
                                  .options = option_table,
                                  .n_options = BATON_N_OF(option_table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
