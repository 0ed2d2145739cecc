/* baton-prefill: runs prompts, sends the first token, hands the context over. */
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/process.h"
#include "prefill_worker/service.h"

struct options {
    struct baton_worker_options worker;
    struct baton_kv_options kv;
    int64_t chunk;
    int overlap; /* enum baton_overlap */
    int prefix_cache;
    struct baton_kv_disk_options kv_disk;
    const char *bulk, *bulk_advertise;
};

static const struct baton_option option_table[] = {
    BATON_WORKER_OPTIONS(struct options, worker),
    BATON_KV_OPTIONS(
        struct options, kv,
        "KV cache for prompts that run, are handed over or are kept; 0 = eight contexts, "
        "or fewer as memory allows"),
    BATON_ROW_INT(
        struct options, chunk, "chunk", "0", 0, 1 << 16, "tokens",
        "prompt tokens computed per step, all prompts together: 16 or more, rounded down to whole "
        "KV blocks of 16, at most the KV cache; 0 = 128, more for a mixture of experts"),
    BATON_ROW_CHOICE(struct options, overlap, "overlap", "auto", "on|off|auto",
                     "send contexts while their prompts are computed; auto: long prompts only"),
    BATON_PREFIX_CACHE_OPTION(struct options, prefix_cache),
    BATON_KV_DISK_OPTIONS(struct options, kv_disk),
    BATON_ROW_TEXT(
        struct options, bulk, "bulk", "auto",
        "URL to listen on for KV of prompts that several workers compute (--prefill-split of the "
        "gateway); port 0 takes a free one; auto: a free port beside --inbox; \"\": none"),
    BATON_ROW_TEXT(struct options, bulk_advertise, "bulk-advertise", NULL,
                   "bulk URL that other workers use, if not --bulk; a host of * is the address "
                   "they see; default with auto: the host of --advertise"),
};

/* The url with another port. */
static void set_port(char url[BATON_MAX_TEXT_BYTES + 1], const char *from, const char *port)
{
    const char *colon = strrchr(from, ':');
    int n = colon ? (int)(colon - from) : (int)strlen(from);
    (void)snprintf(url, BATON_MAX_TEXT_BYTES + 1, "%.*s:%s", n, from, port);
}

/* The bulk URL that other workers get for the one that is listened on. */
static const char *advertised_url(const struct options *options, const char *bulk,
                                  char url[BATON_MAX_TEXT_BYTES + 1])
{
    const char *port = bulk ? strrchr(bulk, ':') : NULL;
    if (!port || options->bulk_advertise)
        return bulk ? options->bulk_advertise : NULL;
    if (strcmp(options->bulk, "auto") != 0 || !options->worker.advertise)
        return bulk;
    set_port(url, options->worker.advertise, port + 1);
    return url;
}

static enum baton_err run(void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    struct baton_host host;
    struct baton_service *service = NULL;
    char listened[BATON_MAX_TEXT_BYTES + 1], advertised[BATON_MAX_TEXT_BYTES + 1];
    set_port(listened, options->worker.inbox, "0");
    struct pf_service_options service_options = {
        .host = &host,
        .kv = options->kv,
        .chunk = (int)options->chunk,
        .overlap = (enum baton_overlap)options->overlap,
        .prefix_cache = options->prefix_cache,
        .bulk_url = strcmp(options->bulk, "auto") != 0 ? options->bulk : listened,
        .kv_disk = options->kv_disk};
    enum baton_err err =
        baton_host_open(&host, &options->worker, &options->kv, BATON__V1__ROLE__ROLE_PREFILL, why);
    if (!err)
        err = pf_service_create(&service_options, &service, why);
    if (!err)
        err = baton_service_run(
            service, advertised_url(options, baton_service_bulk_url(service), advertised), why);
    baton_service_destroy(service);
    baton_host_close(&host);
    return err;
}

int main(int argc, char **argv)
{
    struct options options = {0}; /* options without a default stay zero */
    return baton_process_main(
        &(struct baton_process){.name = "baton-prefill",
                                .summary =
                                    "a prefill worker: prompts in, first tokens and contexts out",
                                .table = option_table,
                                .n_options = BATON_N_OF(option_table),
                                .options = &options,
                                .log = &options.worker.log,
                                .run = run},
        argc, argv);
}
