#include "gateway/request/assign.h"

#include <stdio.h>

/* Rates of fewer tokens say more about the way than about the worker. */
enum { MIN_RATED_TOKENS = 8 };

/* The newest of the measurements that a mean remembers counts this part. */
#define NEWEST_PART 0.2

static void place_at(struct gw_worker *worker, uint64_t turn, char id[65])
{
    worker->n_active++;
    worker->n_routed++;
    worker->turn = turn;
    (void)snprintf(id, 65, "%s", worker->id);
}

void gw_assign_prefill(struct gw_request *request, struct gw_worker *worker, uint64_t turn)
{
    request->prefill = worker;
    place_at(worker, turn, request->prefill_id);
}

int64_t gw_assign_n_blocks(const struct gw_params *params, uint32_t block_tokens)
{
    int64_t n_positions = (int64_t)params->prompt.n + params->max_new_tokens - 1;
    return block_tokens ? (n_positions + block_tokens - 1) / block_tokens : 0;
}

void gw_assign_decode(struct gw_request *request, struct gw_worker *worker, uint64_t turn,
                      uint32_t block_tokens)
{
    request->decode = worker;
    request->n_blocks = gw_assign_n_blocks(&request->params, block_tokens);
    request->n_cached_blocks = 0;
    gw_worker_load_add(&worker->load,
                       &(struct gw_work){.n_requests = 1, .n_blocks = request->n_blocks});
    place_at(worker, turn, request->decode_id);
}

/* ---- the prompt ---- */

void gw_assign_prompt(struct gw_request *request)
{
    request->prompt_at = request->prefill ? request->prefill : request->decode;
    gw_worker_load_add(&request->prompt_at->load,
                       &(struct gw_work){.n_queued_tokens = (int64_t)request->params.prompt.n});
}

static void leave_prompt(struct gw_request *request)
{
    if (request->prompt_at)
        gw_worker_load_add(
            &request->prompt_at->load,
            &(struct gw_work){.n_queued_tokens = -(int64_t)request->params.prompt.n});
    request->prompt_at = NULL;
}

void gw_assign_prompt_done(struct gw_request *request, int64_t n_computed, double compute_s)
{
    struct gw_worker *worker = request->prompt_at;
    if (worker && n_computed >= MIN_RATED_TOKENS && compute_s > 0) {
        double rate = (double)n_computed / compute_s, *mean = &worker->prompt_tokens_per_s;
        *mean = *mean > 0 ? *mean + NEWEST_PART * (rate - *mean) : rate;
    }
    leave_prompt(request);
}

/* ---- the end ---- */

void gw_assign_leave_prefill(struct gw_request *request)
{
    if (!request->prefill)
        return;
    if (request->prompt_at == request->prefill)
        leave_prompt(request);
    request->prefill->n_active--;
    request->prefill = NULL;
}

void gw_assign_leave_decode(struct gw_request *request)
{
    if (!request->decode)
        return;
    if (request->prompt_at == request->decode)
        leave_prompt(request);
    gw_worker_load_add(&request->decode->load,
                       &(struct gw_work){.n_requests = -1, .n_blocks = -request->n_blocks});
    request->decode->backing_off = false;
    request->decode->n_active--;
    request->decode = NULL;
}

void gw_assign_lost(struct gw_request *request, const struct gw_worker *worker)
{
    if (request->prompt_at == worker)
        request->prompt_at = NULL;
    if (request->prefill == worker)
        request->prefill = NULL;
    if (request->decode == worker)
        request->decode = NULL;
}
