/* baton batch FILE: sends many requests from a file, as many at once as the server accepts. */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/batch/pace.h"
#include "tools/baton/batch/call.h"
#include "tools/baton/batch/file.h"
#include "tools/baton/commands.h"
#include "tools/baton/talk/ask.h"
#include "tools/support/cli.h"

/* One thread serves one request at a time: small stacks keep 1024 of them cheap. */
enum { HTTP_OK = 200, MAX_TRIES = 3, STACK_BYTES = 1 << 20, MOST_IN_FLIGHT = 1024 };
#define REPORT_EVERY_NS (10 * BATON_SECOND)

struct options {
    struct bt_ask_options ask; /* only the fields that find the server are set */
    const char *out;
    int64_t max_in_flight;
    double timeout_s, patience_s;
};

static const struct baton_option option_table[] = {
    BATON_ROW_TEXT(struct options, out, "out", NULL, "file to which answers are appended"),
    BATON_ROW_TEXT(struct options, ask.url, "url", NULL,
                   "server URL: http:// or https://HOST[:PORT][/PATH]; unset: the fleet of "
                   "--state, else http://127.0.0.1:8000"),
    BATON_ROW_TEXT(struct options, ask.state, "state", NULL,
                   "state directory of the fleet, as given to `baton up`"),
    BATON_ROW_TEXT(struct options, ask.api_keys, "api-keys", NULL,
                   "file whose first API key is sent; unset: the fleet's own"),
    BATON_ROW_INT(struct options, max_in_flight, "max-in-flight", "64", 1, MOST_IN_FLIGHT,
                  "requests", "most requests at once; fewer when the server rejects some"),
    BATON_ROW_REAL(struct options, timeout_s, "timeout-s", "3600", 1, 86400, "s",
                   "time without a byte of a response after which a request is sent again"),
    BATON_ROW_REAL(
        struct options, patience_s, "patience-s", "600", 0, 86400, "s",
        "time that an absent server, or one that rejects everything, may take to come back"),
};

static const char *operand[1];
static struct baton_config config;

struct batch {
    const struct options *options;
    struct bt_server server;
    uint64_t run_id;

    pthread_mutex_t lock; /* guards all fields below */
    pthread_cond_t changed;
    struct bt_batch_file file;
    struct baton_pace pace;
    pthread_t threads[MOST_IN_FLIGHT]; /* [n_started] */
    int n_started, n_threads;          /* n_threads counts those that have not ended */
    bool is_over;                      /* no line is left, or an error ended the run */
    enum baton_err err;
    struct baton_why why; /* explains err */
    uint64_t n_answered, n_failed;
    int64_t begin_ns, answered_ns, reported_ns;
};

/* ---- one line ---- */

/* Ends the run; the first reason stays. Lines that are in flight are still answered. */
static void end_run(struct batch *batch, enum baton_err err, const char *reason)
{
    if (!batch->err) {
        batch->err = err;
        (void)snprintf(batch->why.text, sizeof batch->why.text, "%s", reason);
    }
    batch->is_over = true;
    pthread_cond_broadcast(&batch->changed);
}

/* The outcome of one try of a request. */
enum verdict { ANSWERED, AGAIN, HOPELESS };

/* Decides by the status whether another try may help. A server error is tried MAX_TRIES times. */
static enum verdict judge(int status, int n_tries)
{
    /* The same key sends every other line too, and would be refused again. */
    if (status == 401 || status == 403)
        return HOPELESS;
    if (status == 429 || status == 503)
        return AGAIN;
    /* 501 cannot change, and after 504 the same request would exceed the time limit again. */
    return status >= 500 && status != 501 && status != 504 && n_tries < MAX_TRIES ? AGAIN
                                                                                  : ANSWERED;
}

static void keep_answer(struct batch *batch, const struct baton_batch_request *request,
                        const struct bt_caller *caller, const char *id)
{
    struct baton_buf line;
    struct baton_why why = {.text = ""};
    baton_buf_init(&line, 2 * caller->body.max_bytes);
    /* Formatted without the lock, since answers may be large. */
    baton_batch_put_answer(&line, request, caller->response.status, id, &caller->body);
    pthread_mutex_lock(&batch->lock);
    enum baton_err err = bt_batch_file_append(&batch->file, &line, &why);
    if (err)
        end_run(batch, err, why.text);
    batch->n_answered += !err;
    batch->n_failed += !err && caller->response.status != HTTP_OK;
    batch->answered_ns = baton_now_ns();
    pthread_mutex_unlock(&batch->lock);
    baton_buf_fini(&line);
}

/* Waits until the pace allows one more request. False when the run is over. */
static bool begin_try(struct batch *batch)
{
    pthread_mutex_lock(&batch->lock);
    while (!batch->is_over && !baton_pace_may_begin(&batch->pace))
        pthread_cond_wait(&batch->changed, &batch->lock);
    bool may = !batch->is_over;
    if (may)
        baton_pace_begin(&batch->pace);
    pthread_mutex_unlock(&batch->lock);
    return may;
}

static void end_try(struct batch *batch, enum baton_err err, enum verdict verdict)
{
    pthread_mutex_lock(&batch->lock);
    if (err)
        baton_pace_failed(&batch->pace);
    else if (verdict == AGAIN)
        baton_pace_refused(&batch->pace);
    else
        baton_pace_answered(&batch->pace);
    pthread_cond_broadcast(&batch->changed);
    pthread_mutex_unlock(&batch->lock);
}

/* Sleeps, but wakes when the run ends. Ends the run if nothing was answered for too long. */
static void wait_s(struct batch *batch, double seconds, const char *reason)
{
    struct timespec until;
    char text[sizeof batch->why.text];
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t end_ns =
        until.tv_sec * BATON_SECOND + until.tv_nsec + (int64_t)(seconds * (double)BATON_SECOND);
    until = (struct timespec){.tv_sec = end_ns / BATON_SECOND, .tv_nsec = end_ns % BATON_SECOND};
    pthread_mutex_lock(&batch->lock);
    double quiet_s = baton_seconds(baton_now_ns() - batch->answered_ns);
    if (quiet_s > batch->options->patience_s) {
        (void)snprintf(text, sizeof text, "nothing was answered for %.0f s (--patience-s): %.300s",
                       quiet_s, reason);
        end_run(batch, BATON_TIMEOUT, text);
    }
    while (!batch->is_over && !pthread_cond_timedwait(&batch->changed, &batch->lock, &until))
        ;
    pthread_mutex_unlock(&batch->lock);
}

static void describe_refusal(const struct bt_caller *caller, char *text, size_t size)
{
    char message[300];
    const struct bt_answer answer = {.body = caller->body};
    bt_answer_reason(&answer, message, sizeof message);
    (void)snprintf(text, size, "HTTP %d: %s", caller->response.status, message);
}

/* Repeats a request until it has an answer or the run is over. */
static void get_answer(struct batch *batch, struct bt_caller *caller,
                       const struct baton_batch_request *request)
{
    char id[BATON_BATCH_ID_BYTES], reason[400];
    /* All tries share one id, so that the server's logs show them together. */
    (void)snprintf(id, sizeof id, "batch-%08" PRIx64 "-%" PRIu64, batch->run_id & UINT32_MAX,
                   request->line);
    for (int n_tries = 0; begin_try(batch); n_tries++) {
        struct baton_why why = {.text = ""};
        enum verdict verdict = AGAIN;
        enum baton_err err = bt_caller_post(caller, request->url, id, &request->body, &why);
        if (!err)
            verdict = judge(caller->response.status, n_tries + 1);
        if (!err && verdict == ANSWERED)
            keep_answer(batch, request, caller, id);
        /* The slot is free while this request waits: another line may use it. */
        end_try(batch, err, verdict);
        if (verdict == ANSWERED)
            return;
        if (err)
            (void)snprintf(reason, sizeof reason, "%.390s",
                           *why.text ? why.text : baton_err_text(err));
        else
            describe_refusal(caller, reason, sizeof reason);
        if (verdict == HOPELESS) {
            pthread_mutex_lock(&batch->lock);
            end_run(batch, BATON_PEER, reason);
            pthread_mutex_unlock(&batch->lock);
        }
        wait_s(batch, baton_pace_wait_s(err ? -1 : caller->response.retry_after_s, n_tries),
               reason);
    }
}

/* ---- threads ---- */

/* Reads the next line without an answer. False when none is left. */
static bool next_line(struct batch *batch, struct baton_buf *line,
                      struct baton_batch_request *request)
{
    struct baton_why why = {.text = ""};
    pthread_mutex_lock(&batch->lock);
    enum baton_err err =
        batch->is_over ? BATON_NOT_FOUND : bt_batch_file_next(&batch->file, line, request, &why);
    if (err && err != BATON_NOT_FOUND)
        end_run(batch, err, why.text);
    pthread_mutex_unlock(&batch->lock);
    return !err;
}

static void *serve(void *arg)
{
    struct batch *batch = arg;
    struct bt_caller caller;
    struct baton_batch_request request;
    struct baton_buf line;
    bt_caller_init(&caller, &batch->server, (int)(batch->options->timeout_s * 1e3));
    baton_batch_request_init(&request);
    baton_buf_init(&line, BATON_BATCH_LINE_MAX_BYTES);
    while (next_line(batch, &line, &request))
        get_answer(batch, &caller, &request);
    baton_buf_fini(&line);
    baton_batch_request_fini(&request);
    bt_caller_fini(&caller);
    pthread_mutex_lock(&batch->lock);
    batch->n_threads--;
    pthread_cond_broadcast(&batch->changed);
    pthread_mutex_unlock(&batch->lock);
    return NULL;
}

static enum baton_err start_threads(struct batch *batch, struct baton_why *why)
{
    pthread_attr_t attr;
    int failure = pthread_attr_init(&attr);
    if (!failure)
        failure = pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_mutex_lock(&batch->lock); /* no thread may end before it is counted */
    while (!failure && batch->n_started < batch->options->max_in_flight) {
        failure = pthread_create(&batch->threads[batch->n_started], &attr, serve, batch);
        batch->n_started += !failure;
    }
    batch->n_threads = batch->n_started;
    pthread_mutex_unlock(&batch->lock);
    (void)pthread_attr_destroy(&attr);
    return batch->n_started ? BATON_OK
                            : baton_fail(why, BATON_NO_MEMORY, "no thread: %s", strerror(failure));
}

/* ---- progress ---- */

static void put_time(char *text, size_t size, double seconds)
{
    if (seconds < 120)
        (void)snprintf(text, size, "%.0f s", seconds);
    else if (seconds < 7200)
        (void)snprintf(text, size, "%.0f min", seconds / 60);
    else
        (void)snprintf(text, size, "%.1f h", seconds / 3600);
}

/* Rewrites one line on a terminal; elsewhere writes a line every ten seconds. */
static void report_progress(struct batch *batch, int64_t now_ns)
{
    char left[32] = "?";
    bool on_terminal = isatty(STDERR_FILENO);
    double share = batch->file.in_bytes
                       ? (double)batch->file.lines.offset_bytes / (double)batch->file.in_bytes
                       : 1;
    double took_s = baton_seconds(now_ns - batch->begin_ns);
    if (!on_terminal && now_ns - batch->reported_ns < REPORT_EVERY_NS)
        return;
    batch->reported_ns = now_ns;
    /* The share of the file's bytes that were read estimates the rest: the number of lines is
     * unknown. */
    if (share > 0 && batch->n_answered)
        put_time(left, sizeof left, took_s * (1 - share) / share);
    (void)fprintf(stderr,
                  "%s%" PRIu64 " answered, %" PRIu64 " of them with an error, %d in flight, "
                  "%.0f %% read, %.1f/s, %s left%s",
                  on_terminal ? "\r\033[K" : "", batch->n_answered, batch->n_failed,
                  batch->pace.n_in_flight, 100 * share, (double)batch->n_answered / took_s, left,
                  on_terminal ? "" : "\n");
}

/* Each second forces the answers to the disk and reports progress. */
static void watch(struct batch *batch)
{
    pthread_mutex_lock(&batch->lock);
    while (batch->n_threads) {
        struct timespec until;
        struct baton_why why = {.text = ""};
        uint64_t n_bytes = batch->file.out_bytes;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        /* Loops until the second is over, since each answer signals `changed` too. */
        while (batch->n_threads && !pthread_cond_timedwait(&batch->changed, &batch->lock, &until))
            ;
        if (n_bytes == batch->file.out_bytes)
            continue;
        /* Without the lock: fdatasync may take long, and threads must be able to append
         * meanwhile. */
        pthread_mutex_unlock(&batch->lock);
        enum baton_err err = bt_batch_file_sync(&batch->file, &why);
        pthread_mutex_lock(&batch->lock);
        if (err)
            end_run(batch, err, why.text);
        report_progress(batch, baton_now_ns());
    }
    pthread_mutex_unlock(&batch->lock);
    if (isatty(STDERR_FILENO))
        (void)fputs("\r\033[K", stderr);
}

/* ---- the command ---- */

static void report_end(const struct batch *batch)
{
    const struct bt_batch_file *file = &batch->file;
    char took[32];
    put_time(took, sizeof took, baton_seconds(baton_now_ns() - batch->begin_ns));
    (void)fprintf(stderr,
                  "%" PRIu64 " answered in %s, %" PRIu64 " of them with an error; %" PRIu64
                  " answered before; %" PRIu64 " bad lines\n",
                  batch->n_answered, took, batch->n_failed, file->n_answered, file->n_bad);
    if (batch->err)
        (void)fprintf(stderr, "not all lines are answered: run the same command again to go on\n");
    else if (batch->n_failed || file->n_bad)
        bt_exit_status = BATON_EXIT_WITH_ERRORS;
}

static enum baton_err init_batch(struct batch *batch, const struct options *options,
                                 struct baton_why *why)
{
    pthread_condattr_t attr;
    memset(batch, 0, sizeof *batch);
    bt_batch_file_init(&batch->file);
    batch->options = options;
    batch->run_id = baton_random_id();
    batch->pace = baton_pace_of((int)options->max_in_flight);
    batch->begin_ns = batch->answered_ns = batch->reported_ns = baton_now_ns();
    (void)pthread_condattr_init(&attr);
    /* Deadlines are monotonic: they must not move when the clock is set. */
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&batch->changed, &attr);
    (void)pthread_mutex_init(&batch->lock, NULL);
    (void)pthread_condattr_destroy(&attr);
    enum baton_err err = bt_ask_find_server(&options->ask, &batch->server, why);
    return err ? err : bt_batch_file_open(&batch->file, operand[0], options->out, why);
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    struct batch *batch = malloc(sizeof *batch);
    if (!config.n_operands || !options->out) {
        free(batch);
        return baton_fail(why, BATON_INVALID, "baton batch FILE.jsonl --out OUT.jsonl");
    }
    if (!batch)
        return BATON_NO_MEMORY;
    /* A write to a closed connection must return EPIPE, which is retried, not end the program. */
    (void)signal(SIGPIPE, SIG_IGN);
    enum baton_err err = init_batch(batch, options, why);
    if (!err)
        err = start_threads(batch, why);
    if (!err) {
        watch(batch);
        for (int i = 0; i < batch->n_started; i++)
            (void)pthread_join(batch->threads[i], NULL);
        report_end(batch);
        err = batch->err ? baton_fail(why, batch->err, "%s", batch->why.text)
                         : bt_batch_file_sync(&batch->file, why);
    }
    bt_batch_file_close(&batch->file);
    free(batch);
    return err;
}

enum baton_err bt_batch(int argc, char **argv, struct baton_why *why)
{
    struct options options = {.out = NULL};
    config = (struct baton_config){
        .process = "baton batch",
        .summary = "answers a file of requests in OpenAI's batch format, as batch priority",
        .env_prefix = "BATON",
        .options = option_table,
        .n_options = BATON_N_OF(option_table),
        .operands = "FILE",
        .operand = operand,
        .max_operands = 1};
    return cli_run(&config, &options, argc, argv, run, why);
}
