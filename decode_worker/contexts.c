#include "decode_worker/contexts.h"

void dc_contexts_init(struct dc_contexts *contexts)
{
    *contexts = (struct dc_contexts){0};
    dc_context_list_init(&contexts->list);
}

/* Request ids begin at random and count up: their last bits spread evenly. */
static size_t bucket_of(uint64_t request_id)
{
    return request_id % DC_N_BUCKETS;
}

void dc_contexts_add(struct dc_contexts *contexts, struct dc_context *context)
{
    struct dc_context **bucket = &contexts->buckets[bucket_of(context->origin.request_id)];
    context->next_in_bucket = *bucket;
    *bucket = context;
    dc_context_list_push_back(&contexts->list, context);
    if ((int)contexts->list.n > contexts->n_most)
        contexts->n_most = (int)contexts->list.n;
}

void dc_contexts_remove(struct dc_contexts *contexts, struct dc_context *context)
{
    struct dc_context **link = &contexts->buckets[bucket_of(context->origin.request_id)];
    while (*link != context)
        link = &(*link)->next_in_bucket;
    *link = context->next_in_bucket;
    dc_context_list_remove(&contexts->list, context);
}

struct dc_context *dc_contexts_find(const struct dc_contexts *contexts,
                                    const baton_envelope *envelope)
{
    struct dc_context *context = contexts->buckets[bucket_of(envelope->request_id)];
    while (context && !baton_origin_is(&context->origin, envelope))
        context = context->next_in_bucket;
    return context;
}

struct dc_context *dc_contexts_find_request(const struct dc_contexts *contexts,
                                            const baton_envelope *envelope)
{
    struct dc_context *context = contexts->buckets[bucket_of(envelope->request_id)];
    while (context && (!baton_origin_is_request(&context->origin, envelope) ||
                       atomic_load(&context->canceled)))
        context = context->next_in_bucket;
    return context;
}
