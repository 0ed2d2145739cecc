#include "gateway/api/ollama/aliases.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "gateway/api/answer.h"
#include "gateway/api/choose_model.h"
#include "gateway/api/params/params.h"

/* A name without ":latest", which Ollama's clients append to names without a tag. */
struct name {
    char text[GW_MAX_MODEL_NAME_BYTES + 1];
};

static bool read_name(struct gw_fields *fields, const char *field, struct name *name)
{
    static const char chars[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:";
    static const char latest[] = ":latest";
    size_t n = 0, n_tag = sizeof latest - 1;
    const char *text = baton_json_string(gw_field_of(fields, field, GW_IS_STRING, "a string"), &n);
    if (fields->failed)
        return false;
    if (text && n > n_tag && !strcmp(text + n - n_tag, latest))
        n -= n_tag;
    if (!text || !n || n > GW_MAX_MODEL_NAME_BYTES || strspn(text, chars) < n) {
        gw_fields_fail(fields, field, "invalid_value",
                       "%s: must be a name of 1 to %d characters of [A-Za-z0-9._/:-]", field,
                       GW_MAX_MODEL_NAME_BYTES);
        return false;
    }
    (void)snprintf(name->text, sizeof name->text, "%.*s", (int)n, text);
    return true;
}

/* Reads the name of the model of which there will be another name. */
static void read_source(const struct gw_api *api, struct gw_fields *fields, const char *field)
{
    struct name source;
    if (!read_name(fields, field, &source) || gw_model_names_has(api->names, source.text))
        return;
    if (gw_fleet_adapter(api->fleet, source.text)) {
        gw_fields_fail(fields, field, "invalid_value",
                       "%s: \"%s\" is an adapter, which has one name", field, source.text);
        return;
    }
    fields->failed = true;
    gw_params_refuse_model(api, source.text, &fields->problem);
    (void)snprintf(fields->problem.param, sizeof fields->problem.param, "%s", field);
}

/* An adapter is found by its name alone, whatever its model. */
static bool has_adapter(const struct gw_served *served, const char *name)
{
    bool has = false;
    for (size_t i = 0; i < served->n; i++)
        has |= gw_fleet_adapter(served->models[i]->fleet, name) != NULL;
    return has;
}

static void add(const struct gw_api *api, struct gw_fields *fields, const char *field,
                const char *name)
{
    if (has_adapter(api->served, name)) {
        gw_fields_fail(fields, field, "invalid_value", "%s: \"%s\" is the name of an adapter",
                       field, name);
        return;
    }
    const struct gw_api *owner = gw_model_listed(api, name);
    if (owner && owner->names != api->names) {
        gw_fields_fail(fields, field, "invalid_value", "%s: \"%s\" is the name of another model",
                       field, name);
        return;
    }
    switch (gw_model_names_add(api->names, name)) {
    case BATON_OK:
        break;
    case BATON_LIMIT:
        gw_fields_fail(fields, field, "too_large",
                       "%s: the model has %d names, the most that it may have: delete one", field,
                       GW_MAX_MODEL_NAMES);
        break;
    default:
        gw_fields_fail(fields, field, "out_of_memory", "%s: no memory for it", field);
        break;
    }
}

/* Ends the fields; an answer without a problem is empty. */
static bool has_problem(struct gw_fields *fields, struct gw_exchange *exchange)
{
    if (fields->failed)
        gw_answer_problem(exchange, &fields->problem);
    return fields->failed;
}

static void answer_nothing(struct gw_exchange *exchange)
{
    if (exchange) /* there is none while the route is described */
        gw_exchange_respond(exchange, 200, "text/plain", "", "", 0);
}

/* ---- copy ---- */

void gw_ollama_copy(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    struct gw_fields fields = gw_fields(body);
    struct name destination;
    fields.schema = api->schema;
    read_source(api, &fields, "source");
    bool is_read = read_name(&fields, "destination", &destination);
    gw_answer_end_fields(&fields, exchange, api->refuses_unknown);
    if (is_read && !fields.failed)
        add(api, &fields, "destination", destination.text);
    if (!has_problem(&fields, exchange))
        answer_nothing(exchange);
}

/* ---- create ---- */

/* What a model that is made would have of its own, and a name has not. */
static void refuse_presets(struct gw_fields *fields)
{
    static const char *const presets[] = {"system", "template", "parameters", "messages"};
    static const char *const parts[] = {"files",        "adapters",  "quantize",
                                        "quantization", "modelfile", "path"};
    for (size_t i = 0; i < BATON_N_OF(presets); i++) {
        const struct baton_json *value = gw_field(fields, presets[i]);
        if (value && (baton_json_size(value) ||
                      (baton_json_kind(value) == BATON_JSON_STRING && !baton_json_is(value, ""))))
            gw_fields_fail(fields, presets[i], "unsupported_field",
                           "%s: is not kept with a name; send it with each request%s", presets[i],
                           i == 1   ? ", as messages, or start the gateway with --chat-template"
                           : i == 2 ? ", as options"
                                    : "");
    }
    gw_fields_refuse(fields, parts, BATON_N_OF(parts));
}

static void answer_created(struct gw_exchange *exchange, bool streaming)
{
    static const char lines[] = "{\"status\":\"using existing layer\"}\n"
                                "{\"status\":\"writing manifest\"}\n{\"status\":\"success\"}\n";
    struct gw_answer answer;
    if (streaming && exchange) {
        gw_exchange_respond(exchange, 200, "application/x-ndjson", "", lines, sizeof lines - 1);
        return;
    }
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "status", "success");
    gw_answer_close(&answer, exchange, 200);
}

void gw_ollama_create(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *body)
{
    static const struct gw_alias aliases[] = {{"model", "name"}};
    static const struct gw_dialect dialect = {.aliases = aliases, .n_aliases = 1};
    struct gw_fields fields = gw_fields(body);
    struct name name;
    bool streaming = true;
    fields.schema = api->schema;
    fields.dialect = &dialect;
    refuse_presets(&fields);
    read_source(api, &fields, "from");
    bool is_read = read_name(&fields, "model", &name);
    (void)gw_field(&fields, "license"); /* no effect: it is the model's */
    gw_field_bool(&fields, "stream", &streaming);
    gw_answer_end_fields(&fields, exchange, api->refuses_unknown);
    if (is_read && !fields.failed)
        add(api, &fields, "model", name.text);
    if (!has_problem(&fields, exchange))
        answer_created(exchange, streaming);
}

/* ---- delete ---- */

void gw_ollama_delete(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *body)
{
    static const struct gw_alias aliases[] = {{"model", "name"}};
    static const struct gw_dialect dialect = {.aliases = aliases, .n_aliases = 1};
    struct gw_fields fields = gw_fields(body);
    struct name name;
    fields.schema = api->schema;
    fields.dialect = &dialect;
    bool is_read = read_name(&fields, "model", &name);
    gw_answer_end_fields(&fields, exchange, api->refuses_unknown);
    if (is_read && !fields.failed && !gw_model_names_remove(api->names, name.text)) {
        if (gw_model_names_lists(api->names, name.text))
            gw_fields_fail(&fields, "model", "invalid_value",
                           "model: \"%s\" is what the gateway was started with; only names of "
                           "/api/copy and /api/create are deleted",
                           name.text);
        else {
            fields.failed = true;
            gw_params_refuse_model(api, name.text, &fields.problem);
        }
    }
    if (!has_problem(&fields, exchange))
        answer_nothing(exchange);
}
