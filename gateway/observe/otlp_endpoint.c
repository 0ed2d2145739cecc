#include "gateway/observe/otlp_endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/version.h"
#include "common/http/response.h"
#include "gateway/observe/otlp_headers.h"

enum {
    HEADERS_MAX_BYTES = 16 << 10,
    HEAD_MAX_BYTES = 32 << 10,
    ANSWER_MAX_BYTES = 64 << 10,
    READ_BYTES = 4096,
    TIMEOUT_MS = 10000, /* as OTEL_EXPORTER_OTLP_TIMEOUT's default */
    N_TRIES_REUSED = 2
};

#define TRACES_PATH "/v1/traces"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && !strcmp(text + n - n_end, end);
}

enum baton_err gw_otlp_endpoint_parse(struct gw_otlp_endpoint *endpoint, const char *url,
                                      const char *headers_file, const char *cafile,
                                      struct baton_why *why)
{
    *endpoint = (struct gw_otlp_endpoint){.path = ""};
    baton_buf_init(&endpoint->headers, HEADERS_MAX_BYTES);
    enum baton_err err = baton_http_url_parse_any("otlp-endpoint", url, &endpoint->url, why);
    if (err)
        return err;
    const char *base = endpoint->url.path;
    (void)snprintf(endpoint->path, sizeof endpoint->path, "%s%s", base,
                   ends_with(base, TRACES_PATH) ? "" : TRACES_PATH);
    if (*cafile && !endpoint->url.tls)
        return baton_fail(why, BATON_INVALID,
                          "otlp-cafile: is of no use without https:// in otlp-endpoint");
    if (strlen(cafile) >= sizeof endpoint->cafile)
        return baton_fail(why, BATON_INVALID, "otlp-cafile: longer than %zu bytes",
                          sizeof endpoint->cafile - 1);
    (void)snprintf(endpoint->cafile, sizeof endpoint->cafile, "%s", cafile);
    return *headers_file ? gw_otlp_headers_read(headers_file, &endpoint->headers, why) : BATON_OK;
}

void gw_otlp_endpoint_fini(struct gw_otlp_endpoint *endpoint)
{
    baton_buf_fini(&endpoint->headers);
}

bool gw_otlp_is_retryable(int status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* ---- a client ---- */

void gw_otlp_client_init(struct gw_otlp_client *client, const struct gw_otlp_endpoint *endpoint,
                         const struct baton_doorbell *stop_bell)
{
    *client = (struct gw_otlp_client){.endpoint = endpoint, .stop_bell = stop_bell};
}

void gw_otlp_client_close(struct gw_otlp_client *client)
{
    if (client->is_open)
        baton_http_connection_close(&client->conn);
    client->is_open = false;
}

static enum baton_err open_connection(struct gw_otlp_client *client, int64_t until_ns,
                                      struct baton_why *why)
{
    const struct baton_http_trust trust = {.cafile = client->endpoint->cafile};
    const struct baton_http_wait wait = {
        .timeout_ms = TIMEOUT_MS, .until_ns = until_ns, .stop_bell = client->stop_bell};
    enum baton_err err =
        baton_http_connection_open(&client->conn, &client->endpoint->url, &trust, &wait, why);
    client->is_open = !err;
    return err;
}

static enum baton_err write_post(struct gw_otlp_client *client, const char *body, size_t n,
                                 struct baton_why *why)
{
    const struct gw_otlp_endpoint *endpoint = client->endpoint;
    struct baton_buf head;
    baton_buf_init(&head, HEAD_MAX_BYTES);
    baton_buf_printf(&head,
                     "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: baton/%s\r\nContent-Type: "
                     "application/json\r\nContent-Length: %zu\r\n",
                     endpoint->path, endpoint->url.authority, baton_release, n);
    baton_buf_append(&head, endpoint->headers.data, endpoint->headers.len);
    baton_buf_puts(&head, "\r\n");
    enum baton_err err = baton_buf_err(&head);
    if (!err)
        err = baton_http_connection_write(&client->conn, head.data, head.len, why);
    if (!err)
        err = baton_http_connection_write(&client->conn, body, n, why);
    baton_buf_fini(&head);
    return err;
}

/* Reads until the response is complete. */
static enum baton_err read_response(struct gw_otlp_client *client,
                                    struct baton_http_response *response, struct baton_buf *body,
                                    struct baton_why *why)
{
    char bytes[READ_BYTES];
    size_t n = 0, n_used;
    enum baton_err err = BATON_AGAIN;
    while (err == BATON_AGAIN) {
        err = baton_http_connection_read(&client->conn, bytes, sizeof bytes, &n, why);
        if (err)
            return err;
        if (!n)
            return baton_http_response_eof(response)
                       ? baton_fail(why, BATON_IO, "the connection was closed before an answer")
                       : BATON_OK;
        err = baton_http_response_feed(response, bytes, n, &n_used, body, why);
    }
    return err;
}

/* ---- the answer ---- */

/* A number, or a string of digits, which is how OTLP's JSON writes 64-bit integers; else 0. */
static int64_t count_of(const struct baton_json *value)
{
    const char *text = baton_json_string(value, NULL);
    long long n = text ? strtoll(text, NULL, 10) : baton_json_int(value);
    return n > 0 ? n : 0;
}

static void keep_message(struct gw_otlp_answer *answer, const struct baton_json *message)
{
    const char *text = baton_json_string(message, NULL);
    (void)snprintf(answer->message, sizeof answer->message, "%s", text ? text : "");
}

/* Reads an ExportTraceServiceResponse, or, if the POST failed, a google.rpc.Status. */
static void read_body(struct gw_otlp_answer *answer, const struct baton_buf *body)
{
    struct baton_json *root = NULL;
    if (!body->len || baton_json_parse(body->data, body->len, &root, NULL))
        return;
    const struct baton_json *partial = baton_json_get(root, "partialSuccess");
    answer->n_rejected = count_of(baton_json_get(partial, "rejectedSpans"));
    keep_message(answer, partial ? baton_json_get(partial, "errorMessage")
                                 : baton_json_get(root, "message"));
    baton_json_free(root);
}

/* One try. An answer counts once its head is complete: a body that is too large or never ends only
 * costs the connection. */
static enum baton_err try_post(struct gw_otlp_client *client, const char *body, size_t n,
                               struct gw_otlp_answer *answer, struct baton_why *why)
{
    struct baton_http_response response;
    struct baton_buf answered;
    baton_http_response_init(&response);
    baton_buf_init(&answered, ANSWER_MAX_BYTES);
    enum baton_err err = write_post(client, body, n, why);
    if (!err)
        err = read_response(client, &response, &answered, why);
    if (err || !response.keep_alive)
        gw_otlp_client_close(client);
    if (err != BATON_CANCELED && response.has_head) {
        *answer = (struct gw_otlp_answer){.status = response.status,
                                          .retry_after_s = response.retry_after_s};
        if (!err)
            read_body(answer, &answered);
        err = BATON_OK;
    }
    baton_buf_fini(&answered);
    baton_http_response_fini(&response);
    return err;
}

enum baton_err gw_otlp_post(struct gw_otlp_client *client, const char *body, size_t n,
                            struct gw_otlp_answer *answer, struct baton_why *why)
{
    int64_t until_ns = baton_now_ns() + TIMEOUT_MS * BATON_MS;
    enum baton_err err = BATON_IO;
    for (int i = 0; i < N_TRIES_REUSED; i++) {
        /* The server may have closed an idle connection: its failure is worth one new one. */
        bool is_reused = client->is_open;
        err = is_reused ? BATON_OK : open_connection(client, until_ns, why);
        if (err)
            return err;
        client->conn.wait.until_ns = until_ns;
        err = try_post(client, body, n, answer, why);
        if (err != BATON_IO || !is_reused)
            return err;
    }
    return err;
}
