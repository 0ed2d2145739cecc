#include "bench/roofline.h"

#include "engine/arch/spec_cost.h"

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
    /* of phases bound by arithmetic, and of those bound by memory */
    double compute_s = 0, memory_s = 0;
    for (int i = 0; i < 3; i++)
        *(compute[i] > memory[i] ? &compute_s : &memory_s) +=
            compute[i] > memory[i] ? compute[i] : memory[i];
    return (struct bench_estimate){.seconds = compute_s + memory_s,
                                   .bound = compute_s > memory_s ? "compute" : "memory"};
}

/* Returns the FLOPs of one row through a layer's matrices before attention. */
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

/* Returns the FLOPs of one row's scores and mix over one position. */
static double attend_flops(const struct baton_spec *spec, int layer)
{
    if (spec->latent.n_rank)
        return 2.0 * (baton_latent_query_width(spec) + baton_latent_result_width(spec));
    return 4.0 * baton_spec_q_width(spec, layer);
}

static double input_flops(const struct baton_spec *spec)
{
    return 2.0 * baton_spec_input_weights(spec);
}

static double head_flops(const struct baton_spec *spec)
{
    return 2.0 * baton_spec_head_weights(spec);
}

/* Returns the bytes of K and V of one position of a layer, as its rows read them. */
static double kv_bytes(const struct baton_spec *spec, const struct bench_sizes *sizes, int layer)
{
    int from = spec->layers[layer].kv_from;
    return baton_spec_kept_width(spec, from) * sizes->kv_element_bytes;
}

/* Returns the FLOPs of one row of a layer with a state: a value decays, is read twice and written
 * (docs/design/state.md). */
static double scan_flops(const struct baton_spec *spec)
{
    return 7.0 * baton_state_width(&spec->state) * spec->state.n_keys;
}

/* A sequence's state is read and written once in a step. */
static struct bench_phase scan(const struct baton_spec *spec, double n_rows, double n_seqs)
{
    double n_floats = (double)baton_state_width(&spec->state) * spec->state.n_keys;
    return (struct bench_phase){.flops = n_rows * scan_flops(spec),
                                .bytes = 2 * n_seqs * n_floats * (double)sizeof(float)};
}

static void add(struct bench_phase *phase, struct bench_phase more)
{
    phase->flops += more.flops;
    phase->bytes += more.bytes;
}

/* Returns the bytes of all layers' weights that n_rows rows read. */
static double layers_bytes(const struct baton_spec *spec, const struct bench_sizes *sizes,
                           double n_rows)
{
    double experts = 0;
    if (spec->moe.n_experts)
        experts = sizes->weights.experts * baton_spec_distinct_experts(&spec->moe, n_rows) /
                  spec->moe.n_experts;
    return sizes->weights.layers + experts;
}

static struct bench_phase head_phase(const struct baton_spec *spec, const struct bench_sizes *sizes,
                                     double n_rows)
{
    return (struct bench_phase){.flops = n_rows * head_flops(spec), .bytes = sizes->weights.head};
}

struct bench_work bench_prefill_work(const struct baton_spec *spec, const struct bench_sizes *sizes,
                                     int n_past, int n_tokens)
{
    double n = n_tokens, end = n_past + n, matrices = n * input_flops(spec);
    int last_kv = baton_spec_last_kv_layer(spec);
    struct bench_phase attention = {0};
    for (int i = 0; i < spec->n_layers; i++) {
        /* Behind the last K and V that a layer computes only the last position is needed. */
        bool is_last = i >= last_kv, stores = baton_spec_stores_kv(spec, i);
        int window = spec->layers[i].window;
        double read = baton_spec_seen(window, end), past = n_past;
        double seen = is_last ? read : baton_spec_seen_by_rows(window, past, n);
        matrices += (i > last_kv ? 1 : n) * project_flops(spec, i) +
                    (is_last ? 1 : n) * complete_flops(spec, i);
        if (baton_spec_has_state(spec, i)) {
            add(&attention, scan(spec, n, 1));
            continue;
        }
        attention.flops += seen * attend_flops(spec, i);
        /* Positions beyond the window are not read. */
        past = window && past > window - 1 ? window - 1 : past;
        attention.bytes += (is_last ? read : past + n) * kv_bytes(spec, sizes, i) +
                           (stores ? n * kv_bytes(spec, sizes, i) : 0);
    }
    return (struct bench_work){
        .matrices = {.flops = matrices, .bytes = layers_bytes(spec, sizes, n)},
        .attention = attention,
        .head = head_phase(spec, sizes, 1)};
}

struct bench_work bench_decode_work(const struct baton_spec *spec, const struct bench_sizes *sizes,
                                    double n_past, int n_seqs)
{
    double n = n_seqs, matrices = n * input_flops(spec);
    struct bench_phase attention = {0};
    for (int i = 0; i < spec->n_layers; i++) {
        double seen = n * baton_spec_seen(spec->layers[i].window, n_past + 1);
        matrices += n * (project_flops(spec, i) + complete_flops(spec, i));
        if (baton_spec_has_state(spec, i)) {
            add(&attention, scan(spec, n, n));
            continue;
        }
        attention.flops += seen * attend_flops(spec, i);
        attention.bytes += seen * kv_bytes(spec, sizes, i);
    }
    return (struct bench_work){
        .matrices = {.flops = matrices, .bytes = layers_bytes(spec, sizes, n)},
        .attention = attention,
        .head = head_phase(spec, sizes, n)};
}
