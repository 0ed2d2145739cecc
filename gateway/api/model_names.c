#include "gateway/api/model_names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static enum baton_err add(struct gw_model_names *names, char *name, struct baton_why *why)
{
    if (!strcmp(name, "*")) {
        names->is_any = true;
        return BATON_OK;
    }
    if (!*name || strlen(name) > GW_MAX_MODEL_NAME_BYTES)
        return baton_fail(why, BATON_INVALID,
                          "--served-model-name: name %d must have 1 to %d bytes, not %zu",
                          names->n + 1, GW_MAX_MODEL_NAME_BYTES, strlen(name));
    if (names->n == GW_MAX_MODEL_NAMES)
        return baton_fail(why, BATON_INVALID, "--served-model-name: at most %d names",
                          GW_MAX_MODEL_NAMES);
    names->list[names->n++] = name;
    return BATON_OK;
}

enum baton_err gw_model_names_parse(struct gw_model_names *names, const char *list, const char *own,
                                    struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    *names = (struct gw_model_names){.n = 1, .n_given = 1, .list = {own}};
    if (!*list)
        return BATON_OK;
    names->n = 0;
    names->text = strdup(list);
    if (!names->text)
        return BATON_NO_MEMORY;
    for (char *rest = names->text, *name; !err && (name = strsep(&rest, ","));)
        err = add(names, name, why);
    if (!err && !names->n) /* only "*" */
        names->list[names->n++] = own;
    names->n_given = names->n;
    return err;
}

static bool has_in(const struct gw_model_names *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names->list[i], name))
            return true;
    return false;
}

bool gw_model_names_lists(const struct gw_model_names *names, const char *name)
{
    return has_in(names, names->n, name);
}

bool gw_model_names_gives(const struct gw_model_names *names, const char *name)
{
    return has_in(names, names->n_given, name);
}

bool gw_model_names_has(const struct gw_model_names *names, const char *name)
{
    return names->is_any || gw_model_names_lists(names, name);
}

enum baton_err gw_model_names_add(struct gw_model_names *names, const char *name)
{
    if (gw_model_names_lists(names, name))
        return BATON_OK;
    if (names->n == GW_MAX_MODEL_NAMES)
        return BATON_LIMIT;
    const char *copy = strdup(name);
    if (!copy)
        return BATON_NO_MEMORY;
    names->list[names->n++] = copy;
    return BATON_OK;
}

bool gw_model_names_remove(struct gw_model_names *names, const char *name)
{
    int i = names->n_given;
    while (i < names->n && strcmp(names->list[i], name) != 0)
        i++;
    if (i == names->n)
        return false;
    free((char *)(uintptr_t)names->list[i]); /* only texts that are given may be const */
    for (names->n--; i < names->n; i++)
        names->list[i] = names->list[i + 1];
    return true;
}

void gw_model_names_fini(struct gw_model_names *names)
{
    while (names->n > names->n_given)
        (void)gw_model_names_remove(names, names->list[names->n - 1]);
    free(names->text);
    *names = (struct gw_model_names){0};
}
