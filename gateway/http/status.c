#include "gateway/http/status.h"

#include <stddef.h>
#include <stdio.h>

#include "common/base/array.h"

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

const char *gw_status_reason(int status)
{
    for (size_t i = 0; i < BATON_N_OF(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Unknown";
}

static const char *error_type(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 429:
        return "rate_limit_error";
    default:
        return status >= 500 ? "server_error" : "invalid_request_error";
    }
}

void gw_error_put_details(struct baton_json_out *out, const struct gw_error *error)
{
    baton_json_put_string_or_null(out, "code", error->code);
    baton_json_put_string_or_null(out, "param", error->param);
    if (error->n_ctx) {
        baton_json_put_int(out, "n_prompt_tokens", error->n_prompt_tokens);
        baton_json_put_int(out, "n_ctx", error->n_ctx);
    }
    if (error->retry_after_s)
        baton_json_put_int(out, "retry_after_s", error->retry_after_s);
    if (error->usage)
        baton_json_put_raw(out, "usage", baton_buf_text(error->usage), error->usage->len);
}

void gw_error_put_typed(struct baton_buf *out, const struct gw_error *error, const char *type)
{
    struct baton_json_out json = baton_json_out(out);
    baton_json_open(&json, NULL, '{');
    baton_json_open(&json, "error", '{');
    baton_json_put_string(&json, "message", error->message);
    baton_json_put_string(&json, "type", type ? type : error_type(error->status));
    gw_error_put_details(&json, error);
    baton_json_close(&json, '}');
    baton_json_close(&json, '}');
}

void gw_error_put(struct baton_buf *out, const struct gw_error *error)
{
    gw_error_put_typed(out, error, NULL);
}

const char *gw_error_headers(const struct gw_error *error, char text[GW_ERROR_HEADERS_BYTES])
{
    int retry_after_s = error->retry_after_s;
    switch (error->status) {
    case 405:
        (void)snprintf(text, GW_ERROR_HEADERS_BYTES, "Allow: %s\r\n", error->allow);
        return text;
    case 429:
    case 503:
        (void)snprintf(text, GW_ERROR_HEADERS_BYTES, "Retry-After: %d\r\nx-should-retry: true\r\n",
                       retry_after_s > 0 ? retry_after_s : 1);
        return text;
    case 408:
    case 502:
        return "x-should-retry: true\r\n";
    case 500:
    case 504:
        return "x-should-retry: false\r\n";
    default:
        return "";
    }
}
