#include "gateway/api/openai/anthropic_models.h"

#include "common/base/array.h"
#include "gateway/api/model_card.h"

void gw_anthropic_put_model(struct baton_json_out *out, const struct gw_api *api, const char *name)
{
    static const char *const unknown[] = {"capabilities", "deprecated_at", "line", "retires_at"};
    baton_json_put_string(out, "type", "model");
    baton_json_put_string(out, "id", name);
    baton_json_put_string(out, "display_name", name);
    gw_put_rfc3339(out, "created_at", api->started_s);
    baton_json_put_string(out, "lifecycle", "active");
    baton_json_put_int(out, "max_input_tokens", gw_fleet_prompt_tokens(api->fleet));
    baton_json_put_int(out, "max_tokens", gw_fleet_context_tokens(api->fleet));
    for (size_t i = 0; i < BATON_N_OF(unknown); i++)
        baton_json_put_null(out, unknown[i]);
}

void gw_anthropic_put_page(struct baton_json_out *out, const struct gw_served *models)
{
    const struct gw_model_names *first = models->models[0]->names;
    const struct gw_model_names *last = models->models[models->n - 1]->names;
    baton_json_put_bool(out, "has_more", false);
    baton_json_put_string(out, "first_id", first->list[0]);
    baton_json_put_string(out, "last_id", last->list[last->n - 1]);
}
