/* Attention of neighbouring rows of one sequence. A step of positions is processed for all heads
 * and rows of the call before the next step, so that K and V are read in the order of their
 * addresses. Part of sets/attention.c and sets/amx.c.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_ATTEND_ATTEND_H
#define BATON_ENGINE_KERNELS_ATTEND_ATTEND_H

#include "engine/kernels/attend/latents.h"
#include "engine/kernels/attend/tile.h"

/* The heads of a call, and the state of their queries: [end_head - first_head][n_rows * group] {
 * mixed [D'], sum [16], max [1], q_scale [1], unused [14], words [D'] of 16 bits }. */
struct heads {
    const struct baton_attend *job;
    int first_head, end_head, n_queries;
    size_t query_floats, head_bytes;
};

static struct heads heads_of(const struct baton_attend *job, int first_head, int end_head)
{
    return (struct heads){.job = job,
                          .first_head = first_head,
                          .end_head = end_head,
                          .n_queries = job->n_rows * job->group,
                          .query_floats = baton_attend_query_floats(job->head_dim),
                          .head_bytes =
                              baton_kv_head_bytes(job->dtype, job->head_dim, job->n_latent)};
}

/* Query i of a KV head belongs to row i / group. */
static void set_query(const struct heads *heads, int head, int i, struct query *query)
{
    const struct baton_attend *job = heads->job;
    size_t row = (size_t)(i / job->group), h = (size_t)(head * job->group + i % job->group);
    size_t index = (size_t)((head - heads->first_head) * heads->n_queries + i);
    query->q = job->q + row * job->q_stride + h * (size_t)job->head_dim;
    query->mixed = job->state + index * heads->query_floats;
    query->sum = query->mixed + baton_kv_value_elements(job->head_dim);
    query->max = query->sum + LANES;
    query->q_scale = query->max + 1;
    query->words = (int16_t *)(void *)(query->max + LANES);
}

/* Resets a query's state. A sink is the same as a first position whose score is the sink and whose
 * value is zero. */
static void begin_query(const struct heads *heads, int head, int i)
{
    const struct baton_attend *job = heads->job;
    struct query query;
    set_query(heads, head, i, &query);
    memset(query.mixed, 0, heads->query_floats * sizeof(float));
    *query.max = -INFINITY;
    if (job->sinks) {
        *query.max = job->sinks[head * job->group + i % job->group];
        query.sum[0] = 1;
    }
    if (job->dtype == BATON_KV_Q8)
        round_query(&query, job->head_dim, job->scale);
}

/* The first position that the row at `position` attends to. */
static int first_seen_from(const struct baton_attend *job, int position)
{
    return job->window && position >= job->window ? position - job->window + 1 : 0;
}

/* The position after the last one that the row at `position` attends to. */
static int end_seen_from(const struct baton_attend *job, int position)
{
    if (!job->n_ahead || job->n_ahead >= job->n_positions - position)
        return job->n_ahead ? job->n_positions : position + 1;
    return position + 1 + job->n_ahead;
}

/* The same for all rows of the call. */
static int end_seen(const struct baton_attend *job)
{
    return end_seen_from(job, job->first_position + job->n_rows - 1);
}

static const char *keys_of(const struct heads *heads, int head, int block)
{
    const struct baton_attend *job = heads->job;
    size_t index = (size_t)job->blocks[block];
    if (!job->n_latent) /* else there is one KV head, which all attend to */
        index = index * (size_t)job->n_heads + (size_t)head;
    return (const char *)job->layer + index * heads->head_bytes;
}

/* Elements of a row of V and of the result: D, or the latent part of it. */
static int value_dim(const struct baton_attend *job)
{
    return job->n_latent ? job->n_latent : job->head_dim;
}

/* The place of block i of a step among the gathered V. */
static char *gathered(const struct baton_attend *job, int i)
{
    return (char *)job->values + (size_t)i * LANES * baton_kv_value_elements(job->n_latent) *
                                     baton_kv_element_bytes(job->dtype);
}

static void gather_values_of(const struct heads *heads, int at)
{
    const struct baton_attend *job = heads->job;
    int n_blocks = baton_kv_blocks_for(end_seen(job));
    int first_block = first_seen_from(job, job->first_position) / LANES;
    for (int i = 0, b = at / LANES; i < STEP_BLOCKS && b < n_blocks; i++, b++)
        if (b >= first_block)
            gather_block(job->dtype, keys_of(heads, 0, b), job->n_latent,
                         baton_kv_value_elements(job->n_latent), gathered(job, i));
}

static void set_step(const struct heads *heads, int head, int at, struct kv_step *step)
{
    const struct baton_attend *job = heads->job;
    size_t key_bytes = baton_kv_key_bytes(job->dtype, job->head_dim),
           value_bytes = baton_kv_value_bytes(job->dtype, job->head_dim, job->n_latent);
    int n_blocks = baton_kv_blocks_for(end_seen(job));
    int first_block = first_seen_from(job, job->first_position) / LANES;
    bool is_last = head + 1 == heads->end_head;
    *step = (struct kv_step){.head_dim = job->head_dim,
                             .n_latent = job->n_latent,
                             .key_elements = baton_kv_value_elements(job->head_dim),
                             .value_elements = baton_kv_value_elements(value_dim(job)),
                             .scale = job->scale,
                             .score_cap = job->score_cap};
    for (int i = 0, b = at / LANES; i < STEP_BLOCKS && b < n_blocks; i++, b++) {
        if (b < first_block)
            continue;
        int ahead = is_last && b + STEP_BLOCKS < n_blocks ? b + STEP_BLOCKS : b;
        step->k[i] = keys_of(heads, head, b);
        step->v[i] = job->n_latent ? gathered(job, i) : step->k[i] + key_bytes;
        step->scales[i] = (const uint16_t *)(const void *)(step->k[i] + key_bytes + value_bytes);
        step->next[i] = keys_of(heads, is_last ? heads->first_head : head + 1, ahead);
    }
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

/* Sets the query to its share of the step at `at`. */
static void aim_query(const struct heads *heads, int head, int i, int at, struct query *query)
{
    const struct baton_attend *job = heads->job;
    int position = job->first_position + i / job->group;
    int first_seen = first_seen_from(job, position) - at;
    set_query(heads, head, i, query);
    query->first_seen = first_seen > 0 ? first_seen : 0;
    query->n_seen = lesser(end_seen_from(job, position) - at, STEP);
}

/* Attends with the queries of one KV head that see positions of the step at `at`: those of rows
 * that see as far as it, and whose window still reaches it. */
static void attend_step(const struct heads *heads, int head, int at)
{
    const struct baton_attend *job = heads->job;
    struct kv_step step;
    struct query queries[TILE];
    int first_seen = job->first_position + job->n_ahead;
    int first_row = at > first_seen ? at - first_seen : 0, end_row = job->n_rows;
    if (job->window)
        end_row = lesser(end_row, at + STEP + job->window - 1 - job->first_position);
    set_step(heads, head, at, &step);
    for (int i = first_row * job->group, end = end_row * job->group, n; i < end; i += n) {
        n = tile_queries(end - i);
        step.fetches = job->n_rows == 1 && i == 0;
        for (int r = 0; r < n; r++)
            aim_query(heads, head, i + r, at, &queries[r]);
        attend_tile(job->dtype, &step, queries, n);
    }
}

static void end_query(const struct heads *heads, int head, int i)
{
    const struct baton_attend *job = heads->job;
    struct query query;
    set_query(heads, head, i, &query);
    float *out = job->out + (size_t)(i / job->group) * job->out_stride +
                 (size_t)(head * job->group + i % job->group) * (size_t)value_dim(job);
    float scale = 1.0F / sum_lanes(load(query.sum));
    int d = 0;
    for (; d + LANES <= value_dim(job); d += LANES)
        store(out + d, load(query.mixed + d) * scale);
    if (d < value_dim(job))
        store_part(out + d, load(query.mixed + d) * scale, value_dim(job) - d);
}

static void attend(const struct baton_attend *job, int first_head, int end_head)
{
    const struct heads heads = heads_of(job, first_head, end_head);
    int first = first_seen_from(job, job->first_position) / STEP * STEP;
    for (int head = first_head; head < end_head; head++)
        for (int i = 0; i < heads.n_queries; i++)
            begin_query(&heads, head, i);
    for (int at = first, end = end_seen(job); at < end; at += STEP) {
        if (job->n_latent)
            gather_values_of(&heads, at);
        for (int head = first_head; head < end_head; head++)
            attend_step(&heads, head, at);
    }
    for (int head = first_head; head < end_head; head++)
        for (int i = 0; i < heads.n_queries; i++)
            end_query(&heads, head, i);
}

#endif
