#include "gateway/observe/span_exporter.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/queue.h"
#include "common/base/random.h"

enum {
    QUEUE_ITEMS = 16 << 10,
    LARGEST_ITEM_BYTES = 64 << 10,
    BACKOFF_MAX_S = 30,
    CUT_OFF_MS = 200 /* from the bell to the thread's end */
};

#define GATHER_NS      BATON_SECOND
#define LEAST_PAUSE_NS (BATON_SECOND / 2)

struct item {
    size_t n, n_spans;
    char text[];
};

struct gw_span_exporter {
    struct gw_otlp_endpoint endpoint;
    char *head, *tail;
    char name[BATON_HTTP_HOST_BYTES + GW_OTLP_PATH_BYTES + 16]; /* of the endpoint, for the log */
    struct baton_queue *queue;
    pthread_t thread;
    struct baton_doorbell hurry; /* ends a pause */
    struct baton_doorbell cut;   /* ends a POST */

    /* shared */
    atomic_bool stopping;
    atomic_size_t queued_bytes;
    atomic_uint_fast64_t counts[GW_N_SPAN_OUTCOMES], n_posts;

    /* the thread's */
    struct gw_otlp_client client;
    struct baton_buf batch;
    size_t n_batch; /* spans */
    int n_failures; /* in a row */
    bool is_cut;
};

static void count(struct gw_span_exporter *exporter, enum gw_span_outcome outcome, size_t n)
{
    atomic_fetch_add_explicit(&exporter->counts[outcome], n, memory_order_relaxed);
}

/* Without a Retry-After: 1, 2, 4 ... up to 30 s, of which a random half is skipped. */
int64_t gw_span_backoff_ns(int n_failures, double retry_after_s, uint64_t random)
{
    int64_t asked_ns = (int64_t)(retry_after_s * (double)BATON_SECOND);
    if (retry_after_s >=
        0) /* at least a pause, so that "Retry-After: 0" cannot cause a busy loop */
        return asked_ns > LEAST_PAUSE_NS ? asked_ns : LEAST_PAUSE_NS;
    int64_t longest_ns =
        n_failures > 5 ? BACKOFF_MAX_S * BATON_SECOND : (1LL << (n_failures - 1)) * BATON_SECOND;
    return longest_ns / 2 + (int64_t)(random % (uint64_t)(longest_ns / 2));
}

/* ---- one batch ---- */

/* Fills a batch until it is full or GATHER_NS after its first item. False: the queue is closed and
 * empty. */
static bool gather(struct gw_span_exporter *exporter)
{
    struct baton_buf *batch = &exporter->batch;
    int64_t until_ns = 0;
    void *taken;
    baton_buf_reset(batch);
    baton_buf_puts(batch, exporter->head);
    exporter->n_batch = 0;
    while (batch->len < GW_SPANS_BATCH_BYTES) {
        int64_t left_ns = exporter->n_batch ? until_ns - baton_now_ns() : -1;
        if (exporter->n_batch && left_ns < 0)
            left_ns = 0;
        if (baton_queue_take(exporter->queue, left_ns, &taken))
            break;
        struct item *item = taken;
        if (!exporter->n_batch)
            until_ns = baton_now_ns() + GATHER_NS;
        else
            baton_buf_putc(batch, ',');
        baton_buf_append(batch, item->text, item->n);
        exporter->n_batch += item->n_spans;
        atomic_fetch_sub_explicit(&exporter->queued_bytes, item->n, memory_order_relaxed);
        free(item);
    }
    baton_buf_puts(batch, exporter->tail);
    return exporter->n_batch > 0;
}

static void drop(struct gw_span_exporter *exporter, enum gw_span_outcome outcome,
                 const char *reason)
{
    static struct baton_log_limit limit; /* used on the exporter's thread only */
    count(exporter, outcome, exporter->n_batch);
    baton_log_limited(&limit, BATON_LOG_WARN, "spans_dropped", BATON_S("endpoint", exporter->name),
                      BATON_I("spans", exporter->n_batch), BATON_S("reason", reason));
}

/* Counts the final answer to a batch, and logs the spans that it rejects. */
static void settle(struct gw_span_exporter *exporter, const struct gw_otlp_answer *answer)
{
    char reason[240];
    bool is_taken = answer->status >= 200 && answer->status < 300;
    size_t n_rejected = answer->n_rejected < (int64_t)exporter->n_batch ? (size_t)answer->n_rejected
                                                                        : exporter->n_batch;
    (void)snprintf(reason, sizeof reason, "status %d%s%s", answer->status,
                   *answer->message ? ": " : "", answer->message);
    if (is_taken)
        count(exporter, GW_SPANS_sent, exporter->n_batch - n_rejected);
    if (is_taken && !n_rejected)
        return;
    if (is_taken)
        exporter->n_batch = n_rejected;
    drop(exporter, is_taken ? GW_SPANS_rejected : GW_SPANS_refused, reason);
}

static void note_answer(struct gw_span_exporter *exporter)
{
    if (exporter->n_failures)
        baton_log(BATON_LOG_INFO, "spans_sent_again", BATON_S("endpoint", exporter->name),
                  BATON_I("failures", exporter->n_failures));
    exporter->n_failures = 0;
}

/* OK: the batch is done. AGAIN: send it again later. CANCELED: the gateway ends, send nothing. */
static enum baton_err try_batch(struct gw_span_exporter *exporter, struct gw_otlp_answer *answer,
                                struct baton_why *why)
{
    *answer = (struct gw_otlp_answer){.retry_after_s = -1};
    atomic_fetch_add_explicit(&exporter->n_posts, 1, memory_order_relaxed);
    enum baton_err err =
        gw_otlp_post(&exporter->client, exporter->batch.data, exporter->batch.len, answer, why);
    if (err == BATON_CANCELED)
        return err;
    if (!err && gw_otlp_is_retryable(answer->status))
        return baton_fail(why, BATON_AGAIN, "status %d%s%s", answer->status,
                          *answer->message ? ": " : "", answer->message);
    if (err && !*why->text)
        (void)baton_fail(why, err, "%s", baton_err_text(err));
    if (err)
        return BATON_AGAIN;
    note_answer(exporter);
    settle(exporter, answer);
    return BATON_OK;
}

static void deliver(struct gw_span_exporter *exporter)
{
    int64_t until_ns = baton_now_ns() + GW_SPANS_PATIENCE_S * BATON_SECOND;
    struct gw_otlp_answer answer;
    for (;;) {
        struct baton_why why = {""};
        bool is_last =
            atomic_load(&exporter->stopping); /* read before the try: one try follows it */
        enum baton_err err = exporter->is_cut ? BATON_CANCELED : try_batch(exporter, &answer, &why);
        if (!err)
            return;
        exporter->is_cut = err == BATON_CANCELED;
        if (is_last || exporter->is_cut) {
            drop(exporter, GW_SPANS_stopped, "the gateway ends");
            return;
        }
        int64_t pause_ns =
            gw_span_backoff_ns(++exporter->n_failures, answer.retry_after_s, baton_random_id());
        if (baton_now_ns() + pause_ns > until_ns) {
            drop(exporter, GW_SPANS_unreachable, why.text);
            return;
        }
        static struct baton_log_limit limit; /* used on the exporter's thread only */
        baton_log_limited(&limit, BATON_LOG_WARN, "spans_not_sent",
                          BATON_S("endpoint", exporter->name), BATON_S("reason", why.text),
                          BATON_F("again_in_s", baton_seconds(pause_ns)));
        baton_doorbell_wait(&exporter->hurry, pause_ns);
    }
}

static void *run(void *arg)
{
    struct gw_span_exporter *exporter = arg;
    (void)pthread_setname_np(pthread_self(), "baton-spans");
    while (gather(exporter))
        deliver(exporter);
    gw_otlp_client_close(&exporter->client);
    return NULL;
}

/* ---- functions of the loop thread ---- */

static void destroy(struct gw_span_exporter *exporter)
{
    baton_queue_destroy(exporter->queue);
    baton_doorbell_fini(&exporter->hurry);
    baton_doorbell_fini(&exporter->cut);
    baton_buf_fini(&exporter->batch);
    free(exporter->head);
    free(exporter->tail);
    free(exporter);
}

/* Blocks all signals in the new thread, because libuv must handle them on the loop thread. */
static enum baton_err start_thread(struct gw_span_exporter *exporter, struct baton_why *why)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&exporter->thread, NULL, run, exporter);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure ? baton_fail(why, BATON_IO, "no thread for spans: %s", strerror(failure))
                   : BATON_OK;
}

static enum baton_err fill(struct gw_span_exporter *exporter, struct baton_why *why)
{
    const struct gw_otlp_endpoint *endpoint = &exporter->endpoint;
    (void)snprintf(exporter->name, sizeof exporter->name, "%s://%s%s",
                   endpoint->url.tls ? "https" : "http", endpoint->url.authority, endpoint->path);
    baton_buf_init(&exporter->batch, GW_SPANS_BATCH_BYTES + 2 * LARGEST_ITEM_BYTES);
    exporter->queue = baton_queue_create(QUEUE_ITEMS);
    bool is_filled = exporter->queue && exporter->head && exporter->tail;
    enum baton_err err = is_filled ? BATON_OK : BATON_NO_MEMORY;
    if (!err)
        err = baton_doorbell_init(&exporter->hurry);
    if (!err)
        err = baton_doorbell_init(&exporter->cut);
    gw_otlp_client_init(&exporter->client, endpoint, &exporter->cut);
    return err ? err : start_thread(exporter, why);
}

enum baton_err gw_span_exporter_start(const struct gw_otlp_endpoint *endpoint, const char *head,
                                      const char *tail, struct gw_span_exporter **exporter,
                                      struct baton_why *why)
{
    struct gw_span_exporter *started = calloc(1, sizeof *started);
    if (!started)
        return BATON_NO_MEMORY;
    started->endpoint = *endpoint;
    started->head = strdup(head);
    started->tail = strdup(tail);
    started->hurry.fd = started->cut.fd = -1;
    enum baton_err err = fill(started, why);
    if (err)
        destroy(started);
    else
        *exporter = started;
    return err;
}

static bool ends_within(struct gw_span_exporter *exporter, int64_t ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + ms * BATON_MS;
    until.tv_sec += ns / BATON_SECOND;
    until.tv_nsec = ns % BATON_SECOND;
    return !pthread_clockjoin_np(exporter->thread, NULL, CLOCK_MONOTONIC, &until);
}

void gw_span_exporter_stop(struct gw_span_exporter *exporter)
{
    if (!exporter)
        return;
    atomic_store(&exporter->stopping, true);
    baton_queue_close(exporter->queue);
    baton_doorbell_ring(&exporter->hurry);
    bool has_ended = ends_within(exporter, GW_SPANS_FLUSH_MS);
    if (!has_ended)
        baton_doorbell_ring(&exporter->cut);
    if (!has_ended && !ends_within(exporter, CUT_OFF_MS)) {
        /* The thread is inside the resolver, which nothing can interrupt. It ends with the process,
         * and its memory is deliberately not freed before. */
        (void)pthread_detach(exporter->thread);
        return;
    }
    gw_otlp_endpoint_fini(&exporter->endpoint);
    destroy(exporter);
}

void gw_span_exporter_put(struct gw_span_exporter *exporter, const char *text, size_t n,
                          size_t n_spans)
{
    static struct baton_log_limit limit; /* used on the loop thread only */
    bool fits = n <= LARGEST_ITEM_BYTES &&
                gw_span_exporter_queued_bytes(exporter) + n <= GW_SPANS_QUEUED_BYTES;
    struct item *item = fits ? malloc(sizeof *item + n) : NULL;
    if (item) {
        item->n = n;
        item->n_spans = n_spans;
        memcpy(item->text, text, n);
        atomic_fetch_add_explicit(&exporter->queued_bytes, n, memory_order_relaxed);
        if (!baton_queue_put(exporter->queue, item))
            return;
        atomic_fetch_sub_explicit(&exporter->queued_bytes, n, memory_order_relaxed);
        free(item);
    }
    count(exporter, GW_SPANS_queue_full, n_spans);
    baton_log_limited(&limit, BATON_LOG_WARN, "spans_dropped", BATON_S("endpoint", exporter->name),
                      BATON_I("spans", n_spans), BATON_S("reason", "the queue is full"));
}

uint64_t gw_span_exporter_count(const struct gw_span_exporter *exporter,
                                enum gw_span_outcome outcome)
{
    return exporter ? atomic_load_explicit(&exporter->counts[outcome], memory_order_relaxed) : 0;
}

uint64_t gw_span_exporter_n_posts(const struct gw_span_exporter *exporter)
{
    return exporter ? atomic_load_explicit(&exporter->n_posts, memory_order_relaxed) : 0;
}

size_t gw_span_exporter_queued_bytes(const struct gw_span_exporter *exporter)
{
    return exporter ? atomic_load_explicit(&exporter->queued_bytes, memory_order_relaxed) : 0;
}
