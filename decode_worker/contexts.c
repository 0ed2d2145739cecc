#include "decode_worker/contexts.h"

#include <stddef.h>

void dc_contexts_init(struct dc_contexts *contexts)
{
    *contexts = (struct dc_contexts){0};
    dc_context_list_init(&contexts->list);
}

static struct dc_context *context_of(struct baton_request_node *node)
{
    return node ? (struct dc_context *)((char *)node - offsetof(struct dc_context, in_requests))
                : NULL;
}

void dc_contexts_add(struct dc_contexts *contexts, struct dc_context *context)
{
    baton_request_table_add(&contexts->requests, &context->in_requests, &context->origin);
    dc_context_list_push_back(&contexts->list, context);
    if ((int)contexts->list.n > contexts->n_most)
        contexts->n_most = (int)contexts->list.n;
}

void dc_contexts_remove(struct dc_contexts *contexts, struct dc_context *context)
{
    baton_request_table_remove(&contexts->requests, &context->in_requests);
    dc_context_list_remove(&contexts->list, context);
}

struct dc_context *dc_contexts_find(const struct dc_contexts *contexts,
                                    const baton_envelope *envelope)
{
    return context_of(baton_request_table_find(&contexts->requests, envelope));
}

struct dc_context *dc_contexts_find_request(const struct dc_contexts *contexts,
                                            const baton_envelope *envelope)
{
    struct baton_request_node *node = NULL;
    while ((node = baton_request_table_next(&contexts->requests, envelope, node)) &&
           atomic_load(&context_of(node)->canceled))
        ;
    return context_of(node);
}
