#include "gateway/api/params/adapters.h"

#include <string.h>

static bool add(struct baton_adapter_uses *uses, const struct gw_adapter *adapter, double scale)
{
    if (scale == 0)
        return true;
    if (uses->n == BATON_MAX_BLENDED)
        return false;
    struct baton_adapter_use *use = &uses->list[uses->n++];
    memcpy(use->digest, adapter->digest, sizeof use->digest);
    use->scale = (float)scale;
    return true;
}

static bool is_model(const struct gw_model_names *names, const char *name, size_t n)
{
    for (int i = 0; i < names->n; i++)
        if (strlen(names->list[i]) == n && !memcmp(names->list[i], name, n))
            return true;
    return names->is_any && n > 0;
}

/* Names of models may have colons, as Ollama's tags do. */
static const struct gw_adapter *find(const struct gw_api *api, const char *name)
{
    const struct gw_adapter *found =
        gw_model_names_lists(api->names, name) ? NULL : gw_fleet_adapter(api->fleet, name);
    for (const char *colon = strchr(name, ':'); colon && !found; colon = strchr(colon + 1, ':'))
        if (is_model(api->names, name, (size_t)(colon - name)))
            found = gw_fleet_adapter(api->fleet, colon + 1);
    return found;
}

bool gw_adapters_named(const struct gw_api *api, const char *name, struct baton_adapter_uses *uses)
{
    const struct gw_adapter *adapter = find(api, name);
    if (adapter && uses) {
        *uses = (struct baton_adapter_uses){0};
        (void)add(uses, adapter, (double)adapter->scale);
    }
    return adapter;
}

static void refuse(struct gw_fields *fields, const char *field, const char *name)
{
    gw_fields_fail(fields, field, "invalid_value",
                   "%s: no adapter is called \"%.128s\": see GET /lora-adapters", field, name);
}

void gw_adapters_read_name(const struct gw_api *api, struct gw_fields *fields, const char *field,
                           struct baton_adapter_uses *uses)
{
    const char *name =
        baton_json_string(gw_field_of(fields, field, GW_IS_STRING, "an adapter's name"), NULL);
    if (name && *name && !gw_adapters_named(api, name, uses))
        refuse(fields, field, name);
}

/* ---- "lora" ---- */

static const struct gw_adapter *by_id(const struct gw_api *api, int64_t id)
{
    const struct gw_adapter *list[GW_MAX_FLEET_ADAPTERS];
    size_t n = gw_fleet_adapters(api->fleet, list);
    return id >= 0 && (uint64_t)id < n ? list[id] : NULL;
}

static const struct gw_adapter *read_adapter(const struct gw_api *api, struct gw_fields *members)
{
    int64_t id = -1;
    gw_field_int(members, "id", 0, GW_MAX_FLEET_ADAPTERS - 1, &id);
    const char *name =
        baton_json_string(gw_field_of(members, "name", GW_IS_STRING, "an adapter's name"), NULL);
    const struct gw_adapter *found = name ? gw_fleet_adapter(api->fleet, name) : by_id(api, id);
    if (!found && !members->failed && !members->schema)
        gw_fields_fail(members, name ? "name" : "id", "invalid_value",
                       "%s: no such adapter: see GET /lora-adapters", name ? "name" : "id");
    return found;
}

void gw_adapters_read_member(const struct gw_api *api, struct gw_fields *fields, const char *field,
                             const struct baton_json *value, struct gw_adapter_scale *read)
{
    struct gw_fields members = gw_fields_enter(fields, field, value);
    const struct gw_adapter *adapter = read_adapter(api, &members);
    read->scale = adapter ? (double)adapter->scale : 1;
    read->adapter = adapter;
    gw_field_real(&members, "scale", -BATON_MAX_ADAPTER_SCALE, false, BATON_MAX_ADAPTER_SCALE,
                  &read->scale);
    gw_fields_refuse_unknown(&members);
    gw_fields_leave(fields, field, &members);
}

static void read_list(const struct gw_api *api, struct gw_fields *fields,
                      const struct baton_json *list, struct baton_adapter_uses *uses)
{
    *uses = (struct baton_adapter_uses){0};
    for (size_t i = 0; i < baton_json_size(list) && !fields->failed; i++) {
        struct gw_adapter_scale read;
        gw_adapters_read_member(api, fields, "lora", baton_json_at(list, i), &read);
        if (!fields->failed && !add(uses, read.adapter, read.scale))
            gw_fields_fail(fields, "lora", "out_of_range",
                           "lora: at most %d adapters may have a scale other than 0",
                           BATON_MAX_BLENDED);
    }
}

/* Adapters that are gone no longer apply. */
static void take_defaults(const struct gw_api *api, struct baton_adapter_uses *uses)
{
    const struct gw_adapter_defaults *defaults = api->adapter_defaults;
    for (int i = 0; i < defaults->n; i++) {
        const struct gw_adapter *adapter = gw_fleet_adapter(api->fleet, defaults->list[i].name);
        if (adapter)
            (void)add(uses, adapter, (double)defaults->list[i].scale);
    }
}

void gw_adapters_read(const struct gw_api *api, struct gw_fields *fields,
                      struct baton_adapter_uses *uses)
{
    const struct baton_json *list =
        gw_field_of(fields, "lora", GW_IS_ARRAY, "an array of {\"id\": int, \"scale\": number}");
    if (baton_json_size(list))
        read_list(api, fields, list, uses);
    else if (!uses->n)
        take_defaults(api, uses);
}
