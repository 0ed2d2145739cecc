#include "gateway/api/choose_model.h"

#include <stdio.h>
#include <string.h>

#include "gateway/api/answer.h"
#include "gateway/api/listing.h"
#include "gateway/api/params/adapters.h"
#include "gateway/api/params/params.h"
#include "gateway/api/path_param.h"
#include "gateway/api/route.h"

enum { NAME_BYTES = GW_MAX_MODEL_NAME_BYTES + BATON_MAX_ADAPTER_NAME + 2 };

struct gw_api *gw_model_listed(const struct gw_api *api, const char *name)
{
    const struct gw_served *served = api->served;
    for (size_t i = 0; i < served->n; i++)
        if (gw_model_names_lists(served->models[i]->names, name))
            return served->models[i];
    return NULL;
}

struct gw_api *gw_model_given(const struct gw_api *api, const char *name)
{
    const struct gw_served *served = api->served;
    for (size_t i = 0; i < served->n; i++)
        if (gw_model_names_gives(served->models[i]->names, name))
            return served->models[i];
    return NULL;
}

/* The model of a name such as MODEL:ADAPTER, shorter than NAME_BYTES. */
static struct gw_api *before_colon(const struct gw_api *api, const char *name)
{
    char prefix[NAME_BYTES];
    struct gw_api *found = NULL;
    for (const char *colon = strchr(name, ':'); colon && !found; colon = strchr(colon + 1, ':')) {
        (void)snprintf(prefix, sizeof prefix, "%.*s", (int)(colon - name), name);
        found = gw_model_listed(api, prefix);
    }
    return found;
}

static struct gw_api *with_adapter(const struct gw_served *served, const char *name)
{
    for (size_t i = 0; i < served->n; i++)
        if (gw_adapters_named(served->models[i], name, NULL))
            return served->models[i];
    return NULL;
}

static struct gw_api *find(const struct gw_api *api, const char *name)
{
    struct gw_api *found = gw_model_listed(api, name);
    if (!found && strlen(name) >= NAME_BYTES)
        return NULL;
    if (!found)
        found = before_colon(api, name);
    return found ? found : with_adapter(api->served, name);
}

/* Ollama's clients append this to a name without a tag. */
static struct gw_api *find_untagged(const struct gw_api *api, const char *name)
{
    static const char latest[] = ":latest";
    char own[NAME_BYTES];
    size_t n = strlen(name), n_tag = sizeof latest - 1;
    if (n <= n_tag || n - n_tag >= sizeof own || strcmp(name + n - n_tag, latest) != 0)
        return NULL;
    (void)snprintf(own, sizeof own, "%.*s", (int)(n - n_tag), name);
    return find(api, own);
}

struct gw_api *gw_model_named(const struct gw_api *api, const char *name)
{
    struct gw_api *found = find(api, name);
    if (!found)
        found = find_untagged(api, name);
    for (size_t i = 0; i < api->served->n && !found; i++)
        if (gw_model_names_has(api->served->models[i]->names, name))
            found = api->served->models[i];
    return found;
}

/* ---- requests ---- */

/* The name in the query, else in the body; NULL: there is none. */
static const char *name_in(const struct gw_exchange *exchange, const struct baton_json *body,
                           char text[GW_PATH_PARAM_BYTES])
{
    static const char *const keys[] = {"model", "base_model_name", "name"};
    const char *path = gw_exchange_path(exchange);
    size_t n_keys = gw_route_is_below(path, "/api") ? 3 : 2;
    char part[GW_URL_PART_BYTES];
    const char *in_query = gw_query_value(exchange, "model", part), *name = NULL;
    if (*in_query)
        return gw_path_param(in_query, strlen(in_query), text);
    if (!strcmp(path, "/api/copy") || !strcmp(path, "/api/create")) /* these name a new one too */
        return baton_json_string(
            baton_json_get(body, !strcmp(path, "/api/copy") ? "source" : "from"), NULL);
    for (size_t i = 0; i < n_keys && !name; i++)
        name = baton_json_string(baton_json_get(body, keys[i]), NULL);
    return name;
}

struct gw_api *gw_model_of_request(struct gw_api *api, struct gw_exchange *exchange,
                                   const struct baton_json *body)
{
    char text[GW_PATH_PARAM_BYTES];
    struct gw_problem problem;
    const char *name = api->served->n > 1 ? name_in(exchange, body, text) : NULL;
    struct gw_api *found = name ? gw_model_named(api, name) : api;
    if (found)
        return found;
    gw_params_refuse_model(api, name, &problem);
    gw_answer_problem(exchange, &problem);
    return NULL;
}

void gw_models_asked_for(struct gw_api *api, const struct gw_exchange *exchange,
                         struct gw_served *asked_for)
{
    char part[GW_URL_PART_BYTES];
    *asked_for = *api->served;
    if (api->served->n < 2 || !*gw_query_value(exchange, "model", part))
        return;
    *asked_for = (struct gw_served){.models = {api}, .n = 1};
}
