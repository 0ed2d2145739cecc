#include "bench/roofline.h"

#include "common/arch/spec_weights.h"

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
static double project_flops(const struct baton_spec *spec, int layer)
{
    return 2.0 * spec->n_embd * baton_spec_qkv_width(spec, layer);
}

static double complete_flops(const struct baton_spec *spec, int layer)
{
    return 2.0 *
               (baton_spec_attention_weights(spec, layer) + baton_spec_ff_weights(spec, layer, 1)) -
           project_flops(spec, layer);
}

/* Scores and mix of one row over one position. */
static double attend_flops(const struct baton_spec *spec, int layer)
{
    return 4.0 * baton_spec_q_width(spec, layer);
}

static double head_flops(const struct baton_spec *spec)
{
    return 2.0 * baton_spec_head_weights(spec);
}

/* Of all layers. */
static double layers_flops(const struct baton_spec *spec)
{
    double flops = 0;
    for (int i = 0; i < spec->n_layers; i++)
        flops += project_flops(spec, i) + complete_flops(spec, i);
    return flops;
}

/* The weights of the head, and of all else that a pass multiplies with. */
static double head_share(const struct baton_spec *spec)
{
    return head_flops(spec) / (head_flops(spec) + layers_flops(spec));
}

struct bench_work bench_prefill_work(const struct baton_spec *spec, const struct bench_sizes *sizes,
                                     int n_tokens)
{
    double n = n_tokens, head_bytes = sizes->weight_bytes * head_share(spec);
    double matrices = 0, attention = 0;
    for (int i = 0; i < spec->n_layers; i++) {
        bool is_last = i == spec->n_layers - 1;
        matrices += n * project_flops(spec, i) + (is_last ? 1 : n) * complete_flops(spec, i);
        attention += (is_last ? n : n * (n + 1) / 2) * attend_flops(spec, i);
    }
    return (struct bench_work){
        .matrices = {.flops = matrices, .bytes = sizes->weight_bytes - head_bytes},
        .attention = {.flops = attention, .bytes = 2 * n * sizes->kv_token_bytes},
        .head = {.flops = head_flops(spec), .bytes = head_bytes}};
}

struct bench_work bench_decode_work(const struct baton_spec *spec, const struct bench_sizes *sizes,
                                    double n_past, int n_seqs)
{
    double n = n_seqs, attention = 0, head_bytes = sizes->weight_bytes * head_share(spec);
    for (int i = 0; i < spec->n_layers; i++)
        attention += n * (n_past + 1) * attend_flops(spec, i);
    return (struct bench_work){
        .matrices = {.flops = n * layers_flops(spec), .bytes = sizes->weight_bytes - head_bytes},
        .attention = {.flops = attention, .bytes = n * (n_past + 1) * sizes->kv_token_bytes},
        .head = {.flops = n * head_flops(spec), .bytes = head_bytes}};
}
