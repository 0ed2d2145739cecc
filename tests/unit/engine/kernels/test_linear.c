/* The products of every kernel set in every dtype it has, against the plain sum over the weights
 * and the activations as they really are rounded. */
#include "tests/unit/engine/kernels/guarded.h"
#include "tests/unit/engine/kernels/product.h"
#include "tests/unit/engine/unit.h"

#include <float.h>

#include "engine/kernels/pack/quantized.h"
#include "tests/support/kernel_sets.h"

enum { MAX_OUT = 150 };

/* Runs a test over every kernel set this CPU has and every dtype the set has. */
static void for_each_set(void (*test)(const struct baton_kernels *kernels, int dtype))
{
    const struct baton_kernels *kernels;
    for (int i = 0; (kernels = kernel_sets_at(i)); i++)
        for (int dtype = 0; dtype < BATON_N_DTYPES; dtype++)
            if (kernels->dtypes[dtype].linear)
                test(kernels, dtype);
}

/* ---- against the plain sum ---- */

struct sum {
    double exact, tolerance; /* any order of float additions ends within it */
    float chain;             /* one multiply-add after the other */
};

static struct sum plain_sum(const struct product *p, int row, int out)
{
    const float *x = p->inputs + row * p->n_in, *w = p->weights + out * p->n_in;
    struct sum sum = {0};
    double magnitude = 0;
    for (int k = 0; k < p->n_in; k++) {
        sum.exact += (double)x[k] * w[k];
        magnitude += fabs((double)x[k] * w[k]);
        sum.chain = fmaf(x[k], w[k], sum.chain);
    }
    sum.tolerance = (p->n_in + 4) * (FLT_EPSILON * magnitude) + FLT_MIN;
    if (p->packed.dtype == BATON_F32 && !p->kernels->dtypes[BATON_F32].copies)
        sum.tolerance += 3 * 0x1p-16 * magnitude; /* two remainders, and low times low */
    return sum;
}

static double gelu_new(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

static bool is_a_chain_of_fma(const struct product *p)
{
    bool keeps_rows = p->packed.dtype == BATON_F32 || p->packed.dtype == BATON_F16;
    return keeps_rows && kernel_sets_are_alike(p->kernels->name, p->kernels->name, p->packed.dtype);
}

static void assert_output_matches(const struct product *p, const struct baton_linear *job, int row,
                                  int out, const struct sum *sum)
{
    int at = row * p->n_out + out;
    float bias = job->bias ? job->bias[out] : 0;
    bool adds = job->epilogue.kind == BATON_ADD;
    double exact = sum->exact + (double)bias + (adds ? (double)p->before[at] : 0);
    double tolerance = sum->tolerance + 4 * FLT_EPSILON * (1 + fabs(exact) + fabs((double)bias));
    if (job->epilogue.kind == BATON_ACTIVATE) {
        exact = gelu_new(exact);
        tolerance = 1.2 * tolerance + 1e-6 * fmax(1, fabs(exact));
    } else if (is_a_chain_of_fma(p)) {
        float result = job->bias ? sum->chain + bias : sum->chain;
        assert_true(p->y[at] == (adds ? p->before[at] + result : result));
    }
    assert_true(fabs((double)p->y[at] - exact) <= tolerance);
}

/* Outputs in two calls, the border wandering over the multiples of 16; what the first call was not
 * asked for it leaves alone. */
static void compute_in_two(const struct product *p, const struct baton_linear *job, int border)
{
    memcpy(p->y, p->before, product_y_bytes(p));
    baton_kernels_linear(p->kernels, job, border, p->n_out);
    for (int row = 0; row < p->n_rows; row++)
        assert_memory_equal(p->y + row * p->n_out, p->before + row * p->n_out,
                            (size_t)border * sizeof(float));
    if (border)
        baton_kernels_linear(p->kernels, job, 0, border);
}

static void assert_product_matches(const struct product *p)
{
    struct sum *sums = calloc((size_t)p->n_rows * p->n_out, sizeof *sums);
    int n_panels = (p->n_out + BATON_PANEL - 1) / BATON_PANEL;
    assert_non_null(sums);
    for (int at = 0; at < p->n_rows * p->n_out; at++)
        sums[at] = plain_sum(p, at / p->n_out, at % p->n_out);
    for (int i = 0; i < 6; i++) {
        const struct baton_linear job = product_job(p, i % 3, i < 3);
        compute_in_two(p, &job, i % n_panels * BATON_PANEL);
        for (int at = 0; at < p->n_rows * p->n_out; at++)
            assert_output_matches(p, &job, at / p->n_out, at % p->n_out, &sums[at]);
    }
    free(sums);
}

/* Native dtypes are many, and their products few. */
static bool is_slow(const struct baton_kernels *kernels, int dtype)
{
    return kernel_sets_is_slow(kernels) || baton_dtype_has_blocks((enum baton_dtype)dtype);
}

static void check_odd_shapes(const struct baton_kernels *kernels, int dtype)
{
    static const int ins[] = {1, 15, 16, 17, 63, 64, 65, 768}, outs[] = {1, 15, 16, 17, 50};
    static const int rows[] = {1, 2, 3, 5, 16, 17, 33, 64, 130};
    enum { N_INS = 8, N_OUTS = 5, N_ROWS = 9 };
    /* Comes by every size all the same. */
    const int step = is_slow(kernels, dtype) ? 7 : 1;
    for (int i = 0; i < N_INS * N_OUTS * N_ROWS; i += step) {
        struct product p;
        product_init(&p, kernels, dtype, rows[i % N_ROWS], ins[i / N_ROWS % N_INS],
                     outs[i / N_ROWS / N_INS]);
        assert_product_matches(&p);
        product_fini(&p);
    }
}

TEST(every_product_matches_the_plain_sum_on_odd_shapes)
{
    for_each_set(check_odd_shapes);
}

static void check_many_panels(const struct baton_kernels *kernels, int dtype)
{
    for (int n_out = 64; n_out <= MAX_OUT; n_out += 43)
        for (int n_rows = 4; n_rows < 60; n_rows += 3 + n_rows / 2) {
            struct product p;
            product_init(&p, kernels, dtype, n_rows, 200, n_out);
            assert_product_matches(&p);
            product_fini(&p);
        }
}

TEST(every_product_matches_over_many_panels)
{
    for_each_set(check_many_panels);
}

/* ---- bit by bit ---- */

/* The number of rows up to which results do not depend on it: openblas.c promises that only for
 * few. */
static int n_invariant_rows(const struct baton_kernels *kernels)
{
    return kernels->layout == BATON_PANELS ? 130 : 12;
}

static void check_rows_alone(const struct baton_kernels *kernels, int dtype)
{
    struct product p;
    int n_rows = n_invariant_rows(kernels), step = is_slow(kernels, dtype) ? 5 : 1;
    product_init(&p, kernels, dtype, n_rows, 203, MAX_OUT);
    size_t row_bytes = baton_quantized_bytes(kernels, (enum baton_dtype)dtype, 1, p.n_in);
    for (int epilogue = 0; epilogue < 3; epilogue++) {
        struct baton_linear job = product_job(&p, epilogue, true);
        memcpy(p.y, p.before, product_y_bytes(&p));
        baton_kernels_linear(kernels, &job, 0, MAX_OUT);
        for (int row = 0, n = 1; row < n_rows; row += step, n = 1 + n * 7 % 19) {
            float y[19 * MAX_OUT];
            n = n < n_rows - row ? n : n_rows - row;
            memcpy(y, p.before + row * MAX_OUT, (size_t)n * MAX_OUT * sizeof *y);
            job.x = (const char *)p.quantized + (size_t)row * row_bytes;
            job.y = y;
            job.n_rows = n;
            int border = row % (MAX_OUT / BATON_PANEL) * BATON_PANEL;
            baton_kernels_linear(kernels, &job, 0, border);
            baton_kernels_linear(kernels, &job, border, MAX_OUT);
            assert_memory_equal(y, p.y + row * MAX_OUT, (size_t)n * MAX_OUT * sizeof *y);
        }
    }
    product_fini(&p);
}

TEST(a_row_has_the_same_bits_alone_and_among_any_others)
{
    for_each_set(check_rows_alone);
}

/* Rows may be listed in any order and more than once; enough of them for several blocks. */
static void check_listed_rows(const struct baton_kernels *kernels, int dtype)
{
    enum { N_IN = 1500, N_LISTED = 110, N_OUT = 37 };
    struct product p;
    int n_rows = n_invariant_rows(kernels), rows[N_LISTED];
    int n_listed = n_rows < N_LISTED ? n_rows : N_LISTED;
    product_init(&p, kernels, dtype, n_rows, N_IN, N_OUT);
    struct baton_linear job = product_job(&p, BATON_STORE, true);
    float *listed = random_floats((size_t)n_listed * N_OUT, 0);
    baton_kernels_linear(kernels, &job, 0, N_OUT);
    for (int r = 0; r < n_listed; r++)
        rows[r] = r * 7 % n_rows / 2;
    job.rows = rows;
    job.n_rows = n_listed;
    job.y = listed;
    baton_kernels_linear(kernels, &job, 16, N_OUT);
    baton_kernels_linear(kernels, &job, 0, 16);
    for (int r = 0; r < n_listed; r++)
        assert_memory_equal(listed + r * N_OUT, p.y + rows[r] * N_OUT, N_OUT * sizeof *listed);
    free(listed);
    product_fini(&p);
}

TEST(listed_rows_have_the_bits_they_have_in_order)
{
    for_each_set(check_listed_rows);
}

static void check_prepared_in_parts(const struct baton_kernels *kernels, int dtype)
{
    for (int n_in = 1; n_in < 300; n_in += 1 + n_in / 2) {
        struct product p;
        product_init(&p, kernels, dtype, 37, n_in, 1);
        char *parts = guarded_create(product_quantized_bytes(&p), PRODUCT_ALIGNMENT);
        const int borders[] = {0, 1, 16, 17, 32, 37};
        for (int i = 4; i >= 0; i--)
            kernels->dtypes[dtype].quantize(p.x, p.n_in, borders[i], borders[i + 1], parts);
        assert_memory_equal(parts, p.quantized, product_quantized_bytes(&p));
        guarded_destroy(parts, product_quantized_bytes(&p));
        product_fini(&p);
    }
}

TEST(rows_are_prepared_to_the_same_bits_in_any_parts)
{
    for_each_set(check_prepared_in_parts);
}

static void assert_same_bits(const char *a_name, const char *b_name, int dtype)
{
    struct product a, b;
    product_init(&a, baton_kernels_find(a_name), dtype, 23, 203, 37);
    product_init(&b, baton_kernels_find(b_name), dtype, 23, 203, 37);
    const struct baton_linear a_job = product_job(&a, BATON_ACTIVATE, true);
    const struct baton_linear b_job = product_job(&b, BATON_ACTIVATE, true);
    baton_kernels_linear(a.kernels, &a_job, 0, 37);
    baton_kernels_linear(b.kernels, &b_job, 0, 37);
    assert_memory_equal(a.y, b.y, product_y_bytes(&a));
    product_fini(&a);
    product_fini(&b);
}

TEST(sets_that_compute_alike_give_the_same_bits)
{
    const char *a, *b;
    for (int i = 0; kernel_sets_alike_at(i, &a, &b); i++)
        for (int dtype = 0; dtype < BATON_N_DTYPES; dtype++)
            if (kernel_sets_are_alike(a, b, dtype))
                assert_same_bits(a, b, dtype);
}

/* For types whose groups have integers: blocks of the greatest products, whose sum over four groups
 * is odd, and rows of ones, one of which is negative. */
static int64_t fill_with_extremes(struct product *p, enum baton_block_type type)
{
    const struct baton_block_codes_form *form = baton_block_codes_form(type);
    const int scale = form->has_min ? form->max_scale : form->min_scale,
              code = form->has_min ? (1 << form->n_bits) - 1 : 0;
    struct baton_block_codes block = {.d = 1};
    int64_t sum = 0;
    memset(block.codes, code, sizeof block.codes);
    memset(block.scales, scale, sizeof block.scales);
    block.codes[1] ^= 1;
    block.scales[0] = (int8_t)(scale - (scale > 0 ? 0 : -1));
    for (int out = 0; out < p->n_out; out++)
        baton_block_pack(type, &block, p->blocks + (size_t)out * baton_block_bytes(type));
    for (int at = 0; at < p->n_rows * p->n_in; at++)
        p->x[at] = at % p->n_in == p->n_in - 1 ? -1 : 1;
    for (int k = 0; k < p->n_in; k++)
        sum += (int64_t)(block.codes[k] - form->zero) * block.scales[k / form->n_group] *
               (k == p->n_in - 1 ? -127 : 127);
    return sum;
}

static void check_extremes(const struct baton_kernels *kernels, int dtype)
{
    static const enum baton_block_type types[] = {
        BATON_BLOCK_Q2_K, BATON_BLOCK_Q3_K, BATON_BLOCK_Q4_K, BATON_BLOCK_Q5_K, BATON_BLOCK_Q6_K};
    for (int i = 0; i < 5; i++)
        for (int n_rows = 1; n_rows < 130 && dtype == (int)baton_dtype_of_blocks(types[i]);
             n_rows += 16) {
            struct product p;
            product_init(&p, kernels, dtype, n_rows, 4 * baton_block_codes_form(types[i])->n_group,
                         17);
            const struct baton_linear job = product_job(&p, BATON_STORE, false);
            const float expected = (float)fill_with_extremes(&p, types[i]) * (1.0F / 127);
            product_pack(&p);
            kernels->dtypes[dtype].quantize(p.x, p.n_in, 0, n_rows, p.quantized);
            baton_kernels_linear(kernels, &job, 0, p.n_out);
            for (int at = 0; at < n_rows * p.n_out; at++)
                assert_true(p.y[at] == expected);
            product_fini(&p);
        }
}

TEST(four_groups_with_the_greatest_integers_are_rounded_once)
{
    for_each_set(check_extremes);
}

/* ---- roundings ---- */

TEST(q8_activations_are_rounded_to_the_nearest_step)
{
    const struct baton_kernels *kernels;
    for (int i = 0; (kernels = kernel_sets_at(i)); i++) {
        enum { N_ROWS = 5, N_IN = 203 };
        struct product p;
        if (!kernels->dtypes[BATON_Q8].linear)
            continue;
        product_init(&p, kernels, BATON_Q8, N_ROWS, N_IN, 1);
        for (int at = 0; at < N_ROWS * N_IN; at++) /* steps are 1/127 of the largest, below 1 */
            assert_true(fabs((double)p.inputs[at] - (double)p.x[at]) <= 0.5001 / 127);
        product_fini(&p);
    }
}
