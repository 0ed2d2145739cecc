#include "tools/baton/fleet/up_options.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/os/file.h"
#include "engine/arch/arch.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/config/model_config.h"
#include "tools/baton/fleet/state.h"

enum { MIN_OPEN_FILES = 128 };

#define TEXT(field, ...)   BATON_ROW_TEXT(struct bt_up_options, field, __VA_ARGS__)
#define INT(field, ...)    BATON_ROW_INT(struct bt_up_options, field, __VA_ARGS__)
#define CHOICE(field, ...) BATON_ROW_CHOICE(struct bt_up_options, field, __VA_ARGS__)

/* Texts without a default are not passed on, so each process applies its own default. */
const struct baton_option bt_up_option_table[] = {
    TEXT(model, "model", NULL,
         "model: a directory in Hugging Face's layout, a GGUF file (of a split one the first), or "
         "a name that `baton pull` has downloaded; unset: the embedded story model"),
    TEXT(more_models, "more-models", NULL,
         "models served beside --model, as NAME=MODEL or MODEL, separated by commas; each has as "
         "many workers as --prefill and --decode say, and requests choose by their field model"),
    TEXT(models, "models", NULL,
         "directory of models by name; unset: where `baton pull` puts them"),
    TEXT(dtype, "dtype", NULL,
         "weight format: auto, f32, bf16, q8, q4 or native; unset: native for a GGUF file, else "
         "f32"),
    TEXT(draft_model, "draft-model", NULL,
         "small model of the same vocabulary, a directory or a GGUF file, or \"mtp\", the model's "
         "own head, with which decode workers draft tokens for all requests; unset: none"),
    TEXT(lora, "lora", NULL,
         "LoRA adapters that requests may name: NAME=PATH[:SCALE], separated by commas; PATH is a "
         "PEFT directory or a GGUF adapter"),
    BATON_ROW_BOOL(struct bt_up_options, enable_lora, "enable-lora", "false",
                   "load adapters at run time (POST /v1/load_lora_adapter); --lora implies it"),
    INT(n_prefill, "prefill", "1", 1, BT_MAX_WORKERS, "", "prefill workers"),
    INT(n_decode, "decode", "1", 1, BT_MAX_WORKERS, "", "decode workers"),
    TEXT(host, "host", "127.0.0.1", "numeric address to serve HTTP on, or localhost"),
    INT(port, "port", "8000", 0, 65535, "", "HTTP port; 0 = the first free one from 8000 on"),
    INT(context_tokens, "context-tokens", "0", 0, BATON_MAX_CONTEXT, "tokens",
        "longest prompt and output of a request together; 0 = the model's context"),
    INT(memory, "memory", "0", 0, 1LL << 40, "bytes",
        "memory that the whole fleet may take: KV caches divide what weights and processes leave; "
        "0 = as the host's memory allows"),
    INT(kv_tokens, "kv-tokens", "0", 0, 1 << 28, "tokens",
        "largest KV cache of every worker, instead of --memory; 0 = as that says"),
    INT(kv_bytes, "kv-bytes", "0", 0, 1LL << 40, "bytes", "the same in bytes"),
    BATON_ROW_REAL(struct bt_up_options, kv_idle_s, "kv-idle-s", "300", 0, 86400 * 365, "s",
                   "time after which workers give the memory of unused KV blocks back; 0 = never"),
    TEXT(prefill_cores, "prefill-cores", NULL,
         "CPUs of every prefill worker: auto, all, or a list such as 0,2-3; unset: auto, which "
         "lends idle CPUs to other workers"),
    TEXT(decode_cores, "decode-cores", NULL, "CPUs of every decode worker, as --prefill-cores"),
    TEXT(api_keys, "api-keys", NULL, "file of API keys, one per line; unset: clients need no key"),
    TEXT(admin_keys, "admin-keys", NULL,
         "file of operators' keys, who may drain workers; unset: programs of this host may, if "
         "there "
         "are no API keys"),
    TEXT(cors_origins, "cors-origins", NULL,
         "origins whose web pages may call this API, separated by commas, or *"),
    TEXT(allowed_hosts, "allowed-hosts", NULL,
         "names by which proxies on this host reach the server, separated by commas"),
    TEXT(chat_template, "chat-template", NULL,
         "chat template: a built-in name or a file; unset: the model's"),
    TEXT(served_model_name, "served-model-name", NULL,
         "model names that clients may use, separated by commas; *: any; unset: the model's own"),
    TEXT(reasoning, "reasoning", NULL,
         "whether models reason, if a request does not say: auto, off or on; unset: auto, as the "
         "chat template does without a word"),
    TEXT(sampling_defaults, "sampling-defaults", NULL,
         "sampling parameters that a request leaves out: none (built-in defaults) or model (the "
         "model's generation_config.json)"),
    TEXT(pack_dir, "pack-dir", NULL,
         "directory in which workers share packed weights; unset: beside the model unless it is "
         "under "
         "/usr, else in your cache directory"),
    TEXT(state, "state", NULL,
         "state directory: pids, logs and the cluster token; unset: baton in $XDG_STATE_HOME"),
    CHOICE(log_format, "log-format", "logfmt", "logfmt|json",
           "format of every process's log lines"),
    BATON_ROW_BOOL(
        struct bt_up_options, detach, "detach", "false",
        "return once the fleet answers; it goes on running, with its logs in the state directory"),
    BATON_ROW_REAL(struct bt_up_options, stop_timeout_s, "stop-timeout-s", "15", 0, 3600, "s",
                   "time that the gateway, and then the workers, have to stop"),
    TEXT(bin, "bin", NULL, "directory of the programs; unset: this program's own"),
};
const size_t bt_up_n_options = BATON_N_OF(bt_up_option_table);

/* Accepts auto, all, or numbers and ranges between commas. */
static bool is_core_list(const char *text)
{
    if (!strcmp(text, "auto") || !strcmp(text, "all"))
        return true;
    for (const char *p = text;; p++) {
        size_t n_digits = strspn(p, "0123456789");
        p += n_digits;
        if (n_digits && *p == '-') {
            n_digits = strspn(++p, "0123456789");
            p += n_digits;
        }
        if (!n_digits || (*p && *p != ','))
            return false;
        if (!*p)
            return true;
    }
}

static enum baton_err check_cores(const char *option, const char *value, struct baton_why *why)
{
    if (!value || is_core_list(value))
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "--%s takes auto, all, or processors such as 0 or 0,2-3, not \"%.60s\"",
                      option, value);
}

static enum baton_err check_memory(const struct bt_up_options *options, struct baton_why *why)
{
    int64_t least = BT_PROCESS_BYTES * (1 + options->n_prefill + options->n_decode);
    int n_given = !!options->memory + !!options->kv_tokens + !!options->kv_bytes;
    if (n_given > 1)
        return baton_fail(why, BATON_INVALID,
                          "--memory, --kv-tokens, --kv-bytes: give one of them");
    if (options->memory && options->more_models && *options->more_models)
        return baton_fail(why, BATON_INVALID,
                          "--memory: not together with --more-models, whose weights are not known "
                          "here; --kv-bytes bounds every worker's KV cache");
    if (options->memory && options->memory <= least)
        return baton_fail(why, BATON_INVALID,
                          "--memory: the processes take %lld MiB, and the weights come on top",
                          (long long)(least >> 20));
    return BATON_OK;
}

static enum baton_err check_host(const char *host, struct baton_why *why)
{
    struct in6_addr address;
    if (!strcasecmp(host, "localhost") || inet_pton(AF_INET, host, &address) == 1 ||
        inet_pton(AF_INET6, host, &address) == 1)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "--host must be a numeric address or localhost, not \"%.60s\"", host);
}

/* With fewer a process of the fleet would wait for descriptors without a word. */
static enum baton_err check_open_files(struct baton_why *why)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_max >= MIN_OPEN_FILES)
        return BATON_OK;
    return baton_fail(why, BATON_LIMIT,
                      "a process may open %d files (ulimit -Hn), and those of a fleet need %d",
                      (int)limit.rlim_max, MIN_OPEN_FILES);
}

static bool ends_in_gguf(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && !strcmp(path + n - 5, ".gguf");
}

/* Names what is wrong with the config, the family first, before a process fails on a part of it. */
static enum baton_err check_family(const char *model, struct baton_why *why)
{
    char path[PATH_MAX];
    struct baton_why reason;
    struct baton_model_config *config = calloc(1, sizeof *config);
    if (!config)
        return BATON_OK;
    enum baton_err err = baton_model_config_read(model, config, path, why);
    if (!err && config->model_type[0] && baton_arch_check_family(config, &reason))
        err = baton_fail(why, BATON_INVALID, "%s: %s", path, reason.text);
    free(config);
    return err;
}

enum baton_err bt_up_check_model(const char *option, const char *model, struct baton_why *why)
{
    static const char download[] = "baton pull downloads a model";
    char config[PATH_MAX];
    struct stat info;
    if (stat(model, &info))
        return baton_fail(why, BATON_INVALID, "--%s %s: no such directory or file; %s", option,
                          model, download);
    if (!S_ISDIR(info.st_mode))
        return ends_in_gguf(model)
                   ? BATON_OK
                   : baton_fail(why, BATON_INVALID, "--%s %s: neither a directory nor a .gguf file",
                                option, model);
    enum baton_err err = baton_file_path(config, model, "config.json", why);
    if (!err && access(config, F_OK))
        err = baton_fail(why, BATON_INVALID, "--%s %s: no config.json there; %s", option, model,
                         download);
    return err ? err : check_family(model, why);
}

static enum baton_err check_readable(const char *name, const char *path, struct baton_why *why)
{
    if (!path || !*path || !access(path, R_OK))
        return BATON_OK;
    return baton_fail(why, BATON_INVALID, "--%s %s: cannot be read: %s", name, path,
                      strerror(errno));
}

void bt_up_fit(struct bt_up_options *options)
{
    struct baton_checkpoint *checkpoint;
    struct baton_why why;
    options->n_decode_of_others = options->n_decode;
    if (baton_checkpoint_open(options->model, &checkpoint, &why))
        return; /* the processes tell what is wrong with it */
    if (checkpoint->facts.is_encoder)
        options->n_decode = 0;
    options->reranks = checkpoint->facts.is_encoder && checkpoint->facts.scores_pairs;
    baton_checkpoint_close(checkpoint);
}

enum baton_err bt_up_check(const struct bt_up_options *options, struct baton_why *why)
{
    enum baton_err err = check_cores("prefill-cores", options->prefill_cores, why);
    if (!err)
        err = check_cores("decode-cores", options->decode_cores, why);
    if (!err)
        err = check_memory(options, why);
    if (!err)
        err = check_host(options->host, why);
    if (!err)
        err = check_open_files(why);
    if (!err)
        err = bt_up_check_model("model", options->model, why);
    if (!err)
        err = check_readable("api-keys", options->api_keys, why);
    if (!err)
        err = check_readable("admin-keys", options->admin_keys, why);
    return err;
}
