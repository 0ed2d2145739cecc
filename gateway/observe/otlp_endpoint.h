/* The endpoint of spans, and one POST of them: OTLP/HTTP with JSON
 * (opentelemetry.io/docs/specs/otlp, "OTLP/HTTP").
 *
 * The connection is kept between POSTs. Redirects are not followed. The answer is read up to a
 * bound, and only its status, Retry-After and partialSuccess are used.
 *
 * Ownership: endpoint: parse to fini. client: init to close.
 * Threading: a client belongs to one thread, which post blocks.
 * Errors:    parse: INVALID, and baton_file_read's, each naming the option. post: CANCELED (the
 *            bell was rung), IO, NOT_FOUND, TIMEOUT, PEER: the spans may be sent again later.
 */
#ifndef BATON_GATEWAY_OBSERVE_OTLP_ENDPOINT_H
#define BATON_GATEWAY_OBSERVE_OTLP_ENDPOINT_H

#include "common/base/buf.h"
#include "common/http/connection.h"

enum { GW_OTLP_PATH_BYTES = BATON_HTTP_PATH_BYTES + 16, GW_OTLP_CAFILE_BYTES = 1024 };

struct gw_otlp_endpoint {
    struct baton_http_url url;
    char path[GW_OTLP_PATH_BYTES];     /* of the request line */
    char cafile[GW_OTLP_CAFILE_BYTES]; /* "": the system's authorities */
    struct baton_buf headers;          /* lines of the head, each with its CRLF; a secret */
};

/* url: as OTEL_EXPORTER_OTLP_ENDPOINT, the base to which /v1/traces is added unless it ends so.
 * headers_file: "", or as otlp_headers.h says. */
enum baton_err gw_otlp_endpoint_parse(struct gw_otlp_endpoint *endpoint, const char *url,
                                      const char *headers_file, const char *cafile,
                                      struct baton_why *why) BATON_MUST_CHECK;
void gw_otlp_endpoint_fini(struct gw_otlp_endpoint *endpoint);

struct gw_otlp_client {
    const struct gw_otlp_endpoint *endpoint;
    const struct baton_doorbell *stop_bell;
    struct baton_http_connection conn;
    bool is_open;
};

struct gw_otlp_answer {
    int status;
    double retry_after_s; /* < 0: absent */
    int64_t n_rejected;   /* rejected spans of an accepted batch */
    char message[160];    /* its text about an error or rejected spans, or "" */
};

/* Whether, by the specification, the client sends the same batch again after this status. */
bool gw_otlp_is_retryable(int status);

void gw_otlp_client_init(struct gw_otlp_client *client, const struct gw_otlp_endpoint *endpoint,
                         const struct baton_doorbell *stop_bell);
void gw_otlp_client_close(struct gw_otlp_client *client);

/* OK: an answer came, with any status. body: an ExportTraceServiceRequest. */
enum baton_err gw_otlp_post(struct gw_otlp_client *client, const char *body, size_t n,
                            struct gw_otlp_answer *answer, struct baton_why *why) BATON_MUST_CHECK;

#endif
