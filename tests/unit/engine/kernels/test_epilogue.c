/* The epilogues of products, in every kernel set and dtype: scaled, activated, gated. */
#include "tests/unit/engine/kernels/guarded.h"
#include "tests/unit/engine/kernels/product.h"
#include "tests/unit/engine/unit.h"

#include "tests/support/kernel_sets.h"

static void for_each_set(void (*test)(const struct baton_kernels *kernels, int dtype))
{
    const struct baton_kernels *kernels;
    for (int i = 0; (kernels = kernel_sets_at(i)); i++)
        for (int dtype = 0; dtype < BATON_N_DTYPES; dtype++)
            if (kernels->dtypes[dtype].linear)
                test(kernels, dtype);
}

static const float xielu_numbers[] = {0.75F, 0.875F, 0.5F, -1e-6F};
static const double xielu[] = {0.75, 0.875, 0.5, -1e-6};

static double activate(enum baton_activation activation, double x)
{
    switch (activation) {
    case BATON_ACT_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case BATON_ACT_GELU_ERF:
        return 0.5 * x * erfc(-x / sqrt(2));
    case BATON_ACT_SILU:
        return x / (1 + exp(-x));
    case BATON_ACT_RELU:
        return fmax(0, x);
    case BATON_ACT_RELU2:
        return fmax(0, x) * fmax(0, x);
    case BATON_ACT_SWIGLU_CLIP:
        break;
    case BATON_ACT_XIELU:
        return xielu[2] * x +
               (x > 0 ? xielu[0] * x * x : xielu[1] * (expm1(fmin(x, xielu[3])) - x));
    }
    return x;
}

static double open_gate(enum baton_activation activation, double gate, double up)
{
    if (activation != BATON_ACT_SWIGLU_CLIP)
        return activate(activation, gate) * up;
    gate = fmin(gate, 7);
    return gate / (1 + exp(-1.702 * gate)) * (fmax(-7, fmin(7, up)) + 1);
}

/* The products of p, the bias added, as BATON_STORE gives them. */
static float *store_results(const struct product *p)
{
    const struct baton_linear job = product_job(p, BATON_STORE, true);
    float *results = random_floats((size_t)p->n_rows * (size_t)p->n_out, 0);
    baton_kernels_linear(p->kernels, &job, 0, p->n_out);
    memcpy(results, p->y, product_y_bytes(p));
    return results;
}

static void assert_scaled(const struct product *p, const float *results, enum baton_epilogue_kind k,
                          float scale)
{
    struct baton_linear job = product_job(p, k, true);
    job.epilogue.scale = scale;
    memcpy(p->y, p->before, product_y_bytes(p));
    baton_kernels_linear(p->kernels, &job, 0, p->n_out);
    for (int at = 0; at < p->n_rows * p->n_out; at++) {
        double exact = (double)scale * (double)results[at];
        double tolerance = 2e-6 * (1 + fabs(exact));
        exact += k == BATON_ADD ? (double)p->before[at] : 0;
        assert_true(fabs((double)p->y[at] - exact) <= tolerance);
    }
}

static void check_scales(const struct baton_kernels *kernels, int dtype)
{
    for (int n_rows = 1; n_rows < 150; n_rows += 1 + 3 * n_rows) {
        struct product p;
        product_init(&p, kernels, dtype, n_rows, 70, 37);
        float *results = store_results(&p);
        assert_scaled(&p, results, BATON_STORE, 0.0625F);
        assert_scaled(&p, results, BATON_ADD, 0.22F);
        free(results);
        product_fini(&p);
    }
}

TEST(results_are_scaled_before_they_are_stored_or_added)
{
    for_each_set(check_scales);
}

/* Outputs whose products are 0, so that their biases are what is activated: the next of -30 to 30,
 * and some beyond. */
static void check_activations(const struct baton_kernels *kernels, int dtype)
{
    enum { N_OUT = 150 };
    struct product p;
    product_init(&p, kernels, dtype, 1, 1, N_OUT);
    product_clear(&p);
    struct baton_linear job = product_job(&p, BATON_ACTIVATE, true);
    job.epilogue.xielu = xielu_numbers;
    for (int a = 0; a <= BATON_ACT_XIELU; a++) {
        job.epilogue.activation = (enum baton_activation)a;
        if (a == BATON_ACT_SWIGLU_CLIP)
            continue;
        for (double x = -30; x < 30; x += 0.0137 * N_OUT) {
            for (int out = 0; out < N_OUT; out++)
                p.bias[out] = (float)(x + 0.0137 * out);
            baton_kernels_linear(kernels, &job, 0, N_OUT);
            for (int out = 0; out < N_OUT; out++) {
                double exact = activate(job.epilogue.activation, (double)p.bias[out]);
                assert_true(fabs((double)p.y[out] - exact) <= 1e-6 * fmax(1, fabs(exact)));
            }
        }
    }
    product_fini(&p);
}

TEST(activations_are_within_a_millionth_of_their_formulas)
{
    for_each_set(check_activations);
}

TEST(activations_hold_at_the_ends)
{
    const struct baton_kernels *kernels = baton_kernels_best();
    struct product p;
    product_init(&p, kernels, BATON_BF16, 1, 1, 2);
    product_clear(&p);
    struct baton_linear job = product_job(&p, BATON_ACTIVATE, true);
    for (int a = 0; a <= BATON_ACT_RELU2; a++) {
        job.epilogue.activation = (enum baton_activation)a;
        p.bias[0] = -1e4F;
        p.bias[1] = 1e4F;
        baton_kernels_linear(kernels, &job, 0, 2);
        assert_true(fabsf(p.y[0]) < 1e-30F);
        assert_true(p.y[1] == (a == BATON_ACT_RELU2 ? 1e8F : 1e4F));
        p.bias[0] = p.bias[1] = NAN;
        baton_kernels_linear(kernels, &job, 0, 2);
        assert_true(isnan(p.y[0]) && isnan(p.y[1]));
    }
    product_fini(&p);
}

/* ---- gates ---- */

static const enum baton_activation gates[] = {BATON_ACT_SILU, BATON_ACT_GELU_TANH,
                                              BATON_ACT_GELU_ERF, BATON_ACT_SWIGLU_CLIP};

static struct baton_linear gated_job(const struct product *p, int n_ff, int gate, float *y)
{
    struct baton_linear job = product_job(p, BATON_GATE, true);
    job.epilogue.activation = gates[gate];
    job.epilogue.n_ff = n_ff;
    job.y = y;
    job.y_stride = n_ff;
    return job;
}

/* Biases of up to 10, so that the clipped form's ends are met. */
static void init_gated(struct product *p, const struct baton_kernels *kernels, int dtype,
                       int n_rows, int n_ff)
{
    product_init(p, kernels, dtype, n_rows, 77, baton_gated_n_out(n_ff));
    for (int out = 0; out < p->n_out; out++)
        p->bias[out] = (float)(out * 7 % 41 - 20) / 2;
}

static void assert_gated(const struct product *p, int n_ff, int gate, const float *results,
                         const float *y)
{
    for (int row = 0; row < p->n_rows; row++)
        for (int out = 0; out < p->n_out; out++) {
            const float *result = results + (size_t)row * p->n_out + out;
            int of = baton_gated_output(out);
            if (baton_is_up_row(out) || of >= n_ff)
                continue;
            double g = result[0], u = result[BATON_PANEL], exact = open_gate(gates[gate], g, u);
            assert_true(fabs((double)y[row * n_ff + of] - exact) <=
                        3e-6 * (1 + fabs(g)) * (1 + fabs(u)));
        }
}

static void check_gates(const struct baton_kernels *kernels, int dtype)
{
    static const int rows[] = {1, 2, 5, 16, 17, 33, 130, 300}, ffs[] = {1, 16, 21, 64, 150};
    const int step = kernel_sets_is_slow(kernels) ? 3 : 1;
    for (int i = 0; i < 8 * 5; i += step) {
        struct product p;
        int n_rows = rows[i % 8], n_ff = ffs[i / 8], border = baton_gated_n_out(n_ff) / 64 * 32;
        size_t n_bytes = (size_t)n_rows * (size_t)n_ff * sizeof(float);
        init_gated(&p, kernels, dtype, n_rows, n_ff);
        float *results = store_results(&p), *y = guarded_create(n_bytes, sizeof *y);
        const struct baton_linear job = gated_job(&p, n_ff, i % 4, y);
        baton_kernels_linear(kernels, &job, border, p.n_out);
        baton_kernels_linear(kernels, &job, 0, border);
        assert_gated(&p, n_ff, i % 4, results, y);
        free(results);
        guarded_destroy(y, n_bytes);
        product_fini(&p);
    }
}

TEST(a_gate_and_its_up_give_one_output)
{
    for_each_set(check_gates);
}

/* Each row alone against all of them. openblas promises it only where rows are few. */
static void check_gated_rows_alone(const struct baton_kernels *kernels, int dtype)
{
    enum { N_FF = 53 };
    struct product p;
    int n_rows = kernels->layout == BATON_PANELS ? 100 : 12;
    size_t row_bytes = baton_quantized_bytes(kernels, (enum baton_dtype)dtype, 1, 77);
    init_gated(&p, kernels, dtype, n_rows, N_FF);
    float *all = random_floats((size_t)n_rows * N_FF, 0), y[N_FF];
    struct baton_linear job = gated_job(&p, N_FF, 0, all);
    baton_kernels_linear(kernels, &job, 0, p.n_out);
    job.n_rows = 1;
    job.y = y;
    for (int row = 0; row < n_rows; row++) {
        job.x = (const char *)p.quantized + (size_t)row * row_bytes;
        baton_kernels_linear(kernels, &job, 0, p.n_out);
        assert_memory_equal(y, all + row * N_FF, sizeof y);
    }
    free(all);
    product_fini(&p);
}

TEST(a_gated_row_has_the_same_bits_alone_and_among_others)
{
    for_each_set(check_gated_rows_alone);
}
