#include "gateway/api/openapi/openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/digest.h"
#include "common/base/version.h"
#include "gateway/api/answer.h"
#include "gateway/api/openapi/schema.h"
#include "gateway/api/openapi/types.h"
#include "gateway/web/files.h"

enum { MAX_BYTES = 8 << 20, TAG_BYTES = 16, HEADERS_BYTES = 128 };

struct gw_openapi {
    struct baton_buf text;
    char etag[2 * TAG_BYTES + 3]; /* a strong validator with its quotes */
};

/* ---- bodies ---- */

static void put_request(struct baton_json_out *out, const struct gw_route *route,
                        const struct gw_body_schema *schema)
{
    baton_json_open(out, "requestBody", '{');
    baton_json_put_bool(out, "required", true);
    baton_json_open(out, "content", '{');
    baton_json_open(
        out, route->answers & GW_TAKES_FORM ? "multipart/form-data" : "application/json", '{');
    if (route->answers & GW_TAKES_SCALES)
        gw_type_put(out, "schema", "[LoraScale]");
    else
        gw_schema_put_body(out, "schema", schema);
    baton_json_close(out, '}');
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

/* Runs the endpoint to record its fields; false without memory. */
static bool record_schema(const struct gw_api *api, const struct gw_route *route,
                          struct gw_body_schema *schema)
{
    struct gw_api recording = *api;
    struct baton_json *body = baton_json_new_object();
    recording.schema = schema;
    if (!body)
        return false;
    route->endpoint(&recording, NULL, body);
    baton_json_free(body);
    return !schema->is_short;
}

/* ---- answers ---- */

static void put_content(struct baton_json_out *out, const char *content_type, const char *type)
{
    baton_json_open(out, content_type, '{');
    gw_type_put(out, "schema", type);
    baton_json_close(out, '}');
}

static void put_answer(struct baton_json_out *out, const struct gw_route_table *table,
                       const struct gw_route *route)
{
    static const struct {
        unsigned answer;
        const char *content_type;
    } texts[] = {{GW_ANSWERS_EVENTS, "text/event-stream"},
                 {GW_ANSWERS_LINES, "application/x-ndjson"},
                 {GW_ANSWERS_TEXT, "text/plain"},
                 {GW_ANSWERS_FILE, "*/*"}};
    static const unsigned all =
        GW_ANSWERS_JSON | GW_ANSWERS_EVENTS | GW_ANSWERS_LINES | GW_ANSWERS_TEXT | GW_ANSWERS_FILE;
    unsigned answers = route->answers & all;
    bool later = route->answers & GW_ONLY_ACCEPTS;
    baton_json_open(out, later ? "202" : answers ? "200" : "204", '{');
    baton_json_put_string(out, "description", answers ? "The answer" : "Success, without a body");
    if (answers) {
        baton_json_open(out, "content", '{');
        if (answers & GW_ANSWERS_JSON)
            put_content(out, "application/json", table->answer_type(route->endpoint));
        for (size_t i = 0; i < BATON_N_OF(texts); i++)
            if (answers & texts[i].answer)
                put_content(out, texts[i].content_type, "string");
        baton_json_close(out, '}');
    }
    baton_json_close(out, '}');
}

static const struct gw_error_shape *errors_of(const struct gw_route_table *table, const char *path)
{
    static const struct gw_error_shape own = {.name = "Error"};
    for (size_t i = 0; i < table->n_dialects; i++)
        if (gw_route_is_below(path, table->dialects[i].path))
            return table->dialects[i].errors;
    return &own;
}

static void put_error(struct baton_json_out *out, const char *status, const char *error)
{
    char ref[64];
    (void)snprintf(ref, sizeof ref, "#/components/responses/%s", error);
    baton_json_open(out, status, '{');
    baton_json_put_string(out, "$ref", ref);
    baton_json_close(out, '}');
}

static void put_responses(struct baton_json_out *out, const struct gw_route_table *table,
                          const struct gw_route *route)
{
    const struct gw_error_shape *errors = errors_of(table, route->path);
    baton_json_open(out, "responses", '{');
    put_answer(out, table, route);
    if (gw_route_takes_body(route))
        put_error(out, errors->bad_request ? errors->bad_request : "400", errors->name);
    put_error(out, "default", errors->name);
    baton_json_close(out, '}');
}

/* ---- routes ---- */

/* "get_v1_models_id", "post_v1_messages_countTokens". Only a slash becomes an underscore, so that
 * /generate/stream and /generate_stream differ. */
static void put_operation_id(struct baton_json_out *out, const struct gw_route *route)
{
    char id[96];
    size_t n = 0;
    for (const char *c = route->method; *c && n + 1 < sizeof id; c++)
        id[n++] = (char)tolower((unsigned char)*c);
    for (const char *c = route->path; *c && n + 1 < sizeof id; c++)
        if (*c == '/' && c[1])
            id[n++] = '_';
        else if (isalnum((unsigned char)*c))
            id[n++] = (char)(strchr("-_.", c[-1]) ? toupper((unsigned char)*c) : *c);
    id[n] = '\0';
    baton_json_put_string(out, "operationId", id);
}

static void put_parameter(struct baton_json_out *out, const char *name, size_t n)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_text(out, "name", name, n);
    baton_json_put_string(out, "in", "path");
    baton_json_put_bool(out, "required", true);
    baton_json_open(out, "schema", '{');
    baton_json_put_string(out, "type", "string");
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

static void put_parameters(struct baton_json_out *out, const char *path)
{
    const char *begin = strchr(path, '{');
    if (!begin)
        return;
    baton_json_open(out, "parameters", '[');
    for (; begin; begin = strchr(begin + 1, '{'))
        put_parameter(out, begin + 1, strcspn(begin + 1, "}"));
    baton_json_close(out, ']');
}

static bool put_operation(struct baton_json_out *out, const struct gw_api *api,
                          const struct gw_route_table *table, const struct gw_route *route)
{
    struct gw_body_schema schema = {0};
    char method[16];
    size_t n = 0;
    bool takes_body = gw_route_takes_body(route);
    bool has_fields = takes_body && !(route->answers & GW_TAKES_SCALES);
    bool ok = !has_fields || record_schema(api, route, &schema);
    for (const char *c = route->method; *c && n + 1 < sizeof method; c++)
        method[n++] = (char)tolower((unsigned char)*c);
    method[n] = '\0';
    baton_json_open(out, method, '{');
    baton_json_put_string(out, "summary", route->summary);
    put_operation_id(out, route);
    put_parameters(out, route->path);
    if (takes_body)
        put_request(out, route, &schema);
    put_responses(out, table, route);
    baton_json_close(out, '}');
    gw_body_schema_fini(&schema);
    return ok;
}

static bool is_first_of_path(const struct gw_route *routes, size_t route)
{
    size_t i = 0;
    while (strcmp(routes[i].path, routes[route].path) != 0)
        i++;
    return i == route;
}

static bool put_paths(struct baton_json_out *out, const struct gw_api *api,
                      const struct gw_route_table *table)
{
    const struct gw_route *routes = table->routes;
    bool ok = true;
    baton_json_open(out, "paths", '{');
    for (size_t i = 0; i < table->n_routes; i++) {
        if (!is_first_of_path(routes, i))
            continue;
        baton_json_open(out, routes[i].path, '{');
        for (size_t k = i; k < table->n_routes && ok; k++)
            if (!strcmp(routes[k].path, routes[i].path))
                ok = put_operation(out, api, table, &routes[k]);
        baton_json_close(out, '}');
    }
    baton_json_close(out, '}');
    return ok;
}

/* ---- the document ---- */

static void put_info(struct baton_json_out *out)
{
    baton_json_put_string(out, "openapi", "3.1.0");
    baton_json_open(out, "info", '{');
    baton_json_put_string(out, "title", "Baton");
    baton_json_put_string(out, "version", baton_release);
    baton_json_put_string(out, "description",
                          "A server for language models. A field that is null counts as absent.");
    baton_json_open(out, "license", '{');
    baton_json_put_string(out, "name", "Apache License 2.0");
    baton_json_put_string(out, "identifier", "Apache-2.0");
    baton_json_close(out, '}');
    baton_json_close(out, '}');
    baton_json_open(out, "servers", '[');
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "url", "/");
    baton_json_close(out, '}');
    baton_json_close(out, ']');
}

static bool write_all(struct baton_buf *text, const struct gw_api *api,
                      const struct gw_route_table *table)
{
    struct baton_json_out out = baton_json_out(text);
    baton_json_open(&out, NULL, '{');
    put_info(&out);
    bool ok = put_paths(&out, api, table);
    gw_schema_put_components(&out, table);
    baton_json_close(&out, '}');
    return ok && !baton_buf_err(text);
}

static bool tag(struct gw_openapi *openapi)
{
    uint8_t digest[BATON_SHA256_BYTES];
    char *c = openapi->etag;
    if (baton_sha256_of(openapi->text.data, openapi->text.len, digest))
        return false;
    *c++ = '"';
    for (size_t i = 0; i < TAG_BYTES; i++, c += 2)
        (void)snprintf(c, 3, "%02x", digest[i]);
    *c++ = '"';
    *c = '\0';
    return true;
}

struct gw_openapi *gw_openapi_create(const struct gw_api *api, const struct gw_route_table *table)
{
    struct gw_openapi *openapi = calloc(1, sizeof *openapi);
    if (!openapi)
        return NULL;
    baton_buf_init(&openapi->text, MAX_BYTES);
    if (write_all(&openapi->text, api, table) && tag(openapi))
        return openapi;
    gw_openapi_destroy(openapi);
    return NULL;
}

void gw_openapi_destroy(struct gw_openapi *openapi)
{
    if (openapi)
        baton_buf_fini(&openapi->text);
    free(openapi);
}

void gw_openapi_get(struct gw_api *api, struct gw_exchange *exchange,
                    const struct baton_json *unused)
{
    const struct gw_openapi *openapi = api->openapi;
    char headers[HEADERS_BYTES];
    (void)unused;
    bool same = gw_web_etag_matches(gw_exchange_header(exchange, "if-none-match"), openapi->etag);
    (void)snprintf(headers, sizeof headers, "Cache-Control: no-cache\r\nETag: %s\r\n",
                   openapi->etag);
    gw_exchange_respond(exchange, same ? 304 : 200, "application/json", headers, openapi->text.data,
                        openapi->text.len);
}
