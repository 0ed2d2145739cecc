#include "gateway/http/status.h"

#include <stddef.h>
#include <stdio.h>

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
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
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
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Unknown";
}

const char *gw_status_hints(int status)
{
    switch (status) {
    case 429:
    case 503:
        return "Retry-After: 1\r\nx-should-retry: true\r\n";
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

const char *gw_status_retry_hints(int status, int retry_s, char text[GW_RETRY_HINTS_BYTES])
{
    if (retry_s <= 0)
        return gw_status_hints(status);
    (void)snprintf(text, GW_RETRY_HINTS_BYTES, "Retry-After: %d\r\nx-should-retry: true\r\n",
                   retry_s);
    return text;
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

static void put_or_null(struct baton_json_out *out, const char *key, const char *text)
{
    if (text)
        baton_json_put_string(out, key, text);
    else
        baton_json_put_null(out, key);
}

void gw_error_open(struct baton_json_out *out, int status, const char *message,
                   const char *param_or_null, const char *code_or_null)
{
    baton_json_open(out, NULL, '{');
    baton_json_open(out, "error", '{');
    baton_json_put_string(out, "message", message);
    baton_json_put_string(out, "type", error_type(status));
    put_or_null(out, "param", param_or_null);
    put_or_null(out, "code", code_or_null);
}

void gw_error_close(struct baton_json_out *out)
{
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

void gw_error_body(struct baton_buf *out, int status, const char *message,
                   const char *param_or_null, const char *code_or_null)
{
    struct baton_json_out json = baton_json_out(out);
    gw_error_open(&json, status, message, param_or_null, code_or_null);
    gw_error_close(&json);
}
