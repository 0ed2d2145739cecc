#include "tools/plan/advise/fleet_at.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/http/response.h"
#include "tools/load/http/server_url.h"

enum {
    ANSWER_MAX_BYTES = 16 << 20,
    REQUEST_MAX_BYTES = 4096,
    READ_BYTES = 1 << 14,
    PATIENCE_S = 10
};

/* ---- the answer ---- */

struct sums {
    struct baton_stage_cost cost;
    double n_ready, n_known, kv_tokens, n_states;
};

static double number(const struct baton_json *object, const char *key)
{
    const struct baton_json *value = baton_json_get(object, key);
    return baton_json_kind(value) == BATON_JSON_NULL ? NAN : baton_json_number(value);
}

static bool is(const struct baton_json *object, const char *key, const char *text)
{
    const char *value = baton_json_string(baton_json_get(object, key), NULL);
    return value && !strcmp(value, text);
}

static void add_worker(const struct baton_json *worker, struct sums *sums)
{
    double base_s = number(worker, "step_base_s"), row_s = number(worker, "step_row_s");
    double max_rows = number(worker, "step_max_rows");
    if (!is(worker, "state", "ready"))
        return;
    sums->n_ready++;
    sums->kv_tokens +=
        fmax(number(worker, "kv_blocks_total") * number(worker, "kv_block_tokens"), 0);
    sums->n_states += fmax(number(worker, "kv_states_total"), 0);
    /* A worker without measured costs counts as ready, but not in the mean. */
    if (!(base_s >= 0 && row_s >= 0 && base_s + row_s > 0 && max_rows >= 1))
        return;
    sums->n_known++;
    sums->cost.base_s += base_s;
    sums->cost.per_row_s += row_s;
    sums->cost.max_rows += max_rows;
}

static struct baton_stage_cost mean(const struct sums *sums)
{
    double n = fmax(sums->n_known, 1);
    return (struct baton_stage_cost){sums->cost.base_s / n, sums->cost.per_row_s / n,
                                     fmax(sums->cost.max_rows / n, 1)};
}

enum baton_err plan_fleet_read(const struct baton_json *answer, struct plan_fleet_at *fleet,
                               struct baton_why *why)
{
    const struct baton_json *workers = baton_json_get(answer, "workers");
    const struct baton_json *advice = baton_json_get(answer, "advice");
    const struct baton_json *observed = baton_json_get(advice, "observed");
    struct sums prefill = {0}, decode = {0};
    if (baton_json_kind(workers) != BATON_JSON_ARRAY ||
        baton_json_kind(advice) != BATON_JSON_OBJECT)
        return baton_fail(why, BATON_PEER,
                          "the answer of GET /workers has no workers or no advice");
    for (size_t i = 0; i < baton_json_size(workers); i++) {
        const struct baton_json *worker = baton_json_at(workers, i);
        add_worker(worker, is(worker, "role", "prefill") ? &prefill : &decode);
    }
    *fleet =
        (struct plan_fleet_at){.fleet = {.prefill = mean(&prefill),
                                         .decode = mean(&decode),
                                         .n_prefill = prefill.n_ready,
                                         .n_decode = decode.n_ready},
                               .observed = {.rate_per_s = number(observed, "requests_per_s"),
                                            .prompt_tokens = number(observed, "prompt_tokens"),
                                            .output_tokens = number(observed, "output_tokens")},
                               .kv_tokens = decode.kv_tokens / fmax(decode.n_ready, 1),
                               .n_sequences = decode.n_states / 2 / fmax(decode.n_ready, 1)};
    return BATON_OK;
}

/* ---- the request ---- */

static enum baton_err connect_to(const struct baton_http_url *url, int *fd, struct baton_why *why)
{
    struct sockaddr_storage address = {0};
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    enum baton_err err = ld_url_resolve(url, &address, why);
    if (err)
        return err;
    int made = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t n =
        address.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (made < 0 || setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) ||
        connect(made, (const struct sockaddr *)&address, n)) {
        if (made >= 0)
            (void)close(made);
        return baton_fail(why, BATON_IO, "--url: %s: %s", url->authority, strerror(errno));
    }
    *fd = made;
    return BATON_OK;
}

static enum baton_err send_request(int fd, const struct baton_http_url *url, const char *key)
{
    struct baton_buf request;
    baton_buf_init(&request, REQUEST_MAX_BYTES);
    baton_buf_printf(&request, "GET %s/workers HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n",
                     url->path, url->authority);
    if (key)
        baton_buf_printf(&request, "Authorization: Bearer %s\r\n", key);
    baton_buf_puts(&request, "\r\n");
    enum baton_err err = baton_buf_err(&request);
    for (size_t at = 0; !err && at < request.len;) {
        ssize_t n = send(fd, request.data + at, request.len - at, MSG_NOSIGNAL);
        if (n > 0)
            at += (size_t)n;
        else if (errno != EINTR)
            err = BATON_IO;
    }
    baton_buf_fini(&request);
    return err;
}

/* Reads once. AGAIN means that more is to come. */
static enum baton_err read_some(int fd, struct baton_http_response *response,
                                struct baton_buf *body, struct baton_why *why)
{
    char bytes[READ_BYTES];
    size_t n_used;
    ssize_t n = recv(fd, bytes, sizeof bytes, 0);
    if (n < 0 && errno == EINTR)
        return BATON_AGAIN;
    /* EAGAIN means that SO_RCVTIMEO expired. */
    if (n < 0)
        return errno == EAGAIN
                   ? baton_fail(why, BATON_TIMEOUT, "--url: no answer in %d s", PATIENCE_S)
                   : baton_fail(why, BATON_IO, "--url: %s", strerror(errno));
    if (n)
        return baton_http_response_feed(response, bytes, (size_t)n, &n_used, body, why);
    return baton_http_response_eof(response)
               ? baton_fail(why, BATON_PEER, "--url: the answer was cut short")
               : BATON_OK;
}

static enum baton_err exchange(const struct baton_http_url *url, const char *key,
                               struct baton_buf *body, struct baton_why *why)
{
    struct baton_http_response response;
    int fd = -1;
    enum baton_err err = connect_to(url, &fd, why);
    if (err)
        return err;
    baton_http_response_init(&response);
    err = send_request(fd, url, key);
    if (err)
        err = baton_fail(why, err, "--url: %s: the request could not be sent", url->authority);
    else
        while ((err = read_some(fd, &response, body, why)) == BATON_AGAIN)
            ;
    if (!err && response.status != 200)
        err =
            baton_fail(why, BATON_PEER, "--url: GET /workers returned status %d", response.status);
    baton_http_response_fini(&response);
    (void)close(fd);
    return err;
}

enum baton_err plan_fleet_get(const char *text, const char *key, struct plan_fleet_at *fleet,
                              struct baton_why *why)
{
    struct baton_http_url url;
    struct baton_buf body;
    struct baton_json *answer = NULL;
    baton_buf_init(&body, ANSWER_MAX_BYTES);
    enum baton_err err = baton_http_url_parse("--url", text, &url, why);
    if (!err)
        err = exchange(&url, key, &body, why);
    if (!err && baton_json_parse(body.data, body.len, &answer, why))
        err = baton_fail(why, BATON_PEER, "--url: the answer of GET /workers is not JSON");
    if (!err)
        err = plan_fleet_read(answer, fleet, why);
    baton_json_free(answer);
    baton_buf_fini(&body);
    return err;
}
