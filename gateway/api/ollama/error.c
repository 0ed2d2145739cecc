#include "gateway/api/ollama/error.h"

static void put_error(struct baton_buf *out, const struct gw_error *error)
{
    struct baton_json_out json = baton_json_out(out);
    baton_json_open(&json, NULL, '{');
    baton_json_put_string(&json, "error", error->message);
    gw_error_put_details(&json, error);
    baton_json_close(&json, '}');
}

static void mark(struct gw_exchange *exchange)
{
    gw_exchange_set_error_writer(exchange, put_error);
}

const struct gw_error_shape gw_ollama_errors = {
    .name = "OllamaError",
    .schema = "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{"
              "\"type\":\"string\"},\"code\":{\"type\":\"string\"},\"param\":{\"type\":[\"string\","
              "\"null\"],\"description\":\"The field at fault.\"}}}",
    .mark = mark,
};
