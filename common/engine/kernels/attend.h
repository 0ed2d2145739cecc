/* Attention of neighbouring rows of one sequence. Positions are taken a step at a time, for all
 * heads and rows of the call, so that memory is read in the order in which it lies. Part of body.h.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_KERNELS_ATTEND_H
#define BATON_KERNELS_ATTEND_H

#include "common/engine/kernels/attend_tile.h"

/* The heads of a call, and the state of their queries: [end_head - first_head][n_rows * group] {
 * mixed [D'], sum [16], max [1], unused [15] }. */
struct heads {
    const struct baton_attend *job;
    int first_head, end_head, n_queries;
    size_t query_floats, head_bytes;
};

static void begin_states(const struct heads *heads)
{
    size_t n = (size_t)((heads->end_head - heads->first_head) * heads->n_queries);
    memset(heads->job->state, 0, n * heads->query_floats * sizeof(float));
    for (size_t i = 1; i <= n; i++)
        heads->job->state[i * heads->query_floats - LANES] = -INFINITY;
}

/* Query i of a KV head is of row i / group. */
static void set_query(const struct heads *heads, int head, int i, struct query *query)
{
    const struct baton_attend *job = heads->job;
    size_t row = (size_t)(i / job->group), h = (size_t)(head * job->group + i % job->group);
    size_t index = (size_t)((head - heads->first_head) * heads->n_queries + i);
    query->q = job->q + row * job->q_stride + h * (size_t)job->head_dim;
    query->mixed = job->state + index * heads->query_floats;
    query->sum = query->mixed + baton_kv_value_elements(job->head_dim);
    query->max = query->sum + LANES;
}

static const char *keys_of(const struct heads *heads, int head, int block)
{
    size_t index = (size_t)heads->job->blocks[block] * (size_t)heads->job->n_heads + (size_t)head;
    return (const char *)heads->job->layer + index * heads->head_bytes;
}

static void set_step(const struct heads *heads, int head, int at, struct kv_step *step)
{
    const struct baton_attend *job = heads->job;
    size_t key_bytes = baton_kv_key_elements(job->head_dim) * baton_kv_element_bytes(job->dtype);
    int n_blocks = baton_kv_blocks_for(job->first_position + job->n_rows);
    bool is_last = head + 1 == heads->end_head;
    *step = (struct kv_step){.head_dim = job->head_dim,
                             .value_elements = baton_kv_value_elements(job->head_dim),
                             .scale = job->scale};
    for (int i = 0, b = at / LANES; i < STEP_BLOCKS && b < n_blocks; i++, b++) {
        int ahead = is_last && b + STEP_BLOCKS < n_blocks ? b + STEP_BLOCKS : b;
        step->k[i] = keys_of(heads, head, b);
        step->v[i] = step->k[i] + key_bytes;
        step->next[i] = keys_of(heads, is_last ? heads->first_head : head + 1, ahead);
    }
}

/* The queries of one KV head that see position `at`, where the step begins. */
static void attend_step(const struct heads *heads, int head, int at)
{
    const struct baton_attend *job = heads->job;
    struct kv_step step;
    struct query queries[TILE];
    int hidden = at > job->first_position ? at - job->first_position : 0; /* rows before it */
    set_step(heads, head, at, &step);
    for (int i = hidden * job->group, n; i < heads->n_queries; i += n) {
        n = i + TILE <= heads->n_queries ? TILE : 1;
        for (int r = 0; r < n; r++) {
            int n_seen = job->first_position + (i + r) / job->group + 1 - at;
            set_query(heads, head, i + r, &queries[r]);
            queries[r].n_seen = n_seen < STEP ? n_seen : STEP;
        }
        attend_tile(job->dtype, &step, queries, n);
    }
}

static void end_query(const struct heads *heads, int head, int i)
{
    const struct baton_attend *job = heads->job;
    struct query query;
    set_query(heads, head, i, &query);
    float *out = job->out + (size_t)(i / job->group) * job->out_stride +
                 (size_t)(head * job->group + i % job->group) * (size_t)job->head_dim;
    float scale = 1.0F / sum_lanes(load(query.sum));
    int d = 0;
    for (; d + LANES <= job->head_dim; d += LANES)
        store(out + d, load(query.mixed + d) * scale);
    if (d < job->head_dim)
        store_part(out + d, load(query.mixed + d) * scale, job->head_dim - d);
}

static void attend(const struct baton_attend *job, int first_head, int end_head)
{
    const struct heads heads = {.job = job,
                                .first_head = first_head,
                                .end_head = end_head,
                                .n_queries = job->n_rows * job->group,
                                .query_floats = baton_attend_query_floats(job->head_dim),
                                .head_bytes = baton_kv_head_elements(job->head_dim) *
                                              baton_kv_element_bytes(job->dtype)};
    begin_states(&heads);
    for (int at = 0; at < job->first_position + job->n_rows; at += STEP)
        for (int head = first_head; head < end_head; head++)
            attend_step(&heads, head, at);
    for (int head = first_head; head < end_head; head++)
        for (int i = 0; i < heads.n_queries; i++)
            end_query(&heads, head, i);
}

#endif
