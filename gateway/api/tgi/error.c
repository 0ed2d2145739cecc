#include "gateway/api/tgi/error.h"

/* https://huggingface.co/docs/text-generation-inference/reference/api_reference */
static const char *type_of(int status)
{
    switch (status) {
    case 401:
    case 403:
        return "authentication";
    case 404:
        return "not_found";
    case 429:
    case 503:
        return "overloaded";
    default:
        return status >= 500 ? "generation" : "validation";
    }
}

static void put_error(struct baton_buf *out, const struct gw_error *error)
{
    struct baton_json_out json = baton_json_out(out);
    baton_json_open(&json, NULL, '{');
    baton_json_put_string(&json, "error", error->message);
    baton_json_put_string(&json, "error_type", type_of(error->status));
    gw_error_put_details(&json, error);
    baton_json_close(&json, '}');
}

static void mark(struct gw_exchange *exchange)
{
    gw_exchange_set_error_writer(exchange, put_error);
}

const struct gw_error_shape gw_tgi_errors = {
    .name = "TgiError",
    .schema =
        "{\"type\":\"object\",\"required\":[\"error\",\"error_type\"],\"properties\":{\"error\":{"
        "\"type\":\"string\"},\"error_type\":{\"type\":\"string\"},\"code\":{\"type\":\"string\"},"
        "\"param\":{\"type\":[\"string\",\"null\"],\"description\":\"The field at fault.\"}}}",
    .mark = mark,
};
