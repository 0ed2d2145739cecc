#include "gateway/api/tgi/body.h"

#include "gateway/api/trees.h"

struct baton_json *gw_tgi_body(const struct baton_json *body)
{
    const struct baton_json *parameters = baton_json_get(body, "parameters");
    bool has_object = gw_tree_is_object(parameters);
    if (!gw_tree_is_object(body))
        return baton_json_share(body);
    struct baton_json *made = baton_json_new_object();
    if (gw_tree_add_members(made, body, has_object ? "parameters" : NULL) &&
        (!has_object || gw_tree_add_members(made, parameters, NULL)))
        return made;
    baton_json_free(made);
    return NULL;
}

void gw_tgi_read_parameters(struct gw_fields *fields)
{
    (void)gw_field_of(fields, "parameters", GW_IS_OBJECT, "an object");
}
