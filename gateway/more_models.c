#include "gateway/more_models.h"

#include <stdlib.h>
#include <string.h>

/* The equals sign behind a name; NULL: the entry is only a path. Names of models may have slashes,
 * but a path that begins with one, or with a dot, is no name. */
static char *end_of_name(char *entry)
{
    return *entry == '/' || *entry == '.' ? NULL : strchr(entry, '=');
}

static struct gw_more_model *find(struct gw_more_models *models, const char *path)
{
    for (size_t i = 0; i < models->n; i++)
        if (!strcmp(models->list[i].path, path))
            return &models->list[i];
    if (models->n == sizeof models->list / sizeof models->list[0])
        return NULL;
    models->list[models->n] = (struct gw_more_model){.path = path};
    return &models->list[models->n++];
}

static enum baton_err add(struct gw_more_models *models, char *entry, struct baton_why *why)
{
    char *end = end_of_name(entry);
    const char *path = end ? end + 1 : entry, *name = end ? entry : NULL;
    if (end)
        *end = '\0';
    if (!*path || (name && !*name))
        return baton_fail(why, BATON_INVALID,
                          "--more-models: \"%.128s\" must be NAME=PATH or PATH, not empty", entry);
    struct gw_more_model *model = find(models, path);
    if (!model)
        return baton_fail(why, BATON_INVALID, "--more-models: at most %d models",
                          GW_MAX_MODELS - 1);
    if (name && (!strcmp(name, "*") || strlen(name) > GW_MAX_MODEL_NAME_BYTES))
        return baton_fail(why, BATON_INVALID,
                          "--more-models: a name must have 1 to %d bytes and not be *",
                          GW_MAX_MODEL_NAME_BYTES);
    if (name && model->n_names == GW_MAX_MODEL_NAMES)
        return baton_fail(why, BATON_INVALID, "--more-models: at most %d names of %.128s",
                          GW_MAX_MODEL_NAMES, path);
    if (name)
        model->names[model->n_names++] = name;
    return BATON_OK;
}

enum baton_err gw_more_models_parse(struct gw_more_models *models, const char *list,
                                    struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    if (!*list)
        return BATON_OK;
    models->text = strdup(list);
    if (!models->text)
        return BATON_NO_MEMORY;
    for (char *rest = models->text, *entry; !err && (entry = strsep(&rest, ","));)
        err = add(models, entry, why);
    return err;
}

void gw_more_models_fini(struct gw_more_models *models)
{
    free(models->text);
    *models = (struct gw_more_models){0};
}
