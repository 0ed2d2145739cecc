#include "gateway/request/prompt_hashes.h"

#include <stdlib.h>
#include <string.h>

#include "gateway/request/request.h"

/* The hashes for one class. They are allocated at first use, because a waiting request needs none
 * and GW_MAX_CLASSES sets of them in every request would cost memory. */
static struct gw_prompt_hashes *place(struct gw_request *request, int class_index)
{
    struct gw_prompt_hashes **hashes = &request->hashes[class_index];
    if (!*hashes)
        *hashes = calloc(1, sizeof **hashes);
    return *hashes;
}

static void make(struct gw_prompt_hashes *hashes, const struct gw_request *request,
                 uint32_t block_tokens)
{
    const struct gw_params *params = &request->params;
    const struct baton_tokens *prompt = gw_request_input(request);
    size_t n = baton_block_hash_count(prompt->n, block_tokens);
    size_t n_salt = params->has_prefix_salt ? sizeof params->prefix_salt : 0;
    struct baton_block_hash salted, root;
    hashes->list = n ? calloc(n, sizeof *hashes->list) : NULL;
    if (hashes->list &&
        !baton_block_hash_salted(&hashes->root, params->prefix_salt, n_salt, &salted) &&
        !baton_adapter_uses_root(&params->adapters, &salted, &root) &&
        !baton_block_hash_tokens(&root, prompt->ids, block_tokens, hashes->list, n))
        hashes->n = n;
    hashes->block_tokens = block_tokens;
}

const struct gw_prompt_hashes *gw_prompt_hashes_get(struct gw_request *request,
                                                    const struct gw_numeric_class *numeric_class,
                                                    uint32_t block_tokens)
{
    static const struct gw_prompt_hashes none;
    struct gw_prompt_hashes *hashes = place(request, numeric_class->index);
    if (!hashes)
        return &none;
    bool is_made =
        hashes->list && !memcmp(&hashes->root, &numeric_class->root, sizeof hashes->root);
    bool is_wanted = request->params.cache_prompt && request->params.kv_cache;
    if (is_made || !is_wanted || !numeric_class->has_root || !block_tokens)
        return hashes;
    free(hashes->list);
    *hashes = (struct gw_prompt_hashes){.root = numeric_class->root};
    make(hashes, request, block_tokens);
    return hashes;
}

void gw_prompt_hashes_forget(struct gw_request *request)
{
    for (int i = 0; i < GW_MAX_CLASSES; i++) {
        if (!request->hashes[i])
            continue;
        free(request->hashes[i]->list);
        *request->hashes[i] = (struct gw_prompt_hashes){0}; /* attempts may still point to it */
    }
}

void gw_prompt_hashes_fini(struct gw_request *request)
{
    gw_prompt_hashes_forget(request);
    for (int i = 0; i < GW_MAX_CLASSES; i++)
        free(request->hashes[i]);
}
