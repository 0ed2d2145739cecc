/* members: simulated workers that join a gateway over real sockets and beat, and do nothing else.
 *
 *     members GATEWAY_URL MODEL_DIR N BEAT_S CONTEXT_TOKENS SECONDS
 *
 * Half of them say that they prefill, half that they decode. They begin one every 5 ms: a gateway
 * lets 32 connections of one address wait to be known (common/wire/strangers.h). Prints how many are
 * joined whenever that changes by a hundred, and at the end. For a fleet's size, not for requests:
 * they answer none. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/doorbell.h"
#include "common/base/log.h"
#include "common/base/random.h"
#include "common/checkpoint/fingerprint.h"
#include "common/wire/member.h"

enum { N_ARGUMENTS = 6, TELL_EVERY = 100 };
#define STEP_NS (5 * BATON_MS)

struct simulated {
    struct baton_inbox *inbox;
    struct baton_member *member;
    char id[32];
};

static struct baton_doorbell bell;
static struct baton_fingerprint fingerprint;

static void put_status(void *arg, Baton__V1__Status *status)
{
    (void)arg;
    status->kv_blocks_total = status->kv_blocks_free = 512;
}

static void on_lost(void *arg, uint64_t gateway_epoch)
{
    (void)gateway_epoch;
    (void)fprintf(stderr, "%s lost its gateway\n", ((const struct simulated *)arg)->id);
}

static enum baton_err create(struct simulated *one, int i, char **argv, struct baton_why *why)
{
    bool decodes = i % 2;
    (void)snprintf(one->id, sizeof one->id, "%s-%d", decodes ? "decode" : "prefill", i);
    const struct baton_inbox_options inbox = {.url = "tcp://127.0.0.1:0",
                                              .max_queued = 64,
                                              .patience_ns = 5 * BATON_SECOND,
                                              .wake = baton_doorbell_ring,
                                              .wake_arg = &bell};
    enum baton_err err = baton_inbox_open(&inbox, &one->inbox, why);
    if (err)
        return err;
    const struct baton_member_options member = {
        .gateways = argv[0],
        .epoch = baton_random_id(),
        .beat_ns = (int64_t)(atof(argv[3]) * (double)BATON_SECOND),
        .max_beat_ns = 60 * BATON_SECOND,
        .silence_ns = 30 * BATON_SECOND,
        .retry_ns = 2 * BATON_SECOND,
        .role = decodes ? BATON__V1__ROLE__ROLE_DECODE : BATON__V1__ROLE__ROLE_PREFILL,
        .worker_id = one->id,
        .inbox_url = baton_inbox_url(one->inbox),
        .bulk_url = decodes ? "tcp://127.0.0.1:9" : "",
        .fingerprint = &fingerprint,
        .model = "simulated",
        .dtype = "f32",
        .kv_dtype = "f32",
        .kv_layout = "",
        .numeric_class = "",
        .kernels = "none",
        .cluster_token = "",
        .kv_block_tokens = 16,
        .n_context_tokens = (uint32_t)atoi(argv[4]),
        .n_cores = 1,
        .status = put_status,
        .lost = on_lost,
        .arg = one,
        .wake = baton_doorbell_ring,
        .wake_arg = &bell};
    return baton_member_create(&member, &one->member, why);
}

/* True when the member is joined. */
static bool run(struct simulated *one, int64_t now_ns)
{
    struct baton_message message;
    while (baton_inbox_take(one->inbox, &message)) {
        (void)baton_member_receive(one->member, one->inbox, &message, now_ns);
        baton_message_fini(&message);
    }
    (void)baton_member_tick(one->member, now_ns);
    return baton_member_n_joined(one->member) > 0;
}

static void run_all(struct simulated *all, int n, double seconds)
{
    int64_t begin_ns = baton_now_ns(),
            end_ns = begin_ns + (int64_t)(seconds * (double)BATON_SECOND);
    int n_told = 0, n_joined = 0;
    for (int64_t now_ns = begin_ns; now_ns < end_ns; now_ns = baton_now_ns()) {
        int64_t n_begun = (now_ns - begin_ns) / STEP_NS;
        n_joined = 0;
        for (int i = 0; i < n && i < n_begun; i++)
            n_joined += run(&all[i], now_ns);
        if (abs(n_joined - n_told) >= TELL_EVERY || (n_joined == n && n_told != n)) {
            (void)printf("%d joined\n", n_joined);
            (void)fflush(stdout);
            n_told = n_joined;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
    }
    (void)printf("%d joined at the end\n", n_joined);
}

int main(int argc, char **argv)
{
    struct baton_why why = {.text = ""};
    struct baton_cache_dirs cache = {0};
    int n = argc == N_ARGUMENTS + 1 ? atoi(argv[3]) : 0;
    if (n < 1) {
        (void)fprintf(stderr, "members GATEWAY_URL MODEL_DIR N BEAT_S CONTEXT_TOKENS SECONDS\n");
        return 2;
    }
    struct simulated *all = calloc((size_t)n, sizeof *all);
    enum baton_err err = all ? BATON_OK : BATON_NO_MEMORY;
    if (!err)
        err = baton_log_init("members", "error", NULL);
    if (!err)
        err = baton_doorbell_init(&bell);
    if (!err)
        err = baton_fingerprint_take(argv[2], &cache, true, &fingerprint, &why);
    for (int i = 0; i < n && !err; i++)
        err = create(&all[i], i, argv + 1, &why);
    if (err)
        (void)fprintf(stderr, "%s\n", *why.text ? why.text : baton_err_text(err));
    else
        run_all(all, n, atof(argv[6]));
    free(all); /* the process ends: its sockets go with it */
    return err ? 1 : 0;
}
