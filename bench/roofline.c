#include "bench/roofline.h"

struct bench_estimate bench_estimate_of(struct bench_work work, struct bench_limits limits)
{
    double compute_s = work.flops / limits.flops_per_s, memory_s = work.bytes / limits.bytes_per_s;
    if (compute_s > memory_s)
        return (struct bench_estimate){.seconds = compute_s, .bound = "compute"};
    return (struct bench_estimate){.seconds = memory_s, .bound = "memory"};
}

/* One row through the matrices of a layer, before its attention and after it. */
static double project_flops(const struct baton_model_shape *shape)
{
    return 2.0 * shape->n_embd * (shape->n_heads + 2 * shape->n_kv_heads) * shape->head_dim;
}

static double complete_flops(const struct baton_model_shape *shape)
{
    return 2.0 * shape->n_embd * (shape->n_heads * shape->head_dim + 2 * shape->n_ff);
}

/* Scores and mix of one row over one position, in one layer. */
static double attend_flops(const struct baton_model_shape *shape)
{
    return 4.0 * shape->n_heads * shape->head_dim;
}

static double head_flops(const struct baton_model_shape *shape)
{
    return 2.0 * shape->n_embd * shape->n_vocab;
}

struct bench_work bench_prefill_work(const struct baton_model_shape *shape,
                                     const struct bench_sizes *sizes, int n_tokens)
{
    double n = n_tokens, n_whole = shape->n_layers - 1;
    double attended = n_whole * n * (n + 1) / 2 + n;
    return (struct bench_work){.flops = shape->n_layers * n * project_flops(shape) +
                                        (n_whole * n + 1) * complete_flops(shape) +
                                        attended * attend_flops(shape) + head_flops(shape),
                               .bytes = sizes->weight_bytes + 2 * n * sizes->kv_token_bytes};
}

struct bench_work bench_decode_work(const struct baton_model_shape *shape,
                                    const struct bench_sizes *sizes, double n_past, int n_seqs)
{
    double row = shape->n_layers * (project_flops(shape) + complete_flops(shape) +
                                    (n_past + 1) * attend_flops(shape)) +
                 head_flops(shape);
    return (struct bench_work){.flops = n_seqs * row,
                               .bytes = sizes->weight_bytes +
                                        n_seqs * (n_past + 1) * sizes->kv_token_bytes};
}
