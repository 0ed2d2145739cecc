#include "gateway/api/ollama/error.h"

static void put_error(struct baton_buf *out, const struct gw_error *error)
{
    struct baton_json_out json = baton_json_out(out);
    baton_json_open(&json, NULL, '{');
    baton_json_put_string(&json, "error", error->message);
    baton_json_put_string_or_null(&json, "code", error->code);
    baton_json_put_string_or_null(&json, "param", error->param);
    if (error->retry_after_s)
        baton_json_put_int(&json, "retry_after_s", error->retry_after_s);
    if (error->usage)
        baton_json_put_raw(&json, "usage", baton_buf_text(error->usage), error->usage->len);
    baton_json_close(&json, '}');
}

void gw_ollama_mark(struct gw_exchange *exchange)
{
    gw_exchange_set_error_writer(exchange, put_error);
}
