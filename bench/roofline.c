#include "bench/roofline.h"

double bench_work_flops(const struct bench_work *work)
{
    return work->matrices.flops + work->attention.flops + work->head.flops;
}

double bench_work_bytes(const struct bench_work *work)
{
    return work->matrices.bytes + work->attention.bytes + work->head.bytes;
}

struct bench_estimate bench_estimate_of(struct bench_work work, struct bench_limits limits)
{
    const double compute[] = {work.matrices.flops / limits.flops_per_s,
                              work.attention.flops / limits.attend_flops_per_s,
                              work.head.flops / limits.flops_per_s};
    const double memory[] = {work.matrices.bytes / limits.bytes_per_s,
                             work.attention.bytes / limits.bytes_per_s,
                             work.head.bytes / limits.bytes_per_s};
    double compute_s = 0, memory_s = 0; /* of phases that wait for the one, or for the other */
    for (int i = 0; i < 3; i++)
        *(compute[i] > memory[i] ? &compute_s : &memory_s) +=
            compute[i] > memory[i] ? compute[i] : memory[i];
    return (struct bench_estimate){.seconds = compute_s + memory_s,
                                   .bound = compute_s > memory_s ? "compute" : "memory"};
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

/* The weights of the head, and of all else that a pass multiplies with. */
static double head_share(const struct baton_model_shape *shape)
{
    double layers = shape->n_layers * (project_flops(shape) + complete_flops(shape));
    return head_flops(shape) / (head_flops(shape) + layers);
}

struct bench_work bench_prefill_work(const struct baton_model_shape *shape,
                                     const struct bench_sizes *sizes, int n_tokens)
{
    double n = n_tokens, n_whole = shape->n_layers - 1,
           head_bytes = sizes->weight_bytes * head_share(shape);
    double attended = n_whole * n * (n + 1) / 2 + n;
    return (struct bench_work){.matrices = {.flops = shape->n_layers * n * project_flops(shape) +
                                                     (n_whole * n + 1) * complete_flops(shape),
                                            .bytes = sizes->weight_bytes - head_bytes},
                               .attention = {.flops = attended * attend_flops(shape),
                                             .bytes = 2 * n * sizes->kv_token_bytes},
                               .head = {.flops = head_flops(shape), .bytes = head_bytes}};
}

struct bench_work bench_decode_work(const struct baton_model_shape *shape,
                                    const struct bench_sizes *sizes, double n_past, int n_seqs)
{
    double n = n_seqs, n_layers = shape->n_layers,
           head_bytes = sizes->weight_bytes * head_share(shape);
    return (struct bench_work){
        .matrices = {.flops = n * n_layers * (project_flops(shape) + complete_flops(shape)),
                     .bytes = sizes->weight_bytes - head_bytes},
        .attention = {.flops = n * n_layers * (n_past + 1) * attend_flops(shape),
                      .bytes = n * (n_past + 1) * sizes->kv_token_bytes},
        .head = {.flops = n * head_flops(shape), .bytes = head_bytes}};
}
