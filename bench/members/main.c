/* members: simulated workers that join a gateway over real sockets and beat, and do nothing else.
 *
 *     members GATEWAY_URL MODEL_DIR N BEAT_S CONTEXT_TOKENS SECONDS BEGIN_S [TOKEN]
 *
 * Half of them prefill and half decode. Their begins are spread over BEGIN_S seconds; 0: all at
 * once, as when the machines of a rack are switched on. MEMBERS_A_PROCESS share a process, whose
 * NNG closes one socket after another. Prints the number of joined members and the time whenever it
 * changes by a hundred, and at the end. For tests of a fleet's size, not of requests, which they do
 * not answer. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/doorbell.h"
#include "common/base/log.h"
#include "common/base/random.h"
#include "common/wire/member.h"
#include "engine/checkpoint/digest/fingerprint.h"

enum { N_ARGUMENTS = 7, REPORT_EVERY = 100, MEMBERS_A_PROCESS = 20 };
#define STEP_NS (5 * BATON_MS)

struct simulated {
    struct baton_inbox *inbox;
    struct baton_member *member;
    char id[32];
};

static struct baton_doorbell bell;
static struct baton_fingerprint fingerprint;
static const char *cluster_token = "";

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
        .beat_ns = (int64_t)(strtod(argv[3], NULL) * (double)BATON_SECOND),
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
        .kv_layout = fingerprint.config, /* any digest */
        .numeric_class = "0123456789abcdef",
        .kernels = "none",
        .cluster_token = cluster_token,
        .kv_block_tokens = 16,
        .n_context_tokens = (uint32_t)strtoul(argv[4], NULL, 10),
        .n_cores = 1,
        .status = put_status,
        .lost = on_lost,
        .arg = one,
        .wake = baton_doorbell_ring,
        .wake_arg = &bell};
    return baton_member_create(&member, &one->member, why);
}

/* True when the member has joined. */
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

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
}

/* Runs the members [first, last) in their own process, until it is killed. Member i begins at
 * begin_ns + i * apart_ns. */
static int run_some(int first, int last, char **argv, int64_t begin_ns, int64_t apart_ns,
                    atomic_int *n_joined)
{
    static struct simulated all[MEMBERS_A_PROCESS];
    struct baton_why why = {.text = ""};
    struct baton_cache_dirs cache = {0};
    enum baton_err err = baton_log_init("members", "error", NULL);
    if (!err)
        err = baton_doorbell_init(&bell);
    if (!err)
        err = baton_fingerprint_take(argv[1], &cache, true, &fingerprint, &why);
    for (int i = first; i < last && !err; i++)
        err = create(&all[i - first], i, argv, &why);
    if (err) {
        (void)fprintf(stderr, "%s\n", *why.text ? why.text : baton_err_text(err));
        return 1;
    }
    for (;;) {
        int64_t now_ns = baton_now_ns();
        int n = 0;
        for (int i = first; i < last && now_ns >= begin_ns + i * apart_ns; i++)
            n += run(&all[i - first], now_ns);
        atomic_store(n_joined, n);
        nap();
    }
}

static void watch(const atomic_int *n_joined, int n_processes, int n, int64_t begin_ns,
                  double seconds)
{
    int n_reported = 0, sum = 0;
    for (double passed_s = 0; passed_s < seconds;) {
        passed_s = baton_seconds(baton_now_ns() - begin_ns);
        sum = 0;
        for (int i = 0; i < n_processes; i++)
            sum += atomic_load(&n_joined[i]);
        if (abs(sum - n_reported) >= REPORT_EVERY || (sum == n && n_reported != n)) {
            (void)printf("%d joined after %.1f s\n", sum, passed_s);
            (void)fflush(stdout);
            n_reported = sum;
        }
        nap();
    }
    (void)printf("%d joined at the end\n", sum);
}

int main(int argc, char **argv)
{
    int n = argc == N_ARGUMENTS + 1 || argc == N_ARGUMENTS + 2 ? (int)strtol(argv[3], NULL, 10) : 0;
    if (n < 1) {
        (void)fprintf(
            stderr,
            "members GATEWAY_URL MODEL_DIR N BEAT_S CONTEXT_TOKENS SECONDS BEGIN_S [TOKEN]\n");
        return 2;
    }
    if (argc > N_ARGUMENTS + 1)
        cluster_token = argv[N_ARGUMENTS + 1];
    int n_processes = (n + MEMBERS_A_PROCESS - 1) / MEMBERS_A_PROCESS;
    int64_t begin_ns = baton_now_ns() + BATON_SECOND; /* by then every process has started */
    int64_t apart_ns = (int64_t)(strtod(argv[7], NULL) * (double)BATON_SECOND / n);
    atomic_int *n_joined = mmap(NULL, (size_t)n_processes * sizeof *n_joined,
                                PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (n_joined == MAP_FAILED)
        return 1;
    for (int i = 0; i < n_processes; i++) {
        int first = i * MEMBERS_A_PROCESS, last = first + MEMBERS_A_PROCESS;
        pid_t pid = fork();
        if (pid < 0)
            return 1;
        if (pid > 0)
            continue;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* the parent's end also closes its sockets */
        return run_some(first, last < n ? last : n, argv + 1, begin_ns, apart_ns, &n_joined[i]);
    }
    watch(n_joined, n_processes, n, begin_ns, strtod(argv[6], NULL));
    return 0;
}
