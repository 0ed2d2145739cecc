#include "gateway/api/anthropic/error.h"

/* https://docs.anthropic.com/en/api/errors */
static const char *type_of(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 413:
        return "request_too_large";
    case 429:
        return "rate_limit_error";
    case 503:
        return "overloaded_error";
    case 504:
        return "timeout_error";
    default:
        return status >= 500 ? "api_error" : "invalid_request_error";
    }
}

static void put_error(struct baton_buf *out, const struct gw_error *error)
{
    struct baton_json_out json = baton_json_out(out);
    baton_json_open(&json, NULL, '{');
    baton_json_put_string(&json, "type", "error");
    baton_json_open(&json, "error", '{');
    baton_json_put_string(&json, "type", type_of(error->status));
    baton_json_put_string(&json, "message", error->message);
    gw_error_put_details(&json, error);
    baton_json_close(&json, '}');
    baton_json_close(&json, '}');
}

static void mark(struct gw_exchange *exchange)
{
    gw_exchange_set_error_writer(exchange, put_error);
    (void)!gw_exchange_add_header(exchange, "request-id", gw_exchange_id(exchange)); /* or not */
}

const struct gw_error_shape gw_anthropic_errors = {
    .name = "AnthropicError",
    .schema =
        "{\"type\":\"object\",\"required\":[\"type\",\"error\"],\"properties\":{\"type\":{"
        "\"const\":\"error\"},\"error\":{\"type\":\"object\",\"required\":[\"type\",\"message\"],"
        "\"properties\":{\"type\":{\"type\":\"string\"}," GW_ERROR_MEMBERS "}}}}",
    .mark = mark,
};
