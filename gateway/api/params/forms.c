#include "gateway/api/params/forms.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "gateway/api/json_util.h"
#include "gateway/api/params/grammar.h"

/* The schema of OpenAI's json_object: any JSON object, but no other value. */
static const char any_object[] = "{\"type\":\"object\"}";

enum form {
    SCHEMA,         /* an object, or its text */
    WRAPPED_SCHEMA, /* {"name", "schema", "strict"} */
    REGEX,
    GBNF,
    CHOICE,     /* an array of strings */
    ANY_OBJECT, /* true */
    STRUCTURE,  /* {"format"} or {"structures", "triggers"}, or its text */
    TYPED,      /* an object whose type names the form */
    GRAMMAR,    /* GBNF, or TYPED */
};

static const struct {
    unsigned kinds;
    const char *wanted;
} values[] = {
    [SCHEMA] = {GW_IS_OBJECT | GW_IS_BOOL | GW_IS_STRING, "a schema: an object, or its text"},
    [WRAPPED_SCHEMA] = {GW_IS_OBJECT,
                        "an object {\"name\": string, \"schema\": object, \"strict\": bool}"},
    [REGEX] = {GW_IS_STRING, "a string"},
    [GBNF] = {GW_IS_STRING, "a string"},
    [CHOICE] = {GW_IS_ARRAY, "an array of strings"},
    [ANY_OBJECT] = {GW_IS_BOOL, "true or false"},
    [STRUCTURE] =
        {GW_IS_OBJECT | GW_IS_STRING,
         "a structural_tag: an object {\"format\"} or {\"structures\", \"triggers\"}, or its text"},
    [TYPED] = {GW_IS_OBJECT, "an object whose type is text, json_object, json_schema, regex, "
                             "grammar or structural_tag"},
    [GRAMMAR] = {GW_IS_STRING | GW_IS_OBJECT, "a string or an object {type, value}"},
};

struct named_form {
    const char *name;
    enum form form;
};

/* The fields of a body. */
static const struct named_form of_body[] = {
    {"response_format", TYPED},
    {"json_schema", SCHEMA},
    {"grammar", GRAMMAR},
    {"regex", REGEX},
    {"ebnf", GBNF},
    {"structural_tag", STRUCTURE},
    {"guided_json", SCHEMA},
    {"guided_regex", REGEX},
    {"guided_choice", CHOICE},
    {"guided_grammar", GBNF},
    {"guided_json_object", ANY_OBJECT},
};

/* The members of vLLM's structured_outputs. */
static const struct named_form of_outputs[] = {
    {"json", SCHEMA},
    {"regex", REGEX},
    {"choice", CHOICE},
    {"grammar", GBNF},
    {"json_object", ANY_OBJECT},
    {"structural_tag", STRUCTURE},
};

/* The types of a typed object, with the members that may hold the form. */
static const struct {
    const char *type;
    struct named_form members[4];
    const char *without; /* the schema if none of the members is given; NULL: one must be */
} types[] = {
    {"json_object", {{"schema", SCHEMA}, {"value", SCHEMA}}, any_object},
    {"json", {{"value", SCHEMA}, {"schema", SCHEMA}}, NULL},
    {"json_schema",
     {{"json_schema", WRAPPED_SCHEMA}, {"schema", SCHEMA}, {"value", WRAPPED_SCHEMA}},
     NULL},
    {"regex", {{"value", REGEX}, {"regex", REGEX}, {"pattern", REGEX}}, NULL},
    {"grammar", {{"grammar", GBNF}, {"value", GBNF}}, NULL},
    {"structural_tag", {{"format", STRUCTURE}, {"structures", STRUCTURE}}, NULL},
};

/* The reader of one field. `name` is its path for messages, `field` the field of the body. */
struct reader {
    struct gw_fields *fields;
    struct baton_sampling_params *params;
    const char *field;
    char name[96];
};

static void refuse(struct reader *r, const char *what)
{
    gw_fields_fail(r->fields, r->field, "invalid_value", "%s: must be %s", r->name, what);
}

/* Sets the path to a member while it is read; *outer keeps the one around it. */
static void enter(struct reader *r, struct reader *outer, const char *member)
{
    *outer = *r;
    (void)snprintf(r->name, sizeof r->name, "%.60s.%.32s", outer->name, member);
}

static void hold_text(struct reader *r, enum baton_grammar_kind kind, const char *text, size_t n)
{
    bool was_fine = !r->fields->failed;
    gw_grammar_hold_to_text(r->fields, r->params, r->name, kind, text, n);
    if (was_fine && r->fields->failed) /* the field of a member's problem is the whole one */
        (void)snprintf(r->fields->problem.param, sizeof r->fields->problem.param, "%s", r->field);
}

static void hold_json(struct reader *r, enum baton_grammar_kind kind,
                      const struct baton_json *value)
{
    bool was_fine = !r->fields->failed;
    gw_grammar_hold_to_json(r->fields, r->params, r->name, kind, value);
    if (was_fine && r->fields->failed)
        (void)snprintf(r->fields->problem.param, sizeof r->fields->problem.param, "%s", r->field);
}

/* Records members of an object that have no effect. */
static void leave_out_others(struct reader *r, const struct baton_json *object,
                             const char *const *known, size_t n)
{
    for (void *it = baton_json_first(object); it; it = baton_json_next(object, it)) {
        bool is_known = baton_json_kind(baton_json_member(it)) == BATON_JSON_NULL;
        for (size_t i = 0; i < n && !is_known; i++)
            is_known = known[i] && !strcmp(known[i], baton_json_key(it));
        if (!is_known)
            gw_fields_leave_out(r->fields, "%s.%.40s", r->name, baton_json_key(it));
    }
}

/* ---- one form each ---- */

static void read_schema(struct reader *r, const struct baton_json *value)
{
    size_t n = 0;
    const char *text = baton_json_string(value, &n);
    if (text)
        hold_text(r, BATON_GRAMMAR_JSON_SCHEMA, text, n);
    else
        hold_json(r, BATON_GRAMMAR_JSON_SCHEMA, value);
}

static void read_wrapped(struct reader *r, const struct baton_json *value)
{
    static const char *const known[] = {"type", "name", "description", "schema", "strict"};
    const struct baton_json *schema = baton_json_get(value, "schema");
    const struct baton_json *strict = baton_json_get(value, "strict");
    bool is_strict_odd =
        baton_json_kind(strict) != BATON_JSON_BOOL && baton_json_kind(strict) != BATON_JSON_NULL;
    if (baton_json_kind(schema) == BATON_JSON_NULL || is_strict_odd) {
        refuse(r, values[WRAPPED_SCHEMA].wanted);
        return;
    }
    leave_out_others(r, value, known, BATON_N_OF(known));
    read_schema(r, schema);
}

/* Reads rules in GBNF, which is the notation of XGrammar too. */
static void read_gbnf(struct reader *r, const struct baton_json *value)
{
    size_t n = 0;
    const char *text = baton_json_string(value, &n);
    if (text && !memmem(text, n, "::=", 3))
        refuse(r, "rules \"name ::= ...\" in GBNF or EBNF, of which root is the first to match; "
                  "Lark's notation is not supported");
    else
        hold_text(r, BATON_GRAMMAR_GBNF, text, n);
}

/* Appends a text as a pattern that matches it alone. */
static void put_escaped(struct baton_buf *buf, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] && strchr("\\^$.|?*+()[]{}/", text[i]))
            baton_buf_putc(buf, '\\');
        baton_buf_putc(buf, text[i]);
    }
}

static void read_choice(struct reader *r, const struct baton_json *value)
{
    struct baton_buf buf;
    baton_buf_init(&buf, (size_t)BATON_GRAMMAR_MAX_BYTES + 1);
    for (size_t i = 0; i < baton_json_size(value); i++) {
        size_t n = 0;
        const char *text = baton_json_string(baton_json_at(value, i), &n);
        if (!text)
            refuse(r, values[CHOICE].wanted);
        baton_buf_putc(&buf, i ? '|' : '(');
        put_escaped(&buf, text ? text : "", n);
    }
    baton_buf_putc(&buf, ')');
    if (baton_buf_err(&buf))
        gw_fields_fail(r->fields, r->field, "out_of_range", "%s: is longer than %d bytes", r->name,
                       BATON_GRAMMAR_MAX_BYTES);
    else
        hold_text(r, BATON_GRAMMAR_REGEX, baton_buf_text(&buf), buf.len);
    baton_buf_fini(&buf);
}

/* ---- structures ---- */

/* Writes {"begin", "schema", "end"}, the older form of a tag. */
static void put_tag(struct baton_json_out *out, const struct baton_json *given)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "type", "tag");
    baton_json_put_value(out, "begin", baton_json_get(given, "begin"));
    baton_json_open(out, "content", '{');
    baton_json_put_string(out, "type", "json_schema");
    baton_json_put_value(out, "json_schema", baton_json_get(given, "schema"));
    baton_json_close(out, '}');
    baton_json_put_value(out, "end", baton_json_get(given, "end"));
    baton_json_close(out, '}');
}

/* Reads {"structures", "triggers"}: text in which each trigger begins a tag. */
static void read_tags(struct reader *r, const struct baton_json *value)
{
    static const char *const known[] = {"type", "structures", "triggers"};
    const struct baton_json *tags = baton_json_get(value, "structures");
    struct baton_buf buf;
    baton_buf_init(&buf, (size_t)BATON_GRAMMAR_MAX_BYTES + 1);
    struct baton_json_out out = baton_json_out(&buf);
    leave_out_others(r, value, known, BATON_N_OF(known));
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "type", "triggered_tags");
    baton_json_put_value(&out, "triggers", baton_json_get(value, "triggers"));
    baton_json_open(&out, "tags", '[');
    for (size_t i = 0; i < baton_json_size(tags); i++)
        put_tag(&out, baton_json_at(tags, i));
    baton_json_close(&out, ']');
    baton_json_close(&out, '}');
    if (baton_buf_err(&buf))
        gw_fields_fail(r->fields, r->field, "out_of_range", "%s: is longer than %d bytes", r->name,
                       BATON_GRAMMAR_MAX_BYTES);
    else
        hold_text(r, BATON_GRAMMAR_STRUCTURE, baton_buf_text(&buf), buf.len);
    baton_buf_fini(&buf);
}

static void read_structure(struct reader *r, const struct baton_json *value)
{
    static const char *const known[] = {"type", "format"};
    const struct baton_json *format;
    struct baton_json *parsed = NULL;
    struct baton_why why = {""};
    size_t n = 0;
    const char *text = baton_json_string(value, &n);
    if (text && (baton_json_parse(text, n, &parsed, &why) || !gw_json_is_object(parsed)))
        value = NULL;
    else if (text)
        value = parsed;
    format = baton_json_get(value, "format");
    if (baton_json_kind(baton_json_get(value, "structures")) == BATON_JSON_ARRAY) {
        read_tags(r, value);
    } else if (gw_json_is_object(format)) {
        leave_out_others(r, value, known, BATON_N_OF(known));
        hold_json(r, BATON_GRAMMAR_STRUCTURE, format);
    } else {
        refuse(r, values[STRUCTURE].wanted);
    }
    baton_json_free(parsed);
}

/* ---- objects whose type names the form ---- */

static bool asks_for_nothing(const struct baton_json *value, enum form form)
{
    switch (baton_json_kind(value)) {
    case BATON_JSON_NULL:
        return true;
    case BATON_JSON_STRING:
        return baton_json_is(value, "");
    case BATON_JSON_ARRAY:
        return !baton_json_size(value);
    case BATON_JSON_OBJECT:
        return !baton_json_size(value) && form != SCHEMA;
    case BATON_JSON_BOOL:
        return !baton_json_bool(value) && form != SCHEMA;
    default:
        return false;
    }
}

static void read_form(struct reader *r, enum form form, const struct baton_json *value);

/* Reads the form in one of the members of a type. */
static void read_type(struct reader *r, const struct baton_json *object, size_t type)
{
    const char *known[] = {"type", "triggers", NULL, NULL, NULL, NULL};
    const struct named_form *found = NULL;
    struct reader outer;
    bool is_structure = !strcmp(types[type].type, "structural_tag");
    if (!is_structure)
        known[1] = NULL;
    for (size_t i = 0; i < 4 && types[type].members[i].name; i++) {
        const struct named_form *member = &types[type].members[i];
        const struct baton_json *value = baton_json_get(object, known[2 + i] = member->name);
        if (baton_json_kind(value) == BATON_JSON_NULL)
            continue;
        if (found)
            refuse(r, "an object with one form");
        found = member;
    }
    leave_out_others(r, object, known, BATON_N_OF(known));
    if (!found && types[type].without) {
        hold_text(r, BATON_GRAMMAR_JSON_SCHEMA, types[type].without, strlen(types[type].without));
    } else if (!found) {
        enter(r, &outer, types[type].members[0].name);
        refuse(r, values[types[type].members[0].form].wanted);
        *r = outer;
    } else if (is_structure) {
        read_structure(r, object);
    } else {
        enter(r, &outer, found->name);
        read_form(r, found->form, baton_json_get(object, found->name));
        *r = outer;
    }
}

static void read_typed(struct reader *r, const struct baton_json *object)
{
    const struct baton_json *type = baton_json_get(object, "type");
    for (size_t i = 0; i < BATON_N_OF(types); i++)
        if (baton_json_is(type, types[i].type)) {
            read_type(r, object, i);
            return;
        }
    if (baton_json_is(type, "text")) {
        static const char *const known[] = {"type"};
        leave_out_others(r, object, known, 1);
    } else {
        gw_fields_fail(
            r->fields, r->field, "invalid_value",
            "%s: must %s text, json_object, json_schema, regex, grammar or "
            "structural_tag",
            r->name, strcmp(r->field, "grammar") ? "be an object whose type is" : "have the type");
    }
}

static void read_form(struct reader *r, enum form form, const struct baton_json *value)
{
    char names[200];
    size_t n = 0;
    const char *text = baton_json_string(value, &n);
    if (!(gw_field_kind(value) & values[form].kinds)) {
        (void)snprintf(names, sizeof names, "%s, not %s", values[form].wanted,
                       baton_json_kind_name(baton_json_kind(value)));
        gw_fields_fail(r->fields, r->field, "invalid_type", "%s: must be %s", r->name, names);
        return;
    }
    switch (form) {
    case SCHEMA:
        read_schema(r, value);
        break;
    case WRAPPED_SCHEMA:
        read_wrapped(r, value);
        break;
    case REGEX:
        hold_text(r, BATON_GRAMMAR_REGEX, text, n);
        break;
    case CHOICE:
        read_choice(r, value);
        break;
    case ANY_OBJECT:
        hold_text(r, BATON_GRAMMAR_JSON_SCHEMA, any_object, sizeof any_object - 1);
        break;
    case STRUCTURE:
        read_structure(r, value);
        break;
    case GBNF:
    case TYPED:
    case GRAMMAR:
        text ? read_gbnf(r, value) : read_typed(r, value);
        break;
    }
}

/* ---- the fields ---- */

static void read_field(struct gw_fields *fields, struct baton_sampling_params *params,
                       const struct named_form *field)
{
    struct reader r = {.fields = fields, .params = params, .field = field->name};
    const struct baton_json *value =
        gw_field_of(fields, field->name, values[field->form].kinds, values[field->form].wanted);
    (void)snprintf(r.name, sizeof r.name, "%s", field->name);
    if (!asks_for_nothing(value, field->form))
        read_form(&r, field->form, value);
}

/* Reads vLLM's object. Its members that choose a backend have no effect; those that change the
 * white space or the additional properties of a schema would change what is held. */
static void read_outputs(struct gw_fields *fields, struct baton_sampling_params *params)
{
    static const char name[] = "structured_outputs";
    static const char *const changes[] = {"disable_any_whitespace", "disable_additional_properties",
                                          "whitespace_pattern"};
    const char *known[BATON_N_OF(of_outputs) + BATON_N_OF(changes) + 1] = {"disable_fallback"};
    const struct baton_json *object =
        gw_field_of(fields, name, GW_IS_OBJECT,
                    "an object with one of json, regex, choice, grammar, json_object and "
                    "structural_tag");
    struct reader r = {.fields = fields, .params = params, .field = name}, outer;
    size_t n = 1;
    (void)snprintf(r.name, sizeof r.name, "%s", name);
    for (size_t i = 0; i < BATON_N_OF(of_outputs) && object; i++) {
        const struct baton_json *value = baton_json_get(object, of_outputs[i].name);
        known[n++] = of_outputs[i].name;
        enter(&r, &outer, of_outputs[i].name);
        if (!asks_for_nothing(value, of_outputs[i].form))
            read_form(&r, of_outputs[i].form, value);
        r = outer;
    }
    for (size_t i = 0; i < BATON_N_OF(changes) && object; i++) {
        known[n++] = changes[i];
        if (!asks_for_nothing(baton_json_get(object, changes[i]), REGEX))
            gw_fields_fail(fields, name, "unsupported_field", "%s.%s: is not supported", name,
                           changes[i]);
    }
    leave_out_others(&r, object, known, n);
}

void gw_forms_read(struct gw_fields *fields, struct baton_sampling_params *params)
{
    /* A grammar that begins in the middle of the output, and other white space in a schema. */
    static const char *const unsupported[] = {"grammar_lazy", "guided_whitespace_pattern"};
    for (size_t i = 0; i < BATON_N_OF(of_body); i++)
        read_field(fields, params, &of_body[i]);
    read_outputs(fields, params);
    (void)gw_field(fields, "guided_decoding_backend"); /* no effect on the form */
    gw_fields_refuse(fields, unsupported, BATON_N_OF(unsupported));
}

/* Reads Ollama's form: the word json, or a schema. */
void gw_forms_read_ollamas(struct gw_fields *fields, struct baton_sampling_params *params)
{
    static const char wanted[] = "\"json\" or a schema";
    const struct baton_json *format =
        gw_field_of(fields, "format", GW_IS_STRING | GW_IS_OBJECT, wanted);
    if (asks_for_nothing(format, SCHEMA))
        return;
    if (baton_json_kind(format) == BATON_JSON_OBJECT)
        gw_grammar_hold_to_json(fields, params, "format", BATON_GRAMMAR_JSON_SCHEMA, format);
    else if (baton_json_is(format, "json"))
        gw_grammar_hold_to_text(fields, params, "format", BATON_GRAMMAR_JSON_SCHEMA, any_object,
                                sizeof any_object - 1);
    else
        gw_fields_fail(fields, "format", "invalid_value", "format: must be %s", wanted);
}

bool gw_forms_are_given(const struct baton_json *object)
{
    bool is_given = baton_json_kind(baton_json_get(object, "format")) == BATON_JSON_OBJECT ||
                    baton_json_get(object, "structured_outputs");
    for (size_t i = 0; i < BATON_N_OF(of_body) && !is_given; i++)
        is_given = baton_json_get(object, of_body[i].name);
    return is_given;
}
