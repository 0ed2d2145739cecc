/* Logs one line for every answer, when its client has it or has left. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "gateway/http/conn.h"
#include "gateway/http/status.h"

/* nginx's status for a client that left before its answer began. */
enum { BAD_REQUEST = 400, CLIENT_LEFT = 499 };
/* Fields of an access line that only requests that may generate have. */
enum { N_OF_GENERATION = 4 };

static enum baton_log_level level_of(int status)
{
    return status >= 500 ? BATON_LOG_WARN : BATON_LOG_INFO;
}

/* The query may hold private data. */
void gw_exchange_show_path(const struct gw_exchange *exchange, char text[GW_SHOWN_PATH_BYTES])
{
    size_t n = exchange->note.path_show_bytes;
    if (n && n < strlen(exchange->path) && n < GW_SHOWN_PATH_BYTES)
        (void)snprintf(text, GW_SHOWN_PATH_BYTES, "%.*s...", (int)n, exchange->path);
    else
        (void)snprintf(text, GW_SHOWN_PATH_BYTES, "%s", exchange->path);
}

/* True for a read of what is no stream or stored response: such reads generate nothing. */
static bool is_read(const struct gw_exchange *exchange)
{
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS"};
    for (size_t i = 0; i < BATON_N_OF(methods); i++)
        if (!strcmp(exchange->method, methods[i]))
            return !exchange->note.path_show_bytes;
    return false;
}

/* Probes, scrapes and pages come every second, and would bury the requests. A fleet that is not
 * ready yet answers its probes with 503. */
static bool is_routine(const struct gw_exchange *exchange)
{
    return is_read(exchange) && exchange->status &&
           (exchange->status < BAD_REQUEST || !strcmp(exchange->path, "/ready"));
}

static void log_access(const struct gw_conn *conn, const struct gw_exchange *exchange,
                       const char *cut_reason)
{
    const struct gw_exchange_note *note = &exchange->note;
    char path[GW_SHOWN_PATH_BYTES];
    int status = exchange->status ? exchange->status : CLIENT_LEFT;
    double e2el_s = baton_seconds(baton_now_ns() - exchange->arrived_ns);
    double ttft_s = baton_seconds(note->first_ns - exchange->arrived_ns);
    gw_exchange_show_path(exchange, path);
    struct baton_log_field fields[] = {BATON_S("id", exchange->id),
                                       BATON_O("trace", exchange->trace.id),
                                       BATON_S("client", conn->peer),
                                       BATON_S("method", exchange->method),
                                       BATON_S("path", path),
                                       BATON_I("status", status),
                                       BATON_O("code", exchange->code),
                                       BATON_O("cut", cut_reason),
                                       BATON_O("key", note->key),
                                       BATON_F("e2el_s", e2el_s),
                                       BATON_I("body_bytes", exchange->body_bytes),
                                       BATON_I("sent_bytes", exchange->sent_bytes),
                                       /* of requests that may generate */
                                       BATON_O("model", note->model),
                                       BATON_I("prompt_tokens", note->prompt_tokens),
                                       BATON_I("output_tokens", note->output_tokens),
                                       BATON_F("ttft_s", note->first_ns ? ttft_s : NAN),
                                       {.key = 0}};
    if (is_read(exchange))
        fields[BATON_N_OF(fields) - 1 - N_OF_GENERATION].key = NULL; /* the list ends there */
    baton_log_fields(level_of(status), "access", fields);
}

void gw_conn_log_answered(struct gw_conn *conn, const char *cut_reason)
{
    struct gw_exchange *exchange = conn->answered;
    const struct gw_http_options *options = &conn->server->options;
    if (!exchange)
        return;
    conn->answered = NULL;
    /* An exchange that was never handled and has no answer, such as a cut-off head, gets no
     * line. */
    if ((exchange->status || exchange->handled) && (options->logs_routine || !is_routine(exchange)))
        log_access(conn, exchange, cut_reason);
    if (options->on_answered && exchange->handled)
        options->on_answered(options->arg, exchange);
    free(exchange);
}

void gw_access_line_refused(const struct gw_conn *conn, const char *id,
                            const struct gw_error *error)
{
    baton_log(level_of(error->status), "access_refused", BATON_S("id", id),
              BATON_S("client", conn->peer), BATON_I("status", error->status),
              BATON_S("code", error->code), BATON_S("reason", error->message));
}
