#include "worker/host.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/os/open_files.h"
#include "common/base/random.h"
#include "common/wire/frame.h"
#include "common/wire/transport/nng_start.h"
#include "common/wire/transport/peer_tls.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/engine.h"

enum { INBOX_MAX_QUEUED = 1024, MAX_BEAT_S = 60 };

/* Descriptors for a few links to gateways and other workers, NNG's own, and the model's files. */
enum { WORKER_FILES = 256 };

/* Threads of this process: two that judge strangers at the inboxes, the engine's, its first helper,
 * two that back KV caches (the model's, the draft model's), and those that resolve names, serve the
 * KV disk, digest files and compile grammars. */
enum { OWN_THREADS = 10 };

#define BLAS_NAME "openblas"

/* Signal handlers have no argument, so this state is global; a process has one host. */
static volatile sig_atomic_t n_stop_signals, wants_reload;
static struct baton_doorbell *signal_bell;

static void on_stop_signal(int signal_number)
{
    (void)signal_number;
    n_stop_signals++;
    baton_doorbell_ring(signal_bell);
}

static void on_reload_signal(int signal_number)
{
    (void)signal_number;
    wants_reload = 1;
    baton_doorbell_ring(signal_bell);
}

static void catch_signals(struct baton_doorbell *bell)
{
    struct sigaction stop = {.sa_handler = on_stop_signal, .sa_flags = SA_RESTART};
    struct sigaction reload = {.sa_handler = on_reload_signal, .sa_flags = SA_RESTART};
    signal_bell = bell;
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGHUP, &reload, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* a peer that closes its socket must not end the process */
}

void baton_host_wake(void *arg)
{
    struct baton_host *host = arg;
    baton_doorbell_ring(&host->bell);
}

/* Renames the threads that OpenBLAS starts when it is loaded: they have the process's name. The
 * process has no other threads yet. */
static void name_blas_threads(void)
{
    char path[64];
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *entry; tasks && (entry = readdir(tasks));) {
        int tid = (int)strtol(entry->d_name, NULL, 10);
        if (!tid || tid == getpid())
            continue;
        (void)snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid);
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd >= 0) {
            (void)!write(fd, BLAS_NAME, strlen(BLAS_NAME));
            close(fd);
        }
    }
    if (tasks)
        closedir(tasks);
}

static enum baton_err set_id(struct baton_host *host, struct baton_why *why)
{
    char name[64] = "";
    if (host->options->id) {
        if (strlen(host->options->id) >= sizeof host->id)
            return baton_fail(why, BATON_INVALID, "id: longer than %zu bytes", sizeof host->id - 1);
        (void)snprintf(host->id, sizeof host->id, "%s", host->options->id);
        return BATON_OK;
    }
    (void)gethostname(name, sizeof name - 1);
    (void)snprintf(host->id, sizeof host->id, "%s-%.40s",
                   baton_host_decodes(host) ? "decode" : "prefill", name);
    return BATON_OK;
}

static enum baton_err admit_model(void *arg, const struct baton_model *model, struct baton_why *why)
{
    const struct baton_host *host = arg;
    return baton_kv_budget_check(host->kv_options, model, host->options->kv_dtype,
                                 baton_host_decodes(host), host->claim, why);
}

static enum baton_err load_model(struct baton_host *host, struct baton_why *why)
{
    const struct baton_worker_options *options = host->options;
    int64_t begin_ns = baton_now_ns();
    struct baton_checkpoint *checkpoint = NULL;
    struct baton_cache_dirs cache;
    const struct baton_model_options model_options = {
        .dtype = *options->dtype ? options->dtype : NULL,
        .kernels = options->kernels,
        .cache = *options->checkpoint.pack_dir ? &cache : NULL,
        .fingerprint = &host->fingerprint,
        .n_threads = host->cores.n_threads,
        .n_context = (int)options->checkpoint.context_tokens,
        .show_progress = true,
        .admit = admit_model,
        .admit_arg = host,
    };
    baton_cache_dirs_find(options->checkpoint.pack_dir, options->checkpoint.model, &cache);
    enum baton_err err = baton_checkpoint_open(options->checkpoint.model, &checkpoint, why);
    if (err)
        return err;
    host->facts = checkpoint->facts;
    if (options->checkpoint.context_tokens)
        host->facts.n_context_tokens = options->checkpoint.context_tokens;
    err = baton_checkpoint_fingerprint(checkpoint, &cache, true, &host->fingerprint, why);
    if (!err)
        err = baton_model_load(checkpoint, &model_options, &host->model, why);
    baton_checkpoint_close(checkpoint);
    if (err)
        return err;
    const struct baton_model_info *info = baton_model_info(host->model);
    host->model_load_s = baton_seconds(baton_now_ns() - begin_ns);
    baton_log(
        BATON_LOG_INFO, "model_loaded", BATON_S("model", host->facts.name),
        BATON_S("dtype", info->dtype), BATON_S("mostly", info->main_dtype),
        BATON_S("kernels", info->kernels), BATON_S("weights_sha256", host->fingerprint.weights),
        BATON_F("load_s", host->model_load_s), BATON_F("process_age_s", baton_process_age_s()));
    return BATON_OK;
}

static enum baton_err open_adapters(struct baton_host *host, struct baton_why *why)
{
    return baton_adapters_open(&(struct baton_adapters_options){.model = host->model,
                                                                .list = host->options->lora,
                                                                .more = host->options->enable_lora,
                                                                .wake = baton_host_wake,
                                                                .arg = host},
                               &host->adapters, why);
}

static enum baton_err bind_to_node(struct baton_host *host, struct baton_why *why)
{
    const struct baton_numa_options numa = {.numa = host->options->numa,
                                            .cores = host->options->cores,
                                            .id = host->id,
                                            .is_decode = baton_host_decodes(host)};
    enum baton_err err = baton_numa_choose(&numa, &host->numa, why);
    if (!err)
        err = baton_numa_bind(&numa, &host->numa, why);
    if (!err && host->numa.node >= 0)
        (void)snprintf(host->numa_name, sizeof host->numa_name, "node:%d", host->numa.node);
    return err;
}

static enum baton_err init_cores(struct baton_host *host, struct baton_why *why)
{
    return baton_cores_init(&host->cores,
                            &(struct baton_cores_options){.cores = host->options->cores,
                                                          .lease_dir = host->options->lease_dir,
                                                          .n_threads = (int)host->options->threads,
                                                          .role = baton_host_decodes(host)
                                                                      ? BATON_CORE_DECODE
                                                                      : BATON_CORE_PREFILL},
                            why);
}

/* Opens the claim before the model is loaded, so that workers which start together see each other
 * when they size their pools. After a failure this worker sees no others. */
static void open_claim(struct baton_host *host)
{
    struct baton_why why = {""};
    struct baton_memory_left left;
    baton_memory_left(&left);
    if (baton_memory_claim_open(host->options->lease_dir, baton_host_decodes(host), left.group,
                                &host->claim, &why))
        baton_log(BATON_LOG_DEBUG, "no_memory_claim", BATON_S("why", why.text));
}

enum baton_err baton_host_open(struct baton_host *host, const struct baton_worker_options *options,
                               const struct baton_kv_options *kv, Baton__V1__Role role,
                               struct baton_why *why)
{
    *host = (struct baton_host){.options = options,
                                .kv_options = kv,
                                .role = role,
                                .epoch = baton_random_id(),
                                .bell = {.fd = -1}};
    baton_grammars_init(&host->grammars, host);
    enum baton_err err = set_id(host, why);
    if (!err)
        err = bind_to_node(host, why); /* first: threads inherit processors and memory policy */
    if (err)
        return err;
    name_blas_threads();
    baton_open_files_allow(WORKER_FILES, "raise the hard limit (ulimit -Hn)");
    err = baton_nng_start(OWN_THREADS, why);
    if (!err)
        err = baton_cluster_token_open(&host->token, options->fleet.cluster_token,
                                       options->fleet.cluster_token_file, why);
    if (!err)
        err = baton_peer_tls_open(options->fleet.peer_certfile, options->fleet.peer_keyfile,
                                  options->fleet.peer_cafile, why);
    if (!err)
        err = init_cores(host, why);
    if (!err && baton_doorbell_init(&host->bell))
        err = baton_fail(why, BATON_IO, "eventfd failed");
    if (err)
        return err;
    catch_signals(&host->bell);
    open_claim(host);
    err = load_model(host, why);
    if (!err && role == BATON__V1__ROLE__ROLE_DECODE && baton_model_info(host->model)->is_encoder)
        err = baton_fail(why, BATON_INVALID,
                         "--model: \"%s\" is an encoder, which generates no tokens: its fleet has "
                         "prefill workers alone",
                         host->facts.name);
    if (!err)
        err = open_adapters(host, why);
    if (err)
        return err;
    size_t max_bytes =
        baton_frame_size(BATON_FRAME_MAX_HEADER, 0); /* contexts have another inbox */
    return baton_inbox_open(&(struct baton_inbox_options){.url = options->inbox,
                                                          .max_message_bytes = max_bytes,
                                                          .max_queued = INBOX_MAX_QUEUED,
                                                          .wake = baton_host_wake,
                                                          .wake_arg = host},
                            &host->inbox, why);
}

void baton_host_count_inbox(Baton__V1__Status *status, const struct baton_inbox_stats *stats)
{
    status->n_inbox_rejected += stats->n_rejected;
    status->n_strangers_ended +=
        stats->strangers.n_crowded + stats->strangers.n_silent + stats->strangers.n_greedy;
}

enum baton_err baton_host_measure(struct baton_host *host, const struct baton_kv *kv,
                                  struct baton_why *why)
{
    int64_t begin_ns = baton_now_ns();
    if (baton_numeric_class(host->model, kv, &host->numeric_class))
        return baton_fail(why, BATON_NO_MEMORY, "no memory to measure the numeric class");
    baton_log(BATON_LOG_INFO, "numeric_class", BATON_S("class", host->numeric_class.hex),
              BATON_S("kernels", baton_model_info(host->model)->kernels),
              BATON_F("measured_s", baton_seconds(baton_now_ns() - begin_ns)));
    return BATON_OK;
}

static void fill_status(void *arg, Baton__V1__Status *status)
{
    struct baton_host *host = arg;
    struct baton_inbox_stats stats;
    host->hooks.status(host->hooks.arg, status);
    baton_inbox_get_stats(host->inbox, &stats);
    baton_host_count_inbox(status, &stats);
    status->draining = host->draining;
}

static Baton__V1__Adapter **list_adapters(void *arg, size_t *n)
{
    const struct baton_host *host = arg;
    return baton_adapters_list(host->adapters, n);
}

static void gateway_lost(void *arg, uint64_t gateway_epoch)
{
    struct baton_host *host = arg;
    host->hooks.lost(host->hooks.arg, gateway_epoch);
}

int64_t baton_host_silence_ns(const struct baton_host *host)
{
    const struct baton_worker_options *options = host->options;
    double silence_s = options->fleet.silence_s > 0 ? options->fleet.silence_s
                                                    : BATON_SILENT_BEATS * options->fleet.beat_s;
    return (int64_t)(silence_s * (double)BATON_SECOND);
}

/* The longest interval between beats that a gateway of many workers may request: BATON_SILENT_BEATS
 * of them fit into the silence that the operator has set. */
static int64_t max_beat_ns(const struct baton_worker_options *options)
{
    double beat_s =
        options->fleet.silence_s > 0 ? options->fleet.silence_s / BATON_SILENT_BEATS : MAX_BEAT_S;
    return (int64_t)(beat_s * (double)BATON_SECOND);
}

enum baton_err baton_host_join(struct baton_host *host, const char *bulk_url,
                               const struct baton_kv *kv, const struct baton_host_hooks *hooks,
                               struct baton_why *why)
{
    const struct baton_worker_options *options = host->options;
    int64_t beat_ns = (int64_t)(options->fleet.beat_s * (double)BATON_SECOND);
    bool is_prefill = host->role == BATON__V1__ROLE__ROLE_PREFILL;
    host->hooks = *hooks;
    host->kv = kv;
    struct baton_member_options member = {
        .gateways = options->gateway,
        .epoch = host->epoch,
        .beat_ns = beat_ns,
        .max_beat_ns = max_beat_ns(options),
        .pause_ns = (int64_t)(options->pause_s * (double)BATON_SECOND),
        .silence_ns = baton_host_silence_ns(host),
        .retry_ns = 2 * BATON_SECOND,
        .role = host->role,
        .worker_id = host->id,
        .inbox_url = options->advertise ? options->advertise : baton_inbox_url(host->inbox),
        .bulk_url = bulk_url && !is_prefill ? bulk_url : "",
        .parts_url = bulk_url && is_prefill ? bulk_url : "",
        .fingerprint = &host->fingerprint,
        .model = host->facts.name,
        .dtype = baton_model_info(host->model)->dtype,
        .kv_dtype = baton_kv_dtype(kv),
        .kv_layout = baton_kv_layout_name(kv),
        .numeric_class = host->numeric_class.hex,
        .kernels = baton_model_info(host->model)->kernels,
        .numa = host->numa_name,
        .draft_model = host->draft_model ? host->draft_model : "",
        .adapts = baton_adapters_are_on(host->adapters),
        .state_interval = (uint32_t)baton_kv_state_interval(kv),
        .cluster_token = host->token.texts[0],
        .kv_block_tokens = BATON_KV_BLOCK_TOKENS,
        .n_context_tokens = (uint32_t)host->facts.n_context_tokens,
        .n_cores = (uint32_t)host->cores.n,
        .start_to_ready_s = baton_process_age_s(),
        .model_load_s = host->model_load_s,
        .status = fill_status,
        .adapters = list_adapters,
        .lost = gateway_lost,
        .arg = host,
        .wake = baton_host_wake,
        .wake_arg = host,
    };
    return baton_member_create(&member, &host->member, why);
}

static void touch_alive_file(struct baton_host *host, int64_t now_ns)
{
    if (!host->options->alive_file || now_ns < host->alive_next_ns)
        return;
    host->alive_next_ns = now_ns + BATON_SECOND;
    /* O_NONBLOCK: a pipe of that name must not stop this thread. */
    int fd = open(host->options->alive_file,
                  O_WRONLY | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd >= 0) {
        (void)futimens(fd, NULL); /* opening an existing file does not change its time */
        close(fd);
    }
}

static void from_gateway(struct baton_host *host, struct baton_link *gateway,
                         const struct baton_message *message)
{
    const baton_envelope *envelope = message->envelope;
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_LOAD_ADAPTER ||
        envelope->body_case == BATON__V1__ENVELOPE__BODY_DROP_ADAPTER) {
        baton_adapters_order(host->adapters, envelope->src_epoch, envelope);
        return;
    }
    if (envelope->body_case != BATON__V1__ENVELOPE__BODY_DRAIN) {
        host->hooks.from_gateway(host->hooks.arg, gateway, message);
        return;
    }
    host->drain_requested = true;
    baton_log(BATON_LOG_INFO, "drain_requested", BATON_S("gateway", message->peer_host),
              BATON_S("reason", envelope->drain->reason));
}

/* Tells every gateway of a change, and the one that ordered it how the order ended. */
static void tell_adapters(struct baton_host *host)
{
    struct baton_adapter_done done;
    while (baton_adapters_take_done(host->adapters, &done)) {
        Baton__V1__AdapterList list = BATON__V1__ADAPTER_LIST__INIT;
        baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
        list.adapters = baton_adapters_list(host->adapters, &list.n_adapters);
        list.order = done.order;
        done.why.text[BATON_MAX_TEXT_BYTES] = 0;
        list.error = done.why.text;
        envelope.body_case = BATON__V1__ENVELOPE__BODY_ADAPTER_LIST;
        envelope.adapter_list = &list;
        baton_member_renew_hello(host->member);
        if (baton_member_send(host->member, done.gateway_epoch, &envelope))
            baton_log(BATON_LOG_DEBUG, "order_not_answered", BATON_I("order", done.order));
    }
}

static void handle_messages(struct baton_host *host, int64_t now_ns)
{
    struct baton_message message;
    while (baton_inbox_take(host->inbox, &message)) {
        if (message.envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_ACK) {
            if (host->hooks.from_peer)
                host->hooks.from_peer(host->hooks.arg, &message);
        } else {
            struct baton_link *gateway =
                baton_member_receive(host->member, host->inbox, &message, now_ns);
            if (gateway)
                from_gateway(host, gateway, &message);
        }
        baton_message_fini(&message);
    }
}

static void reload_if_requested(struct baton_host *host)
{
    if (!wants_reload)
        return;
    wants_reload = 0; /* before the files are read: a signal during the reload is not lost */
    if (!*host->token.path && !*host->options->fleet.peer_certfile)
        baton_log(BATON_LOG_INFO, "nothing_to_reload",
                  BATON_S("reason", "no cluster-token-file, no peer-certfile"));
    char before[sizeof host->token.texts[0]];
    memcpy(before, host->token.texts[0], sizeof before);
    baton_cluster_token_reload(&host->token);
    if (strcmp(before, host->token.texts[0]) != 0)
        baton_member_renew_hello(host->member);
    baton_peer_tls_reload();
}

/* Whether to return: drained, after drain_s, or at a second signal. Begins to
 * drain if requested. */
static bool is_finished(struct baton_host *host, int64_t now_ns)
{
    if (!n_stop_signals && !host->drain_requested)
        return false;
    if (!host->draining) {
        host->draining = true;
        host->drain_until_ns =
            now_ns + (int64_t)(host->options->fleet.drain_s * (double)BATON_SECOND);
        baton_log(BATON_LOG_INFO, "draining", BATON_F("at_most_s", host->options->fleet.drain_s));
        baton_member_leave(host->member, "stopping");
    }
    return n_stop_signals > 1 || now_ns >= host->drain_until_ns ||
           (host->hooks.is_idle(host->hooks.arg) && baton_member_is_drained(host->member));
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static uint64_t count_unbacked(const struct baton_host *host)
{
    const struct baton_kv *const pools[] = {host->kv, host->draft_kv ? *host->draft_kv : NULL};
    uint64_t n = 0;
    for (size_t i = 0; i < BATON_N_OF(pools); i++) {
        struct baton_kv_memory memory = {0};
        if (pools[i])
            memory = baton_kv_memory(pools[i]);
        n += memory.cap_bytes - memory.backed_bytes;
    }
    return n;
}

void baton_host_run(struct baton_host *host)
{
    int64_t now_ns = baton_now_ns();
    while (!is_finished(host, now_ns)) {
        reload_if_requested(host);
        handle_messages(host, now_ns);
        tell_adapters(host);
        int64_t work_ns = host->hooks.work(host->hooks.arg, now_ns);
        int64_t next_ns = baton_member_tick(host->member, baton_now_ns());
        int64_t cores_ns = baton_cores_tick(&host->cores, now_ns);
        touch_alive_file(host, now_ns);
        /* Backed pages no longer count as free memory, so the claim shrinks as they come. */
        baton_memory_claim_set_unbacked(host->claim, count_unbacked(host));
        next_ns = earlier(next_ns, earlier(work_ns, cores_ns));
        now_ns = baton_now_ns();
        baton_doorbell_wait(&host->bell, next_ns > now_ns ? next_ns - now_ns : 0);
        now_ns = baton_now_ns();
    }
    baton_log(BATON_LOG_INFO, "stopped", BATON_S("worker", host->id));
}

void baton_host_close(struct baton_host *host)
{
    if (host->member)
        baton_member_destroy(host->member);
    if (host->inbox)
        baton_inbox_close(host->inbox);
    baton_peer_tls_close();
    baton_grammar_set_fini(&host->grammars);
    baton_adapters_close(host->adapters);
    if (host->model)
        baton_model_close(host->model);
    baton_memory_claim_close(host->claim);
    baton_cores_fini(&host->cores);
    baton_doorbell_fini(&host->bell);
}
