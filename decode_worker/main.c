/* baton-decode: receives contexts and streams tokens, one batch step at a time. */
#include "common/base/array.h"
#include "common/base/process.h"
#include "decode_worker/draft_model.h"
#include "decode_worker/service.h"

struct options {
    struct baton_worker_options worker;
    const char *bulk, *bulk_advertise;
    int prefix_cache;
    struct baton_kv_options kv;
    int64_t max_batch, colocated_prefill_chunk;
    const char *draft_model, *draft_dtype;
};

static const struct baton_option option_table[] = {
    BATON_WORKER_OPTIONS(struct options, worker),
    BATON_ROW_TEXT(struct options, bulk, "bulk", "tcp://127.0.0.1:0",
                   "URL to listen on for contexts; port 0 takes a free one"),
    BATON_ROW_TEXT(
        struct options, bulk_advertise, "bulk-advertise", NULL,
        "bulk URL that other workers use, if not --bulk; a host of * is the address they see"),
    BATON_KV_OPTIONS(struct options, kv,
                     "KV cache for the requests of this worker; 0 = sixteen contexts, or fewer as "
                     "memory allows"),
    BATON_ROW_INT(struct options, max_batch, "max-batch", "64", 1, 1024, "sequences",
                  "most sequences per step"),
    BATON_ROW_INT(struct options, colocated_prefill_chunk, "colocated-prefill-chunk", "16", 1, 4096,
                  "tokens",
                  "prompt tokens per step of prompts that run here, beside running sequences"),
    BATON_PREFIX_CACHE_OPTION(struct options, prefix_cache),
    BATON_ROW_TEXT(struct options, draft_model, "draft-model", "",
                   "small model with the same vocabulary, or \"mtp\" for the model's own head that "
                   "drafts (of Qwen 3.5 and Qwen3-Next): it drafts tokens for requests that "
                   "want it: as --model; \"\": none"),
    BATON_ROW_TEXT(struct options, draft_dtype, "draft-dtype", "",
                   "weight format of --draft-model: as --dtype"),
};

static enum baton_err run(void *arg, struct baton_why *why)
{
    struct options *options = arg;
    struct baton_host host;
    struct baton_service *service = NULL;
    struct dc_draft_model draft = {0};
    dc_service_size(&options->kv, options->max_batch, options->colocated_prefill_chunk);
    enum baton_err err =
        baton_host_open(&host, &options->worker, &options->kv, BATON__V1__ROLE__ROLE_DECODE, why);
    if (!err && *options->draft_model)
        err = dc_draft_model_open(&draft, options->draft_model, options->draft_dtype, &host, why);
    host.draft_model = draft.name;
    if (!err)
        err = dc_service_create(
            &(struct dc_service_options){.host = &host,
                                         .bulk_url = options->bulk,
                                         .kv = options->kv,
                                         .max_batch = options->max_batch,
                                         .colocated_chunk = options->colocated_prefill_chunk,
                                         .draft = draft.model ? &draft : NULL,
                                         .prefix_cache = options->prefix_cache},
            &service, why);
    if (!err)
        err = baton_service_run(service,
                                options->bulk_advertise ? options->bulk_advertise
                                                        : baton_service_bulk_url(service),
                                why);
    baton_service_destroy(service);
    dc_draft_model_close(&draft);
    baton_host_close(&host);
    return err;
}

int main(int argc, char **argv)
{
    struct options options = {0}; /* options without a default stay zero */
    return baton_process_main(
        &(struct baton_process){.name = "baton-decode",
                                .summary = "a decode worker: contexts in, tokens out",
                                .table = option_table,
                                .n_options = BATON_N_OF(option_table),
                                .options = &options,
                                .log = &options.worker.log,
                                .run = run},
        argc, argv);
}
