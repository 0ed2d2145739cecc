#include "gateway/api/completion/tool_choice.h"

#include <stdio.h>
#include <string.h>

#include "gateway/api/params/grammar.h"
#include "gateway/api/params/lenient.h"
#include "gateway/chat/toolcall/structure.h"

/* ---- the fields ---- */

static const char *name_of(const struct baton_json *tool)
{
    return baton_json_string(baton_json_get(baton_json_get(tool, "function"), "name"), NULL);
}

static bool has_tool(const struct baton_json *tools, const char *name)
{
    for (size_t i = 0; i < baton_json_size(tools); i++)
        if (!strcmp(name_of(baton_json_at(tools, i)), name))
            return true;
    return false;
}

/* "any" is Mistral's word for "required". */
static bool is_required(const struct baton_json *choice)
{
    return baton_json_is(choice, "required") || baton_json_is(choice, "any");
}

static const char choices[] = "\"auto\", \"none\", \"required\" or {\"type\":\"function\","
                              "\"function\":{\"name\":...}}";

/* {"type":"function","function":{"name":...}} */
static const char *read_name(struct gw_fields *fields, const struct baton_json *choice,
                             const struct baton_json *tools)
{
    const char *name = name_of(choice);
    if (!baton_json_is(baton_json_get(choice, "type"), "function") || !name)
        gw_fields_fail(fields, "tool_choice", "invalid_value", "tool_choice: must be %s", choices);
    else if (!has_tool(tools, name))
        gw_fields_fail(fields, "tool_choice", "invalid_value",
                       "tool_choice: tools has no function called %.64s", name);
    return name;
}

struct gw_tool_choice gw_tool_choice_read(struct gw_fields *fields, const struct baton_json *tools)
{
    const struct baton_json *given =
        gw_field_of(fields, "tool_choice", GW_IS_STRING | GW_IS_OBJECT, choices);
    struct gw_tool_choice choice = {.schema = "function.parameters",
                                    .is_none = baton_json_is(given, "none")};
    bool is_parallel = true;
    gw_field_bool(fields, "parallel_tool_calls", &is_parallel);
    choice.is_single = !is_parallel;
    if (!given || choice.is_none || baton_json_is(given, "auto"))
        return choice;
    choice.is_forced = true;
    if (!is_required(given)) {
        choice.name = read_name(fields, given, tools);
        choice.is_single = true;
    } else if (!tools) {
        gw_fields_fail(fields, "tool_choice", "invalid_value",
                       "tool_choice: \"required\" needs functions in tools");
    }
    return choice;
}

/* ---- tools ---- */

static bool any_is_strict(const struct baton_json *tools)
{
    for (size_t i = 0; i < baton_json_size(tools); i++)
        if (baton_tool_is_strict(baton_json_at(tools, i)))
            return true;
    return false;
}

/* The schema of a tool's arguments, whose place differs between OpenAI's chat, Anthropic's messages
 * and responses. */
static const struct baton_json *parameters_of(const struct baton_json *tool)
{
    const struct baton_json *function = baton_json_get(tool, "function");
    const struct baton_json *schema = baton_json_get(tool, "input_schema");
    return schema ? schema : baton_json_get(function ? function : tool, "parameters");
}

static bool is_held(const struct baton_call_wish *wish, const struct baton_json *tool)
{
    if (wish->name)
        return !strcmp(name_of(tool), wish->name);
    return wish->is_forced || baton_tool_is_strict(tool);
}

/* ---- schemas of tools that are not strict ---- */

struct place {
    struct gw_fields *fields; /* NULL: drops are not told */
    size_t index;
    const char *schema;
};

static void tell_dropped(void *arg, const char *path)
{
    const struct place *place = arg;
    if (place->fields)
        gw_fields_leave_out(place->fields, "tools[%zu].%s%s", place->index, place->schema, path);
}

static struct baton_json *lenient_schema(const struct baton_json *tool, struct place *place)
{
    struct baton_json *schema = baton_tool_schema(parameters_of(tool));
    struct baton_json *made = schema ? gw_schema_lenient(schema, tell_dropped, place) : NULL;
    baton_json_free(schema);
    return made;
}

/* Sets the members of an object in another, but for one of them. */
static bool copy_but(struct baton_json *to, const struct baton_json *from, const char *key)
{
    bool ok = to;
    for (void *it = baton_json_first(from); it && ok; it = baton_json_next(from, it))
        if (strcmp(baton_json_key(it), key) != 0)
            ok = baton_json_set(to, baton_json_key(it), baton_json_share(baton_json_member(it)));
    return ok;
}

static struct baton_json *lenient_tool(const struct baton_json *tool, struct place *place)
{
    struct baton_json *made = baton_json_new_object(), *function = baton_json_new_object();
    bool ok = copy_but(function, baton_json_get(tool, "function"), "parameters") &&
              baton_json_set(function, "parameters", lenient_schema(tool, place)) &&
              copy_but(made, tool, "function");
    if (baton_json_set(made, "function", function) && ok)
        return made;
    baton_json_free(made);
    return NULL;
}

/* Returns the tools with schemas that can be held, where they are not strict; NULL without
 * memory. */
static struct baton_json *lenient_tools(const struct baton_call_wish *wish, struct place *place)
{
    struct baton_json *made = baton_json_new_array();
    bool ok = made;
    for (size_t i = 0; i < baton_json_size(wish->tools) && ok; i++) {
        const struct baton_json *tool = baton_json_at(wish->tools, i);
        bool is_lenient = is_held(wish, tool) && !baton_tool_is_strict(tool);
        place->index = i;
        ok = baton_json_push(made, is_lenient ? lenient_tool(tool, place) : baton_json_share(tool));
    }
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}

void gw_tool_choice_leave_out(struct gw_fields *fields, const struct baton_json *tools,
                              const struct gw_tool_choice *choice)
{
    const struct baton_call_wish wish = {
        .tools = tools, .name = choice->name, .is_forced = choice->is_forced};
    struct place place = {.fields = fields, .schema = choice->schema};
    if (choice->is_forced && !fields->failed)
        baton_json_free(lenient_tools(&wish, &place));
}

/* ---- constraints on the answer ---- */

/* Checks each schema on its own, so that an error names the tool. Also checks and counts schemas
 * that do not constrain the answer, as gw_tool_choice_check_ahead does off the loop: the sums are
 * then equal, and every verdict is found in its cache. */
static void check_schemas(struct gw_completion_builder *builder, const struct baton_call_wish *wish,
                          const char *where)
{
    struct gw_grammar_sum sum = {0};
    for (size_t i = 0; i < baton_json_size(wish->tools) && !builder->fields.failed; i++) {
        const struct baton_json *tool = baton_json_at(wish->tools, i);
        struct gw_fields others = gw_fields(builder->fields.body);
        struct baton_json *schema = baton_tool_schema(parameters_of(tool));
        char name[48];
        (void)snprintf(name, sizeof name, "tools[%zu].%s", i, where);
        gw_grammar_check_schema(is_held(wish, tool) ? &builder->fields : &others, "tools", name,
                                schema, &sum);
        baton_json_free(schema);
    }
}

static void hold(struct gw_completion_builder *builder, const struct baton_call_wish *wish,
                 const char *where)
{
    struct baton_buf text;
    check_schemas(builder, wish, where);
    if (builder->fields.failed)
        return;
    baton_buf_init(&text, (size_t)BATON_GRAMMAR_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    enum baton_err err = baton_call_structure_put(&out, &builder->options.form, wish);
    if (err == BATON_LIMIT)
        gw_fields_fail(&builder->fields, "tools", "out_of_range",
                       "tools: their schemas are longer than %d bytes together",
                       BATON_GRAMMAR_MAX_BYTES);
    else if (err)
        gw_fields_fail(&builder->fields, "tools", "internal_error", "tools: %s",
                       baton_err_text(err));
    else
        gw_grammar_hold_to_structure(&builder->fields, &builder->params.shared, &text);
    baton_buf_fini(&text);
}

/* Whether a grammar can constrain calls in the model's form. For forced calls it is a problem if
 * not. */
static bool can_hold(struct gw_completion_builder *builder, bool is_forced)
{
    const struct baton_tool_format *format = builder->options.form.tools;
    const enum baton_grammar_kind given = builder->params.shared.sampling.grammar.kind;
    if (!is_forced)
        return given != BATON_GRAMMAR_NONE ? given == BATON_GRAMMAR_JSON_SCHEMA && format
                                           : baton_call_structure_triggers(format);
    if (given != BATON_GRAMMAR_NONE && given != BATON_GRAMMAR_JSON_SCHEMA)
        gw_fields_fail(&builder->fields, "tool_choice", "invalid_value",
                       "tool_choice: a forced call cannot be combined with grammar, regex or "
                       "structural_tag");
    return !builder->fields.failed;
}

void gw_builder_constrain_tools(struct gw_completion_builder *builder,
                                const struct baton_json *tools, const struct gw_tool_choice *choice)
{
    const struct baton_grammar_text *given = &builder->params.shared.sampling.grammar;
    struct baton_call_wish wish = {.tools = tools,
                                   .name = choice->name,
                                   .is_forced = choice->is_forced,
                                   .is_single = choice->is_single};
    struct baton_json *answer = NULL;
    if (builder->params.bad_words && tools && !choice->is_none)
        gw_fields_fail(&builder->fields, "bad_words", "invalid_value",
                       "bad_words: cannot be combined with tools");
    const bool is_wanted =
        choice->is_forced || given->kind == BATON_GRAMMAR_JSON_SCHEMA || any_is_strict(tools);
    if (!tools || choice->is_none || builder->fields.failed || !is_wanted ||
        !can_hold(builder, choice->is_forced))
        return;
    if (!choice->is_forced && given->kind == BATON_GRAMMAR_JSON_SCHEMA &&
        baton_json_parse(given->bytes, given->n, &answer, NULL))
        return; /* no memory, as it was parsed before: the schema alone constrains the answer */
    struct place untold = {.schema = choice->schema};
    struct baton_json *lenient = choice->is_forced ? lenient_tools(&wish, &untold) : NULL;
    wish.answer = answer;
    wish.tools = lenient ? lenient : tools;
    hold(builder, &wish, choice->schema);
    baton_json_free(lenient);
    baton_json_free(answer);
}

/* ---- ahead of the loop ---- */

static bool names_a_call(const struct baton_json *choice)
{
    return choice && !baton_json_is(choice, "auto") && !baton_json_is(choice, "none");
}

static bool any_wants_schema(const struct baton_json *tools)
{
    bool wants = false;
    for (size_t i = 0; i < baton_json_size(tools) && !wants; i++) {
        const struct baton_json *tool = baton_json_at(tools, i);
        wants = baton_tool_is_strict(tool) || baton_json_bool(baton_json_get(tool, "strict")) ||
                any_wants_schema(baton_json_get(tool, "tools"));
    }
    return wants;
}

bool gw_tool_choice_is_given(const struct baton_json *body)
{
    const struct baton_json *tools = baton_json_get(body, "tools");
    return baton_json_size(tools) &&
           (names_a_call(baton_json_get(body, "tool_choice")) || any_wants_schema(tools));
}

/* Checks the schemas of all tools, also of those inside namespaces. */
static void check_all(const struct baton_json *body, const struct baton_json *tools,
                      struct gw_grammar_sum *sum)
{
    for (size_t i = 0; i < baton_json_size(tools); i++) {
        const struct baton_json *tool = baton_json_at(tools, i);
        struct gw_fields fields = gw_fields(body);
        struct baton_json *schema = baton_tool_schema(parameters_of(tool));
        gw_grammar_check_schema(&fields, "tools", "tools", schema, sum);
        if (schema && fields.failed)
            baton_json_free(gw_schema_lenient(schema, NULL, NULL));
        baton_json_free(schema);
        check_all(body, baton_json_get(tool, "tools"), sum);
    }
}

void gw_tool_choice_check_ahead(const struct baton_json *body)
{
    struct gw_grammar_sum sum = {0};
    check_all(body, baton_json_get(body, "tools"), &sum);
}
