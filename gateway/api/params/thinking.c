#include "gateway/api/params/thinking.h"

#include <string.h>

#include "common/base/array.h"
#include "gateway/api/json_util.h"

static void wish(struct baton_chat_input *input, bool thinks)
{
    input->thinking = thinks ? BATON_THINKING_ON : BATON_THINKING_OFF;
}

static void take_effort(struct baton_chat_input *input, const char *effort)
{
    input->reasoning_effort = effort && *effort ? effort : NULL;
    if (input->reasoning_effort)
        wish(input, strcmp(effort, "none") != 0);
}

/* Of several bounds the least counts. 0 tokens are the wish for no reasoning. */
static void bound(struct baton_chat_input *input, int64_t n)
{
    if (!input->bounds_thinking || n < input->thinking_max)
        input->thinking_max = (uint32_t)n;
    input->bounds_thinking = true;
    if (!n)
        wish(input, false);
}

/* -1 is no bound, as llama.cpp's clients write it. */
static void read_bound(struct gw_fields *fields, const char *name, struct baton_chat_input *input)
{
    int64_t n = -1;
    gw_field_int(fields, name, -1, INT32_MAX, &n);
    if (n >= 0 && !fields->failed)
        bound(input, n);
}

static void read_member_bound(struct gw_fields *fields, const char *field,
                              const struct baton_json *object, const char *name,
                              struct baton_chat_input *input)
{
    struct gw_fields members = gw_fields_enter(fields, field, object);
    read_bound(&members, name, input);
    gw_fields_leave(fields, field, &members);
}

static bool is_known(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static void leave_out_others(struct gw_fields *fields, const char *field,
                             const struct baton_json *object, const char *const *names, size_t n)
{
    for (void *it = baton_json_first(object); it; it = baton_json_next(object, it))
        if (!is_known(names, n, baton_json_key(it)))
            gw_fields_leave_out(fields, "%s.%.40s", field, baton_json_key(it));
}

void gw_thinking_read_object(struct gw_fields *fields, struct baton_chat_input *input)
{
    static const char *const known[] = {"type", "budget_tokens"};
    static const char wanted[] = "an object with the type enabled, disabled or adaptive";
    const struct baton_json *thinking =
        gw_field_of(fields, "thinking", GW_IS_OBJECT | GW_IS_BOOL, wanted);
    bool off = gw_json_is_type(thinking, "disabled");
    if (!input->thinking)
        take_effort(input, input->reasoning_effort);
    if (baton_json_kind(thinking) == BATON_JSON_BOOL)
        wish(input, baton_json_bool(thinking));
    if (!baton_json_size(thinking))
        return;
    if (!off && !gw_json_is_type(thinking, "enabled") && !gw_json_is_type(thinking, "adaptive"))
        gw_fields_fail(fields, "thinking", "invalid_value", "thinking: must be %s", wanted);
    wish(input, !off);
    if (!off)
        read_member_bound(fields, "thinking", thinking, "budget_tokens", input);
    leave_out_others(fields, "thinking", thinking, known, BATON_N_OF(known));
}

void gw_thinking_read_reasoning(struct gw_fields *fields, struct baton_chat_input *input)
{
    static const char *const known[] = {"effort", "enabled", "max_tokens"};
    const struct baton_json *reasoning =
        gw_field_of(fields, "reasoning", GW_IS_OBJECT, "an object {\"effort\": string}");
    const struct baton_json *effort = baton_json_get(reasoning, "effort");
    bool enabled = true;
    if (!baton_json_size(reasoning))
        return;
    if (baton_json_kind(effort) != BATON_JSON_NULL && !gw_json_is_string(effort))
        gw_fields_fail(fields, "reasoning", "invalid_type", "reasoning.effort: must be a string");
    else if (!input->reasoning_effort)
        take_effort(input, baton_json_string(effort, NULL));
    struct gw_fields members = gw_fields_enter(fields, "reasoning", reasoning);
    gw_field_bool(&members, "enabled", &enabled);
    gw_fields_leave(fields, "reasoning", &members);
    read_member_bound(fields, "reasoning", reasoning, "max_tokens", input);
    if (!enabled)
        wish(input, false);
    leave_out_others(fields, "reasoning", reasoning, known, BATON_N_OF(known));
}

static const char *const bounds[] = {"thinking_token_budget", "thinking_budget",
                                     "thinking_budget_tokens", "reasoning_budget",
                                     "reasoning_budget_tokens"};

void gw_thinking_read_bounds(struct gw_fields *fields, struct baton_chat_input *input)
{
    for (size_t i = 0; i < BATON_N_OF(bounds); i++)
        read_bound(fields, bounds[i], input);
    input->thinking_message = baton_json_string(
        gw_field_of(fields, "reasoning_budget_message", GW_IS_STRING, "a string"), NULL);
}

/* Whether an object of this name has a bound among its members. */
static bool has_bound(const struct gw_fields *fields, const char *field, const char *member)
{
    const struct baton_json *object = baton_json_get(fields->body, field);
    return baton_json_kind(object) == BATON_JSON_OBJECT &&
           baton_json_kind(baton_json_get(object, member)) != BATON_JSON_NULL;
}

void gw_thinking_refuse_bounds(struct gw_fields *fields)
{
    for (size_t i = 0; i < BATON_N_OF(bounds); i++)
        gw_field_off(fields, bounds[i], -1, "a route of chats");
    if (has_bound(fields, "thinking", "budget_tokens"))
        gw_fields_fail(fields, "thinking", "unsupported_field",
                       "thinking.budget_tokens: only of chats");
    if (has_bound(fields, "reasoning", "max_tokens"))
        gw_fields_fail(fields, "reasoning", "unsupported_field",
                       "reasoning.max_tokens: only of chats");
}

void gw_thinking_read(struct gw_fields *fields, struct baton_chat_input *input)
{
    const struct baton_json *enabled =
        gw_field_of(fields, "enable_thinking", GW_IS_BOOL, "true or false");
    take_effort(input, input->reasoning_effort);
    gw_thinking_read_object(fields, input);
    if (baton_json_kind(enabled) == BATON_JSON_BOOL)
        wish(input, baton_json_bool(enabled));
    gw_thinking_read_bounds(fields, input);
}

void gw_thinking_read_think(struct gw_fields *fields, struct baton_chat_input *input)
{
    const struct baton_json *think =
        gw_field_of(fields, "think", GW_IS_BOOL | GW_IS_STRING, "true, false or a string");
    if (baton_json_kind(think) == BATON_JSON_BOOL)
        wish(input, baton_json_bool(think));
    else if (think && !input->reasoning_effort)
        take_effort(input, baton_json_string(think, NULL));
}
