#include "tools/baton/fleet/more_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/checkpoint.h"
#include "tools/baton/fleet/fleet.h"
#include "tools/baton/models/store.h"

/* A path that begins with a slash or a dot is no name, as in gateway/more_models.h. */
static char *end_of_name(char *entry)
{
    return *entry == '/' || *entry == '.' ? NULL : strchr(entry, '=');
}

static bool is_encoder(const char *path)
{
    struct baton_checkpoint *checkpoint;
    struct baton_why why;
    if (baton_checkpoint_open(path, &checkpoint, &why))
        return false; /* the processes tell what is wrong with it */
    bool is = checkpoint->facts.is_encoder;
    baton_checkpoint_close(checkpoint);
    return is;
}

static enum baton_err find(const struct bt_up_options *options, const char *model,
                           char path[PATH_MAX], struct baton_why *why)
{
    struct baton_why reason = {.text = ""};
    char found[PATH_MAX];
    if (bt_store_resolve(options->models, model, found, &reason))
        return baton_fail(why, BATON_INVALID, "--more-models %s", reason.text);
    enum baton_err err = bt_up_check_model("more-models", found, why);
    if (!err)
        err = bt_make_absolute("more-models", found, path, why);
    if (!err && strchr(path, ','))
        err = baton_fail(why, BATON_INVALID, "--more-models: a path with a comma: %s", path);
    return err;
}

static enum baton_err add(const struct bt_up_options *options, struct bt_more_models *models,
                          char *entry, struct baton_why *why)
{
    char *end = end_of_name(entry);
    if (models->n == BT_MAX_MORE_MODELS)
        return baton_fail(why, BATON_INVALID, "--more-models: at most %d models",
                          BT_MAX_MORE_MODELS);
    struct bt_more_model *model = &models->list[models->n++];
    if (end)
        *end++ = '\0';
    if (end && (!*entry || strlen(entry) >= sizeof model->name))
        return baton_fail(why, BATON_INVALID, "--more-models: a name must have 1 to %zu bytes",
                          sizeof model->name - 1);
    (void)snprintf(model->name, sizeof model->name, "%s", end ? entry : "");
    enum baton_err err = find(options, end ? end : entry, model->path, why);
    model->is_encoder = !err && is_encoder(model->path);
    return err;
}

enum baton_err bt_more_models_find(const struct bt_up_options *options,
                                   struct bt_more_models *models, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    models->n = 0;
    if (!options->more_models || !*options->more_models)
        return BATON_OK;
    char *text = strdup(options->more_models);
    if (!text)
        return BATON_NO_MEMORY;
    for (char *rest = text, *entry; !err && (entry = strsep(&rest, ","));)
        err = add(options, models, entry, why);
    free(text);
    return err;
}

enum baton_err bt_more_models_put(const struct bt_more_models *models, char *text, size_t size,
                                  struct baton_why *why)
{
    size_t n = 0;
    *text = '\0';
    for (int i = 0; i < models->n && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s%s%s", i ? "," : "", models->list[i].name,
                              *models->list[i].name ? "=" : "", models->list[i].path);
    return n < size ? BATON_OK : baton_fail(why, BATON_LIMIT, "--more-models: too long");
}
