/* baton-prefill: runs prompts, sends the first token, hands the context over. */
#include "common/base/process.h"
#include "prefill_worker/service.h"

struct options {
    struct baton_worker_options worker;
    struct baton_kv_options kv;
    int64_t chunk;
    int overlap; /* enum baton_overlap */
    int prefix_cache;
    struct baton_kv_disk_options kv_disk;
};

static const struct baton_option option_table[] = {
    BATON_WORKER_OPTIONS(struct options, worker),
    BATON_KV_OPTIONS(struct options, kv,
                     "KV cache for prompts running, being handed over, or kept; 0: eight contexts, "
                     "or fewer as memory allows"),
    BATON_ROW_INT(
        struct options, chunk, "chunk", "0", 0, 1 << 16, "tokens",
        "of all prompts that one step computes, 16 or more, the KV cache at most; rounded "
        "down to whole blocks of 16; 0: 128, or more for a mixture of experts"),
    BATON_ROW_CHOICE(struct options, overlap, "overlap", "auto", "on|off|auto",
                     "contexts leave while their prompts are computed; auto: long ones"),
    BATON_ROW_CHOICE(struct options, prefix_cache, "prefix-cache", "on", "off|on",
                     "on: prompts with the same prefix compute it once"),
    BATON_KV_DISK_OPTIONS(struct options, kv_disk),
};

static enum baton_err run(void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    struct baton_host host;
    struct pf_service *service = NULL;
    struct pf_service_options service_options = {.host = &host,
                                                 .kv = options->kv,
                                                 .chunk = (int)options->chunk,
                                                 .overlap = (enum baton_overlap)options->overlap,
                                                 .prefix_cache = options->prefix_cache &&
                                                                 options->kv.prefix_cache_tokens,
                                                 .kv_disk = options->kv_disk};
    enum baton_err err =
        baton_host_open(&host, &options->worker, &options->kv, BATON__V1__ROLE__ROLE_PREFILL, why);
    if (!err)
        err = pf_service_create(&service_options, &service, why);
    if (!err) {
        struct baton_host_hooks hooks = pf_service_hooks(service);
        err = baton_host_join(&host, NULL, pf_service_kv(service), &hooks, why);
    }
    if (!err)
        baton_host_run(&host);
    pf_service_destroy(service);
    baton_host_close(&host);
    return err;
}

int main(int argc, char **argv)
{
    struct options options;
    struct baton_process process = {
        .config = {.process = "baton-prefill",
                   .summary = "a prefill worker: prompts in, first tokens and contexts out",
                   .env_prefix = "BATON_PREFILL",
                   .options = option_table,
                   .n_options = sizeof option_table / sizeof option_table[0]},
        .options = &options,
        .log_level = &options.worker.log_level,
        .log_format = &options.worker.log_format,
        .log_file = &options.worker.log_file,
        .log_name = "prefill",
        .run = run,
    };
    return baton_process_main(&process, argc, argv);
}
