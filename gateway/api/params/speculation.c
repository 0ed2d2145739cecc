#include "gateway/api/params/speculation.h"

#include <string.h>

static void read_mode(struct gw_fields *members, struct baton_speculation *speculation)
{
    const struct baton_json *value = gw_field(members, "mode");
    size_t n_bytes;
    const char *mode = baton_json_string(value, &n_bytes);
    if (!value)
        return;
    for (int i = 0; mode && i < BATON_N_SPECULATION_MODES; i++)
        if (!strcmp(mode, baton_speculation_mode_name((enum baton_speculation_mode)i))) {
            speculation->mode = (enum baton_speculation_mode)i;
            return;
        }
    gw_fields_fail(members, "mode", "invalid_value",
                   "mode: must be \"none\", \"prompt_lookup\" or \"draft_model\"");
}

void gw_speculation_read(struct gw_fields *fields, struct baton_speculation *speculation)
{
    const struct baton_json *value = gw_field(fields, "speculation");
    int64_t max_tokens = speculation->max_tokens, min_tokens = speculation->min_tokens;
    if (!value)
        return;
    if (baton_json_kind(value) != BATON_JSON_OBJECT) {
        gw_fields_fail(fields, "speculation", "invalid_type",
                       "speculation: must be an object {\"mode\": string, \"max_tokens\": int, "
                       "\"min_tokens\": int}");
        return;
    }
    struct gw_fields members = gw_fields(value);
    read_mode(&members, speculation);
    gw_field_int(&members, "max_tokens", 1, BATON_MAX_DRAFTS, &max_tokens);
    gw_field_int(&members, "min_tokens", 0, max_tokens, &min_tokens);
    gw_fields_refuse_unknown(&members);
    speculation->max_tokens = (int)max_tokens;
    speculation->min_tokens = (int)min_tokens;
    if (members.failed) /* the field is known, though a member of it may not be */
        gw_fields_fail(fields, "speculation",
                       strcmp(members.problem.code, "unknown_field") ? members.problem.code
                                                                     : "invalid_value",
                       "speculation.%s", members.problem.message);
}
