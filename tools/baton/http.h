/* Sends one HTTP request at a time to a gateway, waits for the answer, and passes its events on as
 * they arrive.
 *
 * Ownership: an answer's body is the caller's until bt_answer_fini.
 * Threading: any thread, which waits.
 * Errors:    NOT_FOUND (no such host), IO (no connection, or it was lost), TIMEOUT, CANCELED (*stop
 *            was set), PEER (not HTTP), and the errors of on_event. A status other than 200 is no
 *            error: the answer holds it.
 */
#ifndef BATON_TOOLS_BATON_HTTP_H
#define BATON_TOOLS_BATON_HTTP_H

#include <signal.h>
#include <stdbool.h>

#include "common/http/url.h"
#include "tools/support/sse_reader.h"

struct bt_server {
    struct baton_http_url url;
    /* runs on this machine, started by us: its certificate may be for another address */
    bool is_ours;
    char key[260]; /* API key; "" for none */
};

struct bt_answer {
    int status;
    struct baton_buf body; /* of any answer but a stream of events */
};

/* Parses [http://|https://]HOST[:PORT][/PATH]; a path's last part /v1 is the API's own. INVALID
 * names the option. */
enum baton_err bt_server_parse(const char *option, const char *text, struct bt_server *server,
                               struct baton_why *why) BATON_MUST_CHECK;
/* Reads the first key of a file in the gateway's format; path "" is no file. */
enum baton_err bt_server_read_key(struct bt_server *server, const char *path,
                                  struct baton_why *why) BATON_MUST_CHECK;

struct bt_request {
    const char *method, *path, *body; /* body: JSON, or NULL */
    int timeout_ms;                   /* limits each wait; -1: no limit */
    /* The handler of SIGINT sets it. The caller blocks SIGINT, which runs only while this waits.
     * May be NULL. */
    const volatile sig_atomic_t *stop;
    ld_event_fn on_event; /* NULL: no events are expected */
    void *arg;
};

void bt_answer_init(struct bt_answer *answer);
void bt_answer_fini(struct bt_answer *answer);
/* Fills an answer that was initialised, and resets it first. */
enum baton_err bt_http_do(const struct bt_server *server, const struct bt_request *request,
                          struct bt_answer *answer, struct baton_why *why) BATON_MUST_CHECK;

/* Writes the "message" of an error body, or the body's beginning. */
void bt_answer_reason(const struct bt_answer *answer, char *text, size_t size);

#endif
