/* llama.cpp's list of adapters, and the scales of requests that name none. */
#include <stdio.h>
#include <string.h>

#include "gateway/api/access/access.h"
#include "gateway/api/adapters/lora.h"
#include "gateway/api/answer.h"

enum { LIST_MAX_BYTES = 1 << 20 };

static double default_of(const struct gw_adapter_defaults *defaults, const char *name)
{
    for (int i = 0; i < defaults->n; i++)
        if (!strcmp(defaults->list[i].name, name))
            return (double)defaults->list[i].scale;
    return 0;
}

void gw_lora_list(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none)
{
    const struct gw_adapter *list[GW_MAX_FLEET_ADAPTERS];
    size_t n = gw_fleet_adapters(api->fleet, list);
    bool shows_paths = gw_access_is_operator(api->access, exchange);
    struct baton_buf body;
    (void)none;
    baton_buf_init(&body, LIST_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&body);
    baton_json_open(&out, NULL, '[');
    for (size_t i = 0; i < n; i++) {
        baton_json_open(&out, NULL, '{');
        baton_json_put_uint(&out, "id", i);
        baton_json_put_string(&out, "name", list[i]->name);
        baton_json_put_string(&out, "path", shows_paths ? list[i]->path : "");
        baton_json_put_real(&out, "scale", default_of(api->adapter_defaults, list[i]->name));
        baton_json_put_real(&out, "default_scale", (double)list[i]->scale);
        baton_json_put_uint(&out, "rank", list[i]->rank);
        baton_json_put_string(&out, "sha256", list[i]->digest);
        baton_json_close(&out, '}');
    }
    baton_json_close(&out, ']');
    gw_answer_json(exchange, 200, &body);
    baton_buf_fini(&body);
}

static void add_default(struct gw_fields *fields, const struct gw_adapter_scale *read,
                        struct gw_adapter_defaults *defaults)
{
    if (fields->failed || read->scale == 0)
        return;
    if (defaults->n == BATON_MAX_BLENDED) {
        gw_fields_fail(fields, "scale", "out_of_range",
                       "scale: at most %d adapters may have another one than 0", BATON_MAX_BLENDED);
        return;
    }
    (void)snprintf(defaults->list[defaults->n].name, sizeof defaults->list[0].name, "%s",
                   read->adapter->name);
    defaults->list[defaults->n++].scale = (float)read->scale;
}

void gw_lora_set_defaults(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *body)
{
    struct gw_adapter_defaults defaults = {0};
    struct gw_fields fields = {.body = body};
    struct gw_answer answer;
    if (baton_json_kind(body) != BATON_JSON_ARRAY)
        gw_fields_fail(&fields, "", "invalid_type",
                       "the body must be an array of {\"id\": int, \"scale\": number}");
    for (size_t i = 0; i < baton_json_size(body) && !fields.failed; i++) {
        struct gw_adapter_scale read;
        gw_adapters_read_member(api, &fields, "lora", baton_json_at(body, i), &read);
        add_default(&fields, &read, &defaults);
    }
    if (fields.failed) {
        gw_answer_problem(exchange, &fields.problem);
        return;
    }
    *api->adapter_defaults = defaults;
    gw_answer_open(&answer);
    baton_json_put_bool(&answer.out, "success", true);
    gw_answer_close(&answer, exchange, 200);
}
