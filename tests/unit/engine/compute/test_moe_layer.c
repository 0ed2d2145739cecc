/* A whole mixture beside the naive sum in double, from the weights as the kernels see them. */
#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include "engine/compute/forward.h"
#include "engine/compute/moe/route.h"
#include "tests/support/kernel_sets.h"

enum { N_ROWS = 37, MAX_WIDTH = 128, MAX_EXPERTS = 64 };

static const struct {
    struct baton_moe_spec moe;
    int n_embd;
    enum baton_activation activation;
    bool has_bias;
} shapes[] = {
    {{.n_experts = 5, .n_chosen = 2, .n_ff = 24, .renormalises = true}, 40, BATON_ACT_SILU, false},
    {{.n_experts = 16, .n_chosen = 8, .n_ff = 33}, 64, BATON_ACT_SILU, false},
    {{.n_experts = 6, .n_chosen = 3, .n_ff = 16, .n_ff_shared = 50, .has_shared_gate = true},
     72,
     BATON_ACT_SILU,
     false},
    {{.n_experts = 4, .n_chosen = 1, .n_ff = 48, .n_ff_shared = 17, .renormalises = true},
     33,
     BATON_ACT_GELU_TANH,
     false},
    {{.n_experts = 64, .n_chosen = 4, .n_ff = 32, .renormalises = true},
     96,
     BATON_ACT_SWIGLU_CLIP,
     true},
    {{.n_experts = 1, .n_chosen = 1, .n_ff = 20, .renormalises = true}, 32, BATON_ACT_SILU, false},
};

static void describe(size_t shape, struct baton_spec *spec)
{
    *spec = (struct baton_spec){.n_layers = 1,
                                .n_embd = shapes[shape].n_embd,
                                .n_heads = 2,
                                .n_vocab = 7,
                                .n_context = 8,
                                .norm = BATON_RMS_NORM,
                                .norm_epsilon = 1e-5F,
                                .mlp = BATON_MLP_GATED,
                                .activation = shapes[shape].activation,
                                .has_mlp_bias = shapes[shape].has_bias,
                                .has_router_bias = shapes[shape].has_bias,
                                .has_tied_head = true,
                                .embed_scale = 1,
                                .residual_scale = 1,
                                .logit_scale = 1,
                                .moe = shapes[shape].moe};
    spec->layers[0] =
        (struct baton_layer_spec){.n_kv_heads = 1, .head_dim = 8, .rope = -1, .is_moe = true};
}

/* ---- The naive sum ---- */

static double dot(const struct baton_matrix *matrix, int out, const double *x)
{
    float row[MAX_WIDTH];
    double sum = matrix->bias ? (double)matrix->bias[out] : 0;
    baton_matrix_row(matrix, out, row);
    for (int i = 0; i < matrix->n_in; i++)
        sum += (double)row[i] * x[i];
    return sum;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double open_gate(enum baton_activation activation, double gate, double up)
{
    switch (activation) {
    case BATON_ACT_SILU:
        return gate * sigmoid(gate) * up;
    case BATON_ACT_GELU_TANH:
        return 0.5 * gate * (1 + tanh(sqrt(2 / M_PI) * (gate + 0.044715 * gate * gate * gate))) *
               up;
    default:
        gate = fmin(gate, 7);
        return gate * sigmoid(1.702 * gate) * (fmax(fmin(up, 7), -7) + 1);
    }
}

/* y += weight * down(act(gate x) * up x) */
static void add_mlp(const struct baton_matrix *up, const struct baton_matrix *down,
                    enum baton_activation activation, double weight, const double *x, double *y)
{
    double hidden[MAX_WIDTH];
    for (int f = 0; f < down->n_in; f++) {
        int gate = f / BATON_PANEL * 2 * BATON_PANEL + f % BATON_PANEL;
        hidden[f] = open_gate(activation, dot(up, gate, x), dot(up, gate + BATON_PANEL, x));
    }
    for (int c = 0; c < down->n_out; c++)
        y[c] += weight * dot(down, c, hidden);
}

static void run_naive(const struct baton_model *model, const float *in, double *y)
{
    const struct baton_moe_spec *moe = &model->spec.moe;
    const struct baton_mlp *mlp = &model->layers[0].mlp;
    double x[MAX_WIDTH];
    float logits[MAX_EXPERTS + 1], weights[MAX_EXPERTS];
    int experts[MAX_EXPERTS];
    for (int i = 0; i < model->spec.n_embd; i++)
        x[i] = (double)in[i];
    for (int e = 0; e < mlp->router.n_out; e++)
        logits[e] = (float)dot(&mlp->router, e, x);
    baton_moe_route(moe, logits, NULL, experts, weights);
    for (int i = 0; i < moe->n_chosen; i++) {
        struct baton_matrix up = baton_matrix_of_expert(&mlp->up, experts[i]);
        struct baton_matrix down = baton_matrix_of_expert(&mlp->down, experts[i]);
        add_mlp(&up, &down, model->spec.activation, (double)weights[i], x, y);
    }
    if (moe->n_ff_shared)
        add_mlp(&mlp->shared_up, &mlp->shared_down, model->spec.activation,
                moe->has_shared_gate ? sigmoid((double)logits[moe->n_experts]) : 1, x, y);
}

/* ---- The mixture ---- */

struct mixture {
    struct baton_model *model;
    struct baton_forward forward;
    float *scratch, *moe, *quantized;
};

static bool make_mixture(struct mixture *mixture, size_t shape, const struct baton_kernels *kernels,
                         enum baton_dtype dtype)
{
    static struct baton_spec spec;
    const struct baton_model_options options = {.dtype = baton_dtype_name(dtype),
                                                .kernels = kernel_sets_name(kernels)};
    struct baton_forward *forward = &mixture->forward;
    describe(shape, &spec);
    if (baton_model_random(&spec, 11 + shape, &options, &mixture->model, NULL))
        return false;
    kernel_sets_give(mixture->model, kernels);
    *forward = (struct baton_forward){.model = mixture->model, .kernels = kernels};
    assert_ok(baton_pool_create(2, &forward->pool, NULL));
    mixture->scratch = calloc(baton_forward_place(forward, NULL, N_ROWS), 1);
    mixture->moe = aligned_alloc(64, baton_moe_place(&forward->moe, mixture->model, NULL, N_ROWS));
    mixture->quantized =
        aligned_alloc(64, (baton_forward_quantized_bytes(mixture->model, N_ROWS) + 63) / 64 * 64);
    assert_true(mixture->scratch && mixture->moe && mixture->quantized);
    (void)baton_forward_place(forward, (char *)mixture->scratch, N_ROWS);
    (void)baton_moe_place(&forward->moe, mixture->model, (char *)mixture->moe, N_ROWS);
    forward->quantized = mixture->quantized;
    return true;
}

static void free_mixture(struct mixture *mixture)
{
    baton_pool_destroy(mixture->forward.pool);
    baton_model_close(mixture->model);
    free(mixture->scratch);
    free(mixture->moe);
    free(mixture->quantized);
}

static void run(struct mixture *mixture, const float *in, int n_rows, float *y)
{
    const struct baton_epilogue store = {.kind = BATON_STORE, .scale = 1};
    mixture->forward.n_rows = n_rows;
    baton_moe_run(&mixture->forward, &mixture->model->layers[0].mlp, in, y, store);
}

static double largest(const double *y, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(y[i]));
    return most;
}

static void check_rows(struct mixture *mixture, const float *in, const float *y, double tolerance)
{
    int n_embd = mixture->model->spec.n_embd;
    for (int r = 0; r < N_ROWS; r++) {
        double naive[MAX_WIDTH] = {0};
        run_naive(mixture->model, in + (ptrdiff_t)r * n_embd, naive);
        double most = largest(naive, n_embd);
        for (int c = 0; c < n_embd; c++)
            assert_true(fabs((double)y[r * n_embd + c] - naive[c]) <= tolerance * most);
    }
}

/* Whatever rows it is computed with, a row has the same bits; openblas chooses by their number. */
static void check_alone(struct mixture *mixture, const float *in, const float *y)
{
    int n_embd = mixture->model->spec.n_embd;
    float alone[3 * MAX_WIDTH];
    if (mixture->forward.kernels->layout == BATON_ROWS)
        return;
    for (int r = 0; r < N_ROWS; r += 5) {
        int n = r % 2 && r + 3 <= N_ROWS ? 3 : 1;
        run(mixture, in + (ptrdiff_t)r * n_embd, n, alone);
        assert_memory_equal(alone, y + (ptrdiff_t)r * n_embd,
                            (size_t)n * (size_t)n_embd * sizeof *y);
    }
}

/* In f32 only sums differ; bf16 and q8 round the rows too. */
static const double tolerances[BATON_N_DTYPES] = {
    [BATON_F32] = 2e-5, [BATON_BF16] = 2e-2, [BATON_Q8] = 4e-2};

static void check_mixture(size_t shape, const struct baton_kernels *kernels, enum baton_dtype dtype)
{
    struct mixture mixture = {0};
    assert_true(make_mixture(&mixture, shape, kernels, dtype));
    size_t n = (size_t)N_ROWS * (size_t)mixture.model->spec.n_embd;
    float *in = random_floats(n, 5 + shape), *y = calloc(n, sizeof *y);
    assert_non_null(y);
    for (size_t i = 0; i < n; i++)
        in[i] *= 8; /* far from zero, where gates do little */
    run(&mixture, in, N_ROWS, y);
    check_rows(&mixture, in, y, tolerances[dtype]);
    check_alone(&mixture, in, y);
    free(in);
    free(y);
    free_mixture(&mixture);
}

TEST(each_row_gets_the_weighted_sum_of_its_experts)
{
    const struct baton_kernels *kernels;
    for (int i = 0; (kernels = kernel_sets_at(i)); i++)
        for (int dtype = 0; dtype < BATON_F16; dtype++)
            for (size_t s = 0; s < BATON_N_OF(shapes); s++)
                if (kernels->dtypes[dtype].linear)
                    check_mixture(s, kernels, (enum baton_dtype)dtype);
}
