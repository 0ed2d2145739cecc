/* baton-prefill: runs prompts, sends the first token, hands the context over. */
#include "common/base/process.h"
#include "prefill_worker/service.h"

struct options {
    struct baton_worker_options worker;
    int64_t kv_tokens;
};

static const struct baton_option option_table[] = {
    BATON_WORKER_OPTIONS(struct options, worker),
    BATON_ROW_INT(struct options, kv_tokens, "kv-tokens", "0", 0, 1 << 28, "tokens",
                  "KV cache for prompts running or being handed over; 0: eight contexts"),
};

static enum baton_err run(void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    struct baton_host host;
    struct pf_service *service = NULL;
    enum baton_err err = baton_host_open(&host, &options->worker, "prefill", why);
    if (!err)
        err = pf_service_create(
            &(struct pf_service_options){.host = &host, .kv_tokens = options->kv_tokens}, &service,
            why);
    if (!err) {
        struct baton_host_hooks hooks = pf_service_hooks(service);
        err = baton_host_join(&host, BATON__V1__ROLE__ROLE_PREFILL, NULL,
                              pf_service_kv_dtype(service), &hooks, why);
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
        .log_name = "prefill",
        .run = run,
    };
    return baton_process_main(&process, argc, argv);
}
