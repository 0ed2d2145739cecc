/* Convolutions and scans: their formulas in double, and the same bits however rows are cut into
 * steps, in every set of kernels that is alike. */
#include "tests/unit/engine/unit.h"

#include "common/base/array.h"
#include "engine/kernels/kernels.h"
#include "tests/support/kernel_sets.h"

/* ---- scans ---- */

enum { MAX_KEYS = 128, MAX_VALUES = 128, MAX_ROWS = 70, COLUMNS = BATON_SCAN_COLUMNS };

struct rows {
    float *k, *q, *v, *decay, *write;
    int n_rows, n_keys, n_values;
};

static struct rows draw_rows(int n_rows, int n_keys, int n_values)
{
    struct rows rows = {.n_rows = n_rows, .n_keys = n_keys, .n_values = n_values};
    size_t n = (size_t)n_rows;
    float scale = 1 / sqrtf((float)n_keys);
    rows.k = random_floats(n * (size_t)n_keys, 1);
    rows.q = random_floats(n * (size_t)n_keys, 2);
    rows.v = random_floats(n * (size_t)n_values, 3);
    rows.decay = random_floats(n, 4);
    rows.write = random_floats(n, 5);
    for (size_t i = 0; i < n * (size_t)n_keys; i++)
        rows.k[i] *= scale;
    for (size_t i = 0; i < n; i++) {
        rows.decay[i] = expf(-fabsf(rows.decay[i]));
        rows.write[i] = 1 / (1 + expf(-rows.write[i]));
    }
    return rows;
}

static void free_rows(struct rows *rows)
{
    free(rows->k);
    free(rows->q);
    free(rows->v);
    free(rows->decay);
    free(rows->write);
}

/* Column by column in double: out [n_rows][n_values]. */
static void scan_naively(const struct rows *rows, bool has_delta_rule, double *out)
{
    static double state[MAX_KEYS];
    for (int c = 0; c < rows->n_values; c++) {
        memset(state, 0, sizeof state);
        for (int t = 0; t < rows->n_rows; t++) {
            const float *k = rows->k + t * rows->n_keys, *q = rows->q + t * rows->n_keys;
            double d = (double)rows->v[t * rows->n_values + c], sum = 0;
            for (int i = 0; i < rows->n_keys; i++) {
                state[i] *= (double)rows->decay[t];
                sum += state[i] * (double)k[i];
            }
            d = (double)rows->write[t] * (has_delta_rule ? d - sum : d);
            sum = 0;
            for (int i = 0; i < rows->n_keys; i++) {
                state[i] += (double)k[i] * d;
                sum += state[i] * (double)q[i];
            }
            out[t * rows->n_values + c] = sum;
        }
    }
}

/* Floats of a state, whose last columns may be fewer than 16. */
static int n_state_of(const struct rows *rows)
{
    return rows->n_keys * ((rows->n_values + COLUMNS - 1) / COLUMNS * COLUMNS);
}

/* Steps of n_step rows on n_step / 3 + 1 parts of the columns. */
static void scan_in_steps(const struct baton_kernels *kernels, const struct rows *rows,
                          bool has_delta_rule, int n_step, float *state, float *out)
{
    memset(state, 0, (size_t)n_state_of(rows) * sizeof *state);
    for (int t = 0; t < rows->n_rows; t += n_step) {
        const struct baton_scan job = {
            .state = state,
            .k = rows->k + t * rows->n_keys,
            .q = rows->q + t * rows->n_keys,
            .v = rows->v + t * rows->n_values,
            .out = out + t * rows->n_values,
            .decay = rows->decay + t,
            .write = rows->write + t,
            .key_stride = (size_t)rows->n_keys,
            .value_stride = (size_t)rows->n_values,
            .out_stride = (size_t)rows->n_values,
            .gate_stride = 1,
            .n_rows = rows->n_rows - t < n_step ? rows->n_rows - t : n_step,
            .n_keys = rows->n_keys,
            .has_delta_rule = has_delta_rule,
        };
        int n_columns = BATON_SCAN_COLUMNS * (n_step % 3 + 1);
        for (int c = 0; c < rows->n_values; c += n_columns)
            kernels->scan(&job, c, c + n_columns < rows->n_values ? c + n_columns : rows->n_values);
    }
}

static const struct {
    int n_rows, n_keys, n_values;
} shapes[] = {{1, 4, 16},  {5, 16, 48}, {9, 8, 1},    {9, 8, 12},
              {9, 12, 21}, {7, 4, 40},  {33, 64, 64}, {MAX_ROWS, MAX_KEYS, MAX_VALUES}};

static float state[MAX_KEYS * MAX_VALUES], other_state[MAX_KEYS * MAX_VALUES];
static float out[MAX_ROWS * MAX_VALUES], other_out[MAX_ROWS * MAX_VALUES];
static double exact[MAX_ROWS * MAX_VALUES];

static void check_scan(const struct baton_kernels *kernels, const struct rows *rows, bool delta)
{
    const int steps[] = {1, 2, 15, 16, 17};
    int n = rows->n_rows * rows->n_values, n_state = n_state_of(rows);
    scan_naively(rows, delta, exact);
    scan_in_steps(kernels, rows, delta, rows->n_rows, state, out);
    for (int i = 0; i < n; i++)
        assert_true(fabs((double)out[i] - exact[i]) < 1e-5 * (1 + fabs(exact[i])));
    for (size_t s = 0; s < BATON_N_OF(steps); s++) {
        scan_in_steps(kernels, rows, delta, steps[s], other_state, other_out);
        assert_memory_equal(other_out, out, (size_t)n * sizeof *out);
        assert_memory_equal(other_state, state, (size_t)n_state * sizeof *state);
    }
}

TEST(a_scan_is_its_formula_however_rows_are_cut)
{
    const struct baton_kernels *kernels;
    for (size_t s = 0; s < BATON_N_OF(shapes); s++) {
        struct rows rows = draw_rows(shapes[s].n_rows, shapes[s].n_keys, shapes[s].n_values);
        for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
            check_scan(kernels, &rows, true);
            check_scan(kernels, &rows, false);
        }
        free_rows(&rows);
    }
}

/* ---- convolutions ---- */

enum { N_CHANNELS = 37, N_TAPS = 4, N_ROWS = 21, STRIDE = 40 };

static void convolve_naively(const float *x, const float *weights, const float *bias, int n_taps,
                             bool has_silu, double *y)
{
    for (int t = 0; t < N_ROWS; t++)
        for (int c = 0; c < N_CHANNELS; c++) {
            double sum = bias ? (double)bias[c] : 0;
            for (int j = 0; j < n_taps; j++)
                if (t - n_taps + 1 + j >= 0)
                    sum += (double)weights[j * N_CHANNELS + c] *
                           (double)x[(t - n_taps + 1 + j) * STRIDE + c];
            y[t * STRIDE + c] = has_silu ? sum / (1 + exp(-sum)) : sum;
        }
}

static void convolve_in_steps(const struct baton_kernels *kernels, float *x, const float *weights,
                              const float *bias, int n_taps, bool has_silu, int n_step, float *tail)
{
    memset(tail, 0, (N_TAPS - 1) * N_CHANNELS * sizeof *tail);
    for (int t = 0; t < N_ROWS; t += n_step) {
        const struct baton_convolution job = {.x = x + t * STRIDE,
                                              .x_stride = STRIDE,
                                              .tail = tail,
                                              .weights = weights,
                                              .bias = bias,
                                              .n_rows = N_ROWS - t < n_step ? N_ROWS - t : n_step,
                                              .n_taps = n_taps,
                                              .n_channels = N_CHANNELS,
                                              .has_silu = has_silu};
        kernels->convolve(&job, 0, 16);
        kernels->convolve(&job, 16, N_CHANNELS);
    }
}

static void check_convolution(const struct baton_kernels *kernels, int n_taps, bool has_bias,
                              bool has_silu)
{
    static double y[N_ROWS * STRIDE];
    const int steps[] = {1, 2, 3, 4, 16};
    float *before = random_floats(N_ROWS * STRIDE, 1), *x = random_floats(N_ROWS * STRIDE, 1);
    float *weights = random_floats((size_t)n_taps * N_CHANNELS, 2);
    float *drawn = random_floats(N_CHANNELS, 3), *bias = has_bias ? drawn : NULL;
    float tail[(N_TAPS - 1) * N_CHANNELS], other_tail[(N_TAPS - 1) * N_CHANNELS];
    float *other = random_floats(N_ROWS * STRIDE, 1);
    convolve_naively(before, weights, bias, n_taps, has_silu, y);
    convolve_in_steps(kernels, x, weights, bias, n_taps, has_silu, N_ROWS, tail);
    for (int t = 0; t < N_ROWS; t++) {
        for (int c = 0; c < N_CHANNELS; c++)
            assert_true(fabs((double)x[t * STRIDE + c] - y[t * STRIDE + c]) < 1e-5);
        assert_memory_equal(x + t * STRIDE + N_CHANNELS, before + t * STRIDE + N_CHANNELS,
                            (STRIDE - N_CHANNELS) * sizeof *x);
    }
    for (int i = 0; i < n_taps - 1; i++)
        assert_memory_equal(tail + i * N_CHANNELS, before + (N_ROWS - n_taps + 1 + i) * STRIDE,
                            N_CHANNELS * sizeof *x);
    for (size_t s = 0; s < BATON_N_OF(steps); s++) {
        memcpy(other, before, N_ROWS * STRIDE * sizeof *other);
        convolve_in_steps(kernels, other, weights, bias, n_taps, has_silu, steps[s], other_tail);
        assert_memory_equal(other, x, N_ROWS * STRIDE * sizeof *x);
        assert_memory_equal(other_tail, tail, sizeof tail);
    }
    free(before);
    free(x);
    free(weights);
    free(drawn);
    free(other);
}

TEST(a_convolution_is_its_formula_however_rows_are_cut)
{
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (int form = 0; form < 4; form++)
            for (int n_taps = 2; n_taps <= N_TAPS; n_taps++)
                check_convolution(kernels, n_taps, form & 1, form & 2);
}

/* ---- sets ---- */

TEST(sets_that_are_alike_scan_and_convolve_to_the_same_bits)
{
    const char *a, *b;
    struct rows rows = draw_rows(33, 64, 64);
    size_t n = (size_t)(rows.n_rows * rows.n_values);
    float *weights = random_floats((size_t)N_TAPS * N_CHANNELS, 2);
    float tail[(N_TAPS - 1) * N_CHANNELS];
    for (int i = 0; kernel_sets_alike_at(i, &a, &b); i++) {
        const struct baton_kernels *sets[] = {baton_kernels_find(a), baton_kernels_find(b)};
        float *x[2];
        for (int s = 0; s < 2 && sets[0] && sets[1]; s++) {
            x[s] = random_floats(N_ROWS * STRIDE, 1);
            scan_in_steps(sets[s], &rows, true, 7, s ? other_state : state, s ? other_out : out);
            convolve_in_steps(sets[s], x[s], weights, NULL, N_TAPS, true, 7, tail);
        }
        if (!sets[0] || !sets[1])
            continue;
        assert_memory_equal(other_out, out, n * sizeof *out);
        assert_memory_equal(x[0], x[1], N_ROWS * STRIDE * sizeof **x);
        free(x[0]);
        free(x[1]);
    }
    free_rows(&rows);
    free(weights);
}
