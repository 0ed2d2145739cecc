#include "gateway/api/params/model_name.h"

#include <stdio.h>

void gw_model_name_refuse(const struct gw_api *api, const char *name, struct gw_problem *problem)
{
    problem->status = 404;
    problem->code = "model_not_found";
    (void)snprintf(problem->param, sizeof problem->param, "model");
    (void)snprintf(problem->message, sizeof problem->message,
                   "model: \"%.64s\" is not served here; \"%.128s\" is", name, api->names->list[0]);
}

void gw_model_name_read(const struct gw_api *api, struct gw_fields *fields)
{
    const struct baton_json *model = gw_field_of(fields, "model", GW_IS_STRING, "a string");
    const char *name = baton_json_string(model, NULL);
    if (!model || fields->failed)
        return;
    if (!gw_model_names_has(api->names, name)) {
        gw_fields_fail(fields, "model", "model_not_found", "model: unknown");
        gw_model_name_refuse(api, name, &fields->problem);
    }
}
