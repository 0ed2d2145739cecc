#include "gateway/fleet/worker_load.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t not_negative(int64_t n)
{
    return n > 0 ? n : 0;
}

void gw_worker_load_reported(struct gw_worker_load *load, const struct gw_work *reported)
{
    const struct gw_work *ours = &load->ours;
    /* Not below 0: the worker may not have read messages yet that this gateway has counted. */
    load->reported = *reported;
    load->others[1] = load->others[0];
    load->others[0] = (struct gw_work){
        .n_requests = not_negative(reported->n_requests - ours->n_requests),
        .n_queued_tokens = not_negative(reported->n_queued_tokens - ours->n_queued_tokens),
        .n_blocks = not_negative(reported->n_blocks - ours->n_blocks)};
}

static void add(struct gw_work *sum, const struct gw_work *work)
{
    sum->n_requests = not_negative(sum->n_requests + work->n_requests);
    sum->n_queued_tokens = not_negative(sum->n_queued_tokens + work->n_queued_tokens);
    sum->n_blocks = not_negative(sum->n_blocks + work->n_blocks);
}

/* Also changes the reported load, so that it stays valid until the next Status. */
void gw_worker_load_add(struct gw_worker_load *load, const struct gw_work *work)
{
    add(&load->ours, work);
    add(&load->reported, work);
}

struct gw_work gw_worker_load_now(const struct gw_worker_load *load)
{
    const struct gw_work *ours = &load->ours, *reported = &load->reported;
    const struct gw_work *last = &load->others[0], *before = &load->others[1];
    int64_t n_tokens =
        ours->n_queued_tokens + smaller(last->n_queued_tokens, before->n_queued_tokens);
    int64_t n_blocks = ours->n_blocks + smaller(last->n_blocks, before->n_blocks);
    return (struct gw_work){.n_requests =
                                ours->n_requests + smaller(last->n_requests, before->n_requests),
                            .n_queued_tokens = smaller(n_tokens, reported->n_queued_tokens),
                            .n_blocks = smaller(n_blocks, reported->n_blocks)};
}
