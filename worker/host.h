/* The host of a worker, shared by prefill and decode: options, the model, the inbox, membership,
 * signals, and the main thread's loop.
 *
 * A worker has NNG's I/O threads, this main thread (messages, hand-off, heartbeats) and one engine
 * thread of its own (compute). The main thread never computes, so heartbeats are never late.
 *
 *     SERVING --SIGTERM, Drain--> DRAINING --idle, or drain_s later--> returned
 *
 * Draining begins with a Goodbye to every gateway; running work continues. A second SIGTERM ends
 * the process at once. SIGHUP reads the cluster token's file and the peer certificate again.
 *
 * Ownership: the host owns model, inbox and membership; hooks borrow them.
 * Threading: everything on the main thread; only baton_host_wake may be called from any thread.
 * Errors:    open: as its parts, with a readable reason.
 */
#ifndef BATON_WORKER_HOST_H
#define BATON_WORKER_HOST_H

#include "common/base/doorbell.h"
#include "common/base/process.h"
#include "common/wire/cluster_token.h"
#include "common/wire/fleet_options.h"
#include "common/wire/member.h"
#include "engine/checkpoint/facts.h"
#include "engine/checkpoint/options.h"
#include "engine/engine.h"
#include "worker/adapters.h"
#include "worker/cores/cores.h"
#include "worker/cores/numa.h"
#include "worker/grammars.h"
#include "worker/kv/budget.h"
#include "worker/kv/memory_claims.h"

struct baton_worker_options {
    struct baton_checkpoint_options checkpoint;
    struct baton_fleet_options fleet;
    struct baton_log_options log;
    const char *dtype, *kv_dtype, *kernels, *gateway, *id, *inbox, *advertise;
    const char *cores, *numa, *lease_dir, *alive_file;
    int64_t threads;
    double pause_s, stall_s, canary_s;
    const char *lora;
    int enable_lora;
};

/* Rows of a worker's option table; in is the struct baton_worker_options inside its struct. */
#define BATON_WORKER_OPTIONS(type, in)                                                             \
    BATON_CHECKPOINT_OPTIONS(type, in.checkpoint),                                                 \
        BATON_ROW_TEXT(type, in.dtype, "dtype", "", BATON_DTYPE_HELP),                             \
        BATON_ROW_TEXT(type, in.kv_dtype, "kv-dtype", "auto",                                      \
                       "element type of the KV cache: f32, f16, q8 or auto (f32 beside f32 "       \
                       "weights, else f16)"),                                                      \
        BATON_ROW_TEXT(type, in.lora, "lora", "",                                                  \
                       "LoRA adapters that requests may name: NAME=PATH[:SCALE], separated by "    \
                       "commas; PATH is a PEFT directory or a GGUF adapter"),                      \
        BATON_ROW_BOOL(type, in.enable_lora, "enable-lora", "false",                               \
                       "take adapters at run time (POST /v1/load_lora_adapter), which needs more " \
                       "memory; --lora implies it"),                                               \
        BATON_ROW_TEXT(type, in.kernels, "kernels", "auto",                                        \
                       "kernel set: auto, amx, avx512vnni, avx512, avx2, i8mm, dotprod, neon, "    \
                       "portable or openblas"),                                                    \
        BATON_ROW_TEXT(type, in.gateway, "gateway", "tcp://127.0.0.1:7100",                        \
                       "inbox URLs of the gateways to join, separated by commas"),                 \
        BATON_ROW_TEXT(type, in.id, "id", NULL,                                                    \
                       "worker name, unique in the fleet; default: role and host name"),           \
        BATON_ROW_TEXT(type, in.inbox, "inbox", "tcp://127.0.0.1:0",                               \
                       "URL to listen on; port 0 takes a free one"),                               \
        BATON_ROW_TEXT(type, in.advertise, "advertise", NULL,                                      \
                       "inbox URL that other processes use, if not --inbox; a host of * is the "   \
                       "address they see"),                                                        \
        BATON_FLEET_OPTIONS(type, in.fleet),                                                       \
        BATON_ROW_TEXT(type, in.cores, "cores", "auto",                                            \
                       "CPUs to compute on: auto (all; the workers of a host lend each other "     \
                       "idle ones), all, or a list such as 0 or 0,2-3"),                           \
        BATON_ROW_TEXT(type, in.numa, "numa", "none",                                              \
                       "NUMA node for CPUs and memory: none (the kernel's choice), auto (one per " \
                       "worker, by the number in its id) or node:N"),                              \
        BATON_ROW_TEXT(type, in.lease_dir, "lease-dir", "auto",                                    \
                       "directory in which the workers of a host publish which CPUs are busy and " \
                       "how much memory they take; auto: /dev/shm, else the user's runtime "       \
                       "directory; \"\": none"),                                                   \
        BATON_ROW_INT(type, in.threads, "threads", "0", 0, 256, "",                                \
                      "compute threads; 0 = one per CPU of --cores"),                              \
        BATON_ROW_TEXT(type, in.alive_file, "alive-file", NULL,                                    \
                       "file whose time stamp the main thread updates every second, for health "   \
                       "checks"),                                                                  \
        BATON_ROW_REAL(type, in.pause_s, "gateway-pause-s", "60", 0, 86400, "s",                   \
                       "time that the work of a stopped gateway is kept: it is silent, but its "   \
                       "host acknowledges packets"),                                               \
        BATON_ROW_REAL(type, in.stall_s, "stall-s", "1", 0, 86400, "s",                            \
                       "time without progress after which a busy engine counts as stalled and "    \
                       "gets no more work, at least eight times its usual layer; 0 = never"),      \
        BATON_ROW_REAL(type, in.canary_s, "canary-s", "10", 0, 86400, "s",                         \
                       "interval between canaries: fixed tokens that an idle engine computes; a "  \
                       "result other than at the start makes the worker unhealthy; 0 = none"),     \
        BATON_LOG_OPTIONS(type, in.log)

struct baton_host;

struct baton_host_hooks {
    void *arg;
    /* A message of a joined gateway; link and message are borrowed. */
    void (*from_gateway)(void *arg, struct baton_link *gateway,
                         const struct baton_message *message);
    /* KvAck, the only message that other workers send here. NULL where none comes. */
    void (*from_peer)(void *arg, const struct baton_message *message);
    /* Does the due work, after every wake and its messages. Returns the time of the next call. */
    int64_t (*work)(void *arg, int64_t now_ns);
    void (*status)(void *arg, Baton__V1__Status *status);
    void (*lost)(void *arg, uint64_t gateway_epoch);
    bool (*is_idle)(void *arg);
};

struct baton_host {
    const struct baton_worker_options *options;
    const struct baton_kv_options *kv_options;
    struct baton_host_hooks hooks;
    Baton__V1__Role role;
    uint64_t epoch;
    char id[65];
    struct baton_numa numa;
    char numa_name[16]; /* "node:0"; "": not bound */
    struct baton_cores cores;
    struct baton_model_facts facts;
    struct baton_fingerprint fingerprint;
    struct baton_numeric_class numeric_class; /* after measure */
    struct baton_model *model;
    struct baton_adapters *adapters;
    double model_load_s;
    const char *draft_model;          /* its name, for join; NULL or "": there is none */
    struct baton_memory_claim *claim; /* NULL: the worker sees no others */
    const struct baton_kv *kv;        /* the worker's, after join */
    struct baton_kv *const *draft_kv; /* its draft model's; NULL: there is none */
    struct baton_doorbell bell;
    struct baton_inbox *inbox;
    struct baton_member *member;
    struct baton_cluster_token token;
    struct baton_grammar_set grammars;
    bool draining, drain_requested; /* by a gateway */
    int64_t drain_until_ns, alive_next_ns;
};

/* First half: token, signals, cores, model, inbox. kv: the model is only loaded if a pool of these
 * options fits beside it. */
enum baton_err baton_host_open(struct baton_host *host, const struct baton_worker_options *options,
                               const struct baton_kv_options *kv, Baton__V1__Role role,
                               struct baton_why *why) BATON_MUST_CHECK;

/* Measures the numeric class of the model with the worker's pool. The prefix cache and join need
 * it. */
enum baton_err baton_host_measure(struct baton_host *host, const struct baton_kv *kv,
                                  struct baton_why *why) BATON_MUST_CHECK;

/* Second half, when the worker is ready: joins the gateways. bulk_url may be NULL. kv: the worker's
 * pool, borrowed until close. */
enum baton_err baton_host_join(struct baton_host *host, const char *bulk_url,
                               const struct baton_kv *kv, const struct baton_host_hooks *hooks,
                               struct baton_why *why) BATON_MUST_CHECK;

/* Returns after SIGTERM or SIGINT, drained. */
void baton_host_run(struct baton_host *host);
void baton_host_close(struct baton_host *host);

/* Adds the rejections of another inbox of the worker to its Status. */
void baton_host_count_inbox(Baton__V1__Status *status, const struct baton_inbox_stats *stats);

/* How long another process may be silent or unreachable before it counts as dead. */
int64_t baton_host_silence_ns(const struct baton_host *host);

/* Whether the worker's role is to decode. */
static inline bool baton_host_decodes(const struct baton_host *host)
{
    return host->role == BATON__V1__ROLE__ROLE_DECODE;
}

/* Wakes the main thread; takes the host as void *. */
void baton_host_wake(void *host);

#endif
