#include "gateway/api/params/priority.h"

void gw_priority_read(struct gw_fields *fields, enum baton_priority *priority)
{
    static const char wanted[] =
        "\"interactive\", \"batch\" or an integer, of which those above 0 are batch";
    const struct baton_json *value =
        gw_field_of(fields, "priority", GW_IS_STRING | GW_IS_INT, wanted);
    if (!value)
        return;
    if (baton_json_kind(value) == BATON_JSON_INT) {
        *priority =
            baton_json_number(value) > 0 ? BATON_PRIORITY_BATCH : BATON_PRIORITY_INTERACTIVE;
        return;
    }
    for (int i = 0; i < BATON_N_PRIORITIES; i++)
        if (baton_json_is(value, baton_priority_name((enum baton_priority)i))) {
            *priority = (enum baton_priority)i;
            return;
        }
    gw_fields_fail(fields, "priority", "invalid_value", "priority: must be %s", wanted);
}

void gw_priority_read_tier(struct gw_fields *fields, enum baton_priority *priority)
{
    const struct baton_json *tier = gw_field(fields, "service_tier");
    if (tier && baton_json_is(tier, "flex") && !gw_field(fields, "priority"))
        *priority = BATON_PRIORITY_BATCH;
}
