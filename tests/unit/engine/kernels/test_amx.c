/* The promises of the products by AMX beyond those of every kernel set (test_linear.c). */
#include "tests/unit/engine/kernels/product.h"
#include "tests/unit/engine/unit.h"

#include <pthread.h>

#include "tests/support/amx_emulator.h"
#include "tests/support/kernel_sets.h"

static const struct baton_kernels *amx;

SETUP(find_amx)
{
    amx = kernel_sets_find("amx");
}

static void need_amx(void)
{
    if (!amx)
        skip();
}

/* All outputs into p->y. */
static void compute(const struct product *p, int epilogue)
{
    const struct baton_linear job = product_job(p, epilogue, true);
    memcpy(p->y, p->before, product_y_bytes(p));
    baton_kernels_linear(p->kernels, &job, 0, p->n_out);
}

/* ---- bits ---- */

TEST(q8_has_the_bits_of_vnni)
{
    static const int ins[] = {1, 63, 64, 65, 128, 200, 768}, rows[] = {1, 5, 15, 16, 17, 40};
    need_amx();
    for (int i = 0; i < 7 * 6; i++) {
        struct product tiles, vectors;
        int n_out = 1 + i % 37;
        product_init(&tiles, amx, BATON_Q8, rows[i % 6], ins[i / 6], n_out);
        product_init(&vectors, baton_kernels_find("avx512vnni"), BATON_Q8, rows[i % 6], ins[i / 6],
                     n_out);
        compute(&tiles, i % 3);
        compute(&vectors, i % 3);
        assert_memory_equal(tiles.y, vectors.y, product_y_bytes(&tiles));
        product_fini(&tiles);
        product_fini(&vectors);
    }
}

/* The first rows of n_rows, alone, against all of them. */
static void assert_bits_of_first_rows(int dtype, int n_rows, int n_in, int n_out, int step)
{
    struct product p;
    product_init(&p, amx, dtype, n_rows, n_in, n_out);
    float *all = random_floats((size_t)n_rows * (size_t)n_out, 0);
    compute(&p, BATON_STORE);
    memcpy(all, p.y, product_y_bytes(&p));
    for (p.n_rows = 1; p.n_rows < n_rows; p.n_rows += step) {
        compute(&p, BATON_STORE);
        assert_memory_equal(p.y, all, product_y_bytes(&p));
    }
    p.n_rows = n_rows;
    free(all);
    product_fini(&p);
}

TEST(a_row_has_the_same_bits_beside_any_number_of_others)
{
    need_amx();
    for (int dtype = 0; dtype < BATON_N_DTYPES; dtype++)
        assert_bits_of_first_rows(dtype, 67, 100, 50, 1);
}

/* Rows beyond what a block of the second-level cache takes, inputs beyond a block of f32's. */
TEST(neither_do_blocks_change_a_bit)
{
    need_amx();
    for (int dtype = 0; dtype < BATON_N_DTYPES; dtype++) {
        assert_bits_of_first_rows(dtype, 1100, 40, 17, 313);
        assert_bits_of_first_rows(dtype, 300, 3072, 17, 107);
    }
}

/* ---- accuracy of split f32 ---- */

static double error_of(const struct product *p, int row, int out)
{
    const float *x = p->x + row * p->n_in, *w = p->rows + out * p->n_in;
    double exact = 0, squares = 0;
    for (int k = 0; k < p->n_in; k++) {
        double product = (double)x[k] * w[k];
        exact += product;
        squares += product * product;
    }
    return fabs((double)p->y[row * p->n_out + out] - exact) / sqrt(squares);
}

TEST(split_f32_is_a_hundred_times_as_exact_as_bf16)
{
    enum { ROWS = 33, OUTS = 40 };
    double worst[] = {[BATON_F32] = 0, [BATON_BF16] = 0};
    need_amx();
    for (int dtype = BATON_F32; dtype <= BATON_BF16; dtype++) {
        struct product p;
        product_init(&p, amx, dtype, ROWS, 768, OUTS);
        const struct baton_linear job = product_job(&p, BATON_STORE, false);
        baton_kernels_linear(amx, &job, 0, OUTS);
        for (int at = 0; at < ROWS * OUTS; at++)
            worst[dtype] = fmax(worst[dtype], error_of(&p, at / OUTS, at % OUTS));
        product_fini(&p);
    }
    print_message("worst error of 768 products, over their root of squares: f32 %.1e, bf16 %.1e\n",
                  worst[BATON_F32], worst[BATON_BF16]);
    assert_true(worst[BATON_F32] < 4e-5);
    assert_true(worst[BATON_F32] * 100 < worst[BATON_BF16]);
}

TEST(infinite_or_nan_inputs_do_not_come_out_finite)
{
    static const float ends[] = {INFINITY, -INFINITY, NAN};
    need_amx();
    for (int i = 0; i < 3; i++) {
        struct product p;
        product_init(&p, amx, BATON_F32, 3, 50, 20);
        p.x[50 + 33] = ends[i];
        amx->dtypes[BATON_F32].quantize(p.x, 50, 0, 3, p.quantized);
        compute(&p, BATON_STORE);
        for (int at = 0; at < 3 * 20; at++)
            assert_int_equal(!isfinite(p.y[at]), at / 20 == 1);
        product_fini(&p);
    }
}

/* ---- threads ---- */

enum { N_THREADS = 5, N_ROUNDS = 30 };

struct worker {
    pthread_t thread;
    struct product product;
    float *expected;
    bool leaves_tiles;
};

static void *compute_often(void *arg)
{
    struct worker *worker = arg;
    for (int i = 0; i < N_ROUNDS; i++) {
        compute(&worker->product, BATON_ACTIVATE);
        if (memcmp(worker->product.y, worker->expected, product_y_bytes(&worker->product)))
            return arg;
    }
    worker->leaves_tiles = amx_emulator_is_configured();
    return NULL;
}

TEST(threads_do_not_disturb_each_other_and_leave_no_tiles)
{
    struct worker workers[N_THREADS];
    need_amx();
    for (int i = 0; i < N_THREADS; i++) {
        struct product *p = &workers[i].product;
        product_init(p, amx, i % BATON_N_DTYPES, 1 + 9 * i, 70 * (i + 1), 40);
        workers[i].expected = random_floats((size_t)p->n_rows * (size_t)p->n_out, 0);
        compute(p, BATON_ACTIVATE);
        memcpy(workers[i].expected, p->y, product_y_bytes(p));
    }
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, compute_often, &workers[i]), 0);
    for (int i = 0; i < N_THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(workers[i].thread, &failed), 0);
        assert_null(failed);
        assert_false(workers[i].leaves_tiles);
        product_fini(&workers[i].product);
        free(workers[i].expected);
    }
}

ALL_TESTS(find_amx, NULL)
