#include "tests/unit/engine/unit.h"

#include "common/engine/kernels/kernels.h"
#include "common/engine/kv.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS };

static double gelu_new(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

/* ---- linear ---- */

struct linear_case {
    struct baton_linear job;
    float *x, *weights, *bias, *before;
};

static void make_case(struct linear_case *c, int n_rows, int n_in, int n_out, int epilogue)
{
    c->x = random_floats((size_t)n_rows * n_in, 1);
    c->weights = random_floats((size_t)n_out * n_in, 2);
    c->bias = random_floats((size_t)n_out, 3);
    c->before = random_floats((size_t)n_rows * n_out, 4);
    c->job = (struct baton_linear){.x = c->x,
                                   .weights = c->weights,
                                   .bias = epilogue == BATON_STORE ? NULL : c->bias,
                                   .y = random_floats((size_t)n_rows * n_out, 4),
                                   .n_rows = n_rows,
                                   .n_in = n_in,
                                   .n_out = n_out,
                                   .epilogue = (enum baton_epilogue)epilogue};
}

static void free_case(struct linear_case *c)
{
    free(c->x);
    free(c->weights);
    free(c->bias);
    free(c->before);
    free(c->job.y);
}

static double naive_output(const struct linear_case *c, int row, int out)
{
    const struct baton_linear *job = &c->job;
    double sum = job->bias ? job->bias[out] : 0;
    for (int k = 0; k < job->n_in; k++)
        sum += (double)c->x[row * job->n_in + k] * c->weights[out * job->n_in + k];
    if (job->epilogue == BATON_GELU_TANH)
        return gelu_new(sum);
    return job->epilogue == BATON_ADD ? sum + c->before[row * job->n_out + out] : sum;
}

static void assert_outputs_match(const struct linear_case *c, int first, int end)
{
    double tolerance = 2e-7 * (8 + c->job.n_in);
    for (int row = 0; row < c->job.n_rows; row++)
        for (int out = 0; out < c->job.n_out; out++) {
            int at = row * c->job.n_out + out;
            if (out >= first && out < end)
                assert_true(fabs((double)c->job.y[at] - naive_output(c, row, out)) < tolerance);
            else
                assert_true(c->job.y[at] == c->before[at]);
        }
}

static const int odd_sizes[][3] = {/* rows, in, out */
                                   {1, 1, 1},    {1, 16, 16},  {1, 17, 33},  {2, 15, 5},
                                   {3, 64, 16},  {4, 100, 20}, {5, 31, 47},  {7, 768, 3},
                                   {8, 256, 64}, {9, 48, 15},  {31, 33, 18}, {32, 16, 17},
                                   {33, 50, 35}, {70, 19, 21}, {1, 3, 130},  {6, 2, 2},
                                   {130, 37, 41}};

enum { N_SIZES = sizeof odd_sizes / sizeof odd_sizes[0] };

static void few_row_kernels_match_the_naive_product_on_odd_shapes(void **state)
{
    const struct baton_kernels *kernels;
    (void)state;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (int i = 0; i < 3 * N_SIZES; i++) {
            struct linear_case c;
            const int *size = odd_sizes[i / 3];
            make_case(&c, size[0], size[1], size[2], i % 3);
            int first = size[2] / 5, end = size[2] - size[2] / 7;
            kernels->linear(&c.job, first, end);
            assert_outputs_match(&c, first, end);
            free_case(&c);
        }
}

static void the_dense_path_matches_the_naive_product_on_odd_shapes(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * N_SIZES; i++) {
        struct linear_case c;
        const int *size = odd_sizes[i / 3];
        make_case(&c, size[0], size[1], size[2], i % 3);
        int first = size[2] / 5, end = size[2] - size[2] / 7;
        baton_dense_linear(baton_kernels_best(), &c.job, first, end);
        assert_outputs_match(&c, first, end);
        free_case(&c);
    }
}

static void a_row_has_the_same_bits_alone_and_among_others(void **state)
{
    enum { ROWS = 37, IN = 83, OUT = 29 };
    const struct baton_kernels *kernels;
    (void)state;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
        struct linear_case c;
        float alone[OUT];
        make_case(&c, ROWS, IN, OUT, BATON_GELU_TANH);
        kernels->linear(&c.job, 0, OUT);
        for (int row = 0; row < ROWS; row++) {
            struct baton_linear job = c.job;
            job.x += row * IN;
            job.y = alone;
            job.n_rows = 1;
            kernels->linear(&job, 0, 13); /* and however the outputs are shared out */
            kernels->linear(&job, 13, OUT);
            assert_memory_equal(alone, c.job.y + row * OUT, sizeof alone);
        }
        free_case(&c);
    }
}

static void avx2_and_avx512_give_the_same_bits(void **state)
{
    const struct baton_kernels *wide = baton_kernels_at(0), *narrow = baton_kernels_at(1);
    struct linear_case a, b;
    (void)state;
    if (!narrow || strcmp(wide->name, "avx512") != 0)
        skip();
    make_case(&a, 11, 203, 37, BATON_GELU_TANH);
    make_case(&b, 11, 203, 37, BATON_GELU_TANH);
    wide->linear(&a.job, 0, 37);
    narrow->linear(&b.job, 0, 37);
    assert_memory_equal(a.job.y, b.job.y, (size_t)11 * 37 * sizeof(float));
    free_case(&a);
    free_case(&b);
}

/* ---- elementwise ---- */

static void gelu_is_within_a_millionth_of_the_exact_tanh_form(void **state)
{
    const struct baton_kernels *kernels;
    (void)state;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (double x = -30; x < 30; x += 0.0137) {
            float in = (float)x, one = 1, y = 0;
            const struct baton_linear job = {.x = &in,
                                             .weights = &one,
                                             .y = &y,
                                             .n_rows = 1,
                                             .n_in = 1,
                                             .n_out = 1,
                                             .epilogue = BATON_GELU_TANH};
            kernels->linear(&job, 0, 1);
            assert_true(fabs((double)y - gelu_new(in)) <= 1e-6 * fmax(1, fabs(x)));
        }
}

/* ---- the sampler's ---- */

static const size_t row_sizes[] = {1, 2, 15, 16, 17, 63, 64, 65, 255, 256, 257, 300, 1000};

enum { N_ROW_SIZES = sizeof row_sizes / sizeof row_sizes[0], MAX_ROW = 1000, VECTOR = 16 };

static void weights_are_accurate_and_end_in_zero(void **state)
{
    const struct baton_kernels *kernels;
    (void)state;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
        float y[5];
        const float ends[] = {-INFINITY, -200, 3, NAN, -3.4e38F};
        assert_true(kernels->weigh(y, ends, 3, 1, 5) == 1);
        assert_true(y[0] == 0 && y[1] == 0 && y[2] == 1 && y[3] == 0 && y[4] == 0);
        assert_true(kernels->weigh(y, ends, 3, 3.4e38F, 5) == 1);
        for (float x = -87; x <= 1; x += 0.00731F) {
            float moved = x;
            double sum = kernels->weigh(y, &moved, 1, 0.5F, 1), exact = exp((moved - 1.0F) * 0.5);
            assert_true(fabs((double)y[0] - exact) <= 2e-7 * exact && sum == y[0]);
        }
    }
}

static void weights_sum_up_over_any_length(void **state)
{
    const struct baton_kernels *kernels;
    (void)state;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (int i = 0; i < N_ROW_SIZES; i++) {
            size_t n = row_sizes[i];
            float *x = random_floats(n, 21), *y = random_floats(n + 1, 22), after = y[n];
            double sum = kernels->weigh(y, x, 1, 3, n), exact = 0;
            for (size_t p = 0; p < n; p++)
                exact += (double)y[p];
            assert_true(fabs(sum - exact) <= 1e-14 * exact && y[n] == after);
            assert_true(kernels->weigh(x, x, 1, 3, n) == sum); /* in place */
            assert_memory_equal(x, y, n * sizeof *x);
            free(x);
            free(y);
        }
}

static float naive_max(const float *x, size_t first, size_t end, size_t step)
{
    float max = -INFINITY;
    for (size_t i = first; i < end; i += step)
        max = x[i] > max ? x[i] : max;
    return max;
}

static void maxima_pass_over_nan(void **state)
{
    enum { GROUP = VECTOR * VECTOR };
    const struct baton_kernels *kernels;
    (void)state;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (int i = 0; i < N_ROW_SIZES; i++) {
            size_t n = row_sizes[i];
            float *x = random_floats(n, 31), maxima[MAX_ROW];
            for (size_t p = 0; p < n; p += 3)
                x[p] = NAN;
            assert_true(kernels->max(x, n) == naive_max(x, 0, n, 1));
            kernels->maxima(maxima, x, n);
            for (size_t g = 0; g < (n + GROUP - 1) / GROUP * VECTOR; g++) {
                size_t first = g / VECTOR * GROUP, end = first + GROUP < n ? first + GROUP : n;
                assert_true(maxima[g] == naive_max(x, first + g % VECTOR, end, VECTOR));
            }
            free(x);
        }
}

static void assert_keeps(const struct baton_kernels *kernels, size_t n, float least, bool with_ids)
{
    float *x = random_floats(n + VECTOR, 41), y[MAX_ROW + VECTOR];
    uint32_t ids[MAX_ROW + VECTOR], y_ids[MAX_ROW + VECTOR];
    x[n / 2] = NAN;
    for (uint32_t i = 0; i < n; i++)
        ids[i] = 7 * i + 1;
    size_t n_kept = kernels->keep(y, y_ids, x, with_ids ? ids : NULL, least, n), at = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!(x[i] >= least))
            continue;
        assert_true(at < n_kept && y[at] == x[i]);
        assert_int_equal(y_ids[at++], with_ids ? ids[i] : i);
    }
    assert_int_equal(at, n_kept);
    assert_int_equal(kernels->keep(x, ids, x, with_ids ? ids : NULL, least, n), n_kept);
    assert_memory_equal(x, y, n_kept * sizeof *x);
    assert_memory_equal(ids, y_ids, n_kept * sizeof *ids);
    free(x);
}

static void keeping_gathers_in_order_also_in_place(void **state)
{
    const struct baton_kernels *kernels;
    const float leasts[] = {-INFINITY, -1, -0.5F, 0, 0.9F, 2};
    (void)state;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (int i = 0; i < N_ROW_SIZES * 6; i++) {
            assert_keeps(kernels, row_sizes[i / 6], leasts[i % 6], false);
            assert_keeps(kernels, row_sizes[i / 6], leasts[i % 6], true);
        }
}

static void layer_norm_matches_the_formula_on_odd_widths(void **state)
{
    const struct baton_kernels *kernels;
    const int widths[] = {1, 5, 15, 16, 17, 48, 100, 767, 768};
    (void)state;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
            int n = widths[w];
            float *x = random_floats((size_t)n, 5), *weight = random_floats((size_t)n, 6);
            float *bias = random_floats((size_t)n, 7), *y = random_floats((size_t)n, 8);
            double mean = 0, variance = 0;
            for (int i = 0; i < n; i++)
                mean += (double)x[i] / n;
            for (int i = 0; i < n; i++)
                variance += (x[i] - mean) * (x[i] - mean) / n;
            kernels->layer_norm(y, x, weight, bias, n, 1e-5F);
            for (int i = 0; i < n; i++) {
                double exact = (x[i] - mean) / sqrt(variance + 1e-5) * weight[i] + bias[i];
                assert_true(fabs(y[i] - exact) < 1e-5);
            }
            free(x);
            free(weight);
            free(bias);
            free(y);
        }
}

/* ---- attention ---- */

enum { N_BLOCKS = 12, MAX_POSITIONS = N_BLOCKS * BLOCK };

struct attention_case {
    int dim;
    float *q, *k, *v; /* [D], [positions][D] */
    float *layer;     /* the same K and V in blocks, other slots NaN */
    int blocks[N_BLOCKS];
    float scores[MAX_POSITIONS];
};

static void make_attention(struct attention_case *c, int dim)
{
    size_t block_floats = (size_t)2 * BLOCK * dim;
    c->dim = dim;
    c->q = random_floats((size_t)dim, 10);
    c->k = random_floats((size_t)MAX_POSITIONS * dim, 11);
    c->v = random_floats((size_t)MAX_POSITIONS * dim, 12);
    c->layer = calloc(2 * N_BLOCKS * block_floats, sizeof *c->layer);
    assert_non_null(c->layer);
    for (size_t i = 0; i < 2 * N_BLOCKS * block_floats; i++)
        c->layer[i] = NAN;
    for (int b = 0; b < N_BLOCKS; b++)
        c->blocks[b] = b * 7 % N_BLOCKS * 2 + 1; /* scattered */
}

static void place(struct attention_case *c, int position)
{
    float *block = c->layer + (size_t)c->blocks[position / BLOCK] * 2 * BLOCK * c->dim;
    for (int d = 0; d < c->dim; d++) {
        block[d * BLOCK + position % BLOCK] = c->k[position * c->dim + d];
        block[(BLOCK + position % BLOCK) * c->dim + d] = c->v[position * c->dim + d];
    }
}

static void free_attention(struct attention_case *c)
{
    free(c->q);
    free(c->k);
    free(c->v);
    free(c->layer);
}

static void naive_attention(const struct attention_case *c, int n, double scale, double *out)
{
    double weights[MAX_POSITIONS], sum = 0;
    for (int p = 0; p < n; p++) {
        double score = 0;
        for (int d = 0; d < c->dim; d++)
            score += (double)c->q[d] * c->k[p * c->dim + d];
        weights[p] = exp(score * scale);
        sum += weights[p];
    }
    for (int d = 0; d < c->dim; d++) {
        out[d] = 0;
        for (int p = 0; p < n; p++)
            out[d] += weights[p] / sum * c->v[p * c->dim + d];
    }
}

static void run_attention(const struct baton_kernels *kernels, struct attention_case *c, int n,
                          float *out)
{
    const struct baton_attend job = {.q = c->q,
                                     .out = out,
                                     .layer = c->layer,
                                     .blocks = c->blocks,
                                     .block_floats = (size_t)2 * BLOCK * c->dim,
                                     .v_offset = (size_t)BLOCK * c->dim,
                                     .n_positions = n,
                                     .head_dim = c->dim,
                                     .scale = 2.5F,
                                     .scores = c->scores};
    kernels->attend(&job);
}

static void attention_over_scattered_blocks_matches_the_naive_sum(void **state)
{
    const struct baton_kernels *kernels;
    const int dims[] = {1, 3, 16, 17, 32, 64, 80, 128, 145};
    (void)state;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
            struct attention_case c;
            float out[145];
            double exact[145];
            make_attention(&c, dims[i]);
            for (int n = 1; n <= MAX_POSITIONS; n++) {
                place(&c, n - 1);
                if (n % 5 && n % BLOCK > 1)
                    continue;
                run_attention(kernels, &c, n, out);
                naive_attention(&c, n, 2.5, exact);
                for (int d = 0; d < dims[i]; d++)
                    assert_true(fabs((double)out[d] - exact[d]) < 1e-5);
            }
            free_attention(&c);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_row_kernels_match_the_naive_product_on_odd_shapes),
        cmocka_unit_test(the_dense_path_matches_the_naive_product_on_odd_shapes),
        cmocka_unit_test(a_row_has_the_same_bits_alone_and_among_others),
        cmocka_unit_test(avx2_and_avx512_give_the_same_bits),
        cmocka_unit_test(gelu_is_within_a_millionth_of_the_exact_tanh_form),
        cmocka_unit_test(weights_are_accurate_and_end_in_zero),
        cmocka_unit_test(weights_sum_up_over_any_length),
        cmocka_unit_test(maxima_pass_over_nan),
        cmocka_unit_test(keeping_gathers_in_order_also_in_place),
        cmocka_unit_test(layer_norm_matches_the_formula_on_odd_widths),
        cmocka_unit_test(attention_over_scattered_blocks_matches_the_naive_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
