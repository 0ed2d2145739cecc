#include "gateway/api/params/speculation.h"

static void read_mode(struct gw_fields *members, struct baton_speculation *speculation)
{
    static const char *words[BATON_N_SPECULATION_MODES];
    for (int i = 0; i < BATON_N_SPECULATION_MODES; i++)
        words[i] = baton_speculation_mode_name((enum baton_speculation_mode)i);
    int mode = gw_field_word(members, "mode", words, BATON_N_SPECULATION_MODES);
    if (mode >= 0)
        speculation->mode = (enum baton_speculation_mode)mode;
}

void gw_speculation_read(struct gw_fields *fields, struct baton_speculation *speculation)
{
    const struct baton_json *value =
        gw_field_of(fields, "speculation", GW_IS_OBJECT,
                    "an object {\"mode\": string, \"max_tokens\": int, \"min_tokens\": int}");
    int64_t max_tokens = speculation->max_tokens, min_tokens = speculation->min_tokens;
    if (!value && !fields->notes)
        return;
    struct gw_fields members = gw_fields_enter(fields, "speculation", value);
    read_mode(&members, speculation);
    gw_field_int(&members, "max_tokens", 1, BATON_MAX_DRAFTS, &max_tokens);
    gw_field_int(&members, "min_tokens", 0, max_tokens, &min_tokens);
    gw_fields_refuse_unknown(&members);
    speculation->max_tokens = (int)max_tokens;
    speculation->min_tokens = (int)min_tokens;
    gw_fields_leave(fields, "speculation", &members);
}
