/* Matrices whose rows have dtypes of their own: every output has the bits that it has in a matrix
 * of its dtype alone. */
#include "tests/unit/engine/unit.h"

#include "engine/compute/forward.h"
#include "engine/model/random.h"
#include "tests/support/kernel_sets.h"

enum { N_ROWS = 37, Q = 5 * 14, KV = 14, QKV = Q + 2 * KV, N_EMBD = 70 };

static void describe(struct baton_spec *spec)
{
    *spec = (struct baton_spec){.n_layers = 1,
                                .n_embd = N_EMBD,
                                .n_heads = 5,
                                .n_vocab = 29,
                                .n_context = 40,
                                .norm = BATON_RMS_NORM,
                                .norm_epsilon = 1e-5F,
                                .activation = BATON_ACT_SILU,
                                .has_qkv_bias = true,
                                .embed_scale = 1,
                                .residual_scale = 1,
                                .logit_scale = 1};
    spec->layers[0] =
        (struct baton_layer_spec){.n_kv_heads = 1, .head_dim = 14, .n_ff = 33, .rope = -1};
}

/* Dtypes of the rows of q, k and v; other matrices keep the model's. */
static void choose(void *arg, const struct baton_model *model, const struct baton_array *array,
                   struct baton_matrix_dtypes *dtypes)
{
    static const int n_rows[] = {Q, KV, KV};
    const enum baton_dtype *of = arg;
    (void)model;
    if (array->kind != BATON_ARRAY_QKV)
        return;
    dtypes->n = 3;
    for (int i = 0; i < dtypes->n; i++)
        dtypes->ranges[i] = (struct baton_dtype_range){.n_rows = n_rows[i], .dtype = of[i]};
}

static struct baton_model *make_model(const struct baton_kernels *kernels, enum baton_dtype dtype,
                                      const struct baton_dtype_rule *rule)
{
    static struct baton_spec spec;
    const struct baton_model_options options = {.dtype = baton_dtype_name(dtype),
                                                .kernels = kernel_sets_name(kernels)};
    struct baton_model *model = NULL;
    describe(&spec);
    assert_ok(baton_model_random_by(&spec, 5, &options, rule, &model, NULL));
    kernel_sets_give(model, kernels);
    return model;
}

/* y [n_rows][QKV] = in [n_rows][C] through the model's qkv. */
static void multiply(const struct baton_model *model, const float *in, int n_rows, float *y)
{
    struct baton_forward forward = {.model = model, .kernels = model->kernels, .n_rows = n_rows};
    const struct baton_epilogue store = {.kind = BATON_STORE, .scale = 1};
    struct baton_input input = baton_input_of(in, N_EMBD);
    assert_ok(baton_pool_create(2, &forward.pool, NULL));
    forward.quantized = aligned_alloc(64, baton_forward_quantized_bytes(model, n_rows));
    assert_non_null(forward.quantized);
    baton_forward_linear(&forward, &model->layers[0].attention.qkv, &input, y, store);
    free(forward.quantized);
    baton_pool_destroy(forward.pool);
}

static void assert_same_outputs(const float *y, const float *wanted, int first, int n)
{
    for (size_t row = 0; row < N_ROWS; row++)
        assert_memory_equal(y + row * QKV + (size_t)first, wanted + row * QKV + (size_t)first,
                            (size_t)n * sizeof *y);
}

static void check(const struct baton_kernels *kernels, enum baton_dtype of[3])
{
    static const int firsts[] = {0, Q, Q + KV}, ns[] = {Q, KV, KV};
    static float y[N_ROWS * QKV], one[QKV], wanted[N_ROWS * QKV];
    const struct baton_dtype_rule rule = {.choose = choose, .arg = of};
    float *in = random_floats((size_t)N_ROWS * N_EMBD, 3);
    struct baton_model *model = make_model(kernels, BATON_F32, &rule);
    multiply(model, in, N_ROWS, y);
    for (int i = 0; i < 3; i++) {
        struct baton_model *whole = make_model(kernels, of[i], NULL);
        assert_int_equal(whole->layers[0].attention.qkv.n_parts, 1);
        multiply(whole, in, N_ROWS, wanted);
        assert_same_outputs(y, wanted, firsts[i], ns[i]);
        baton_model_close(whole);
    }
    for (size_t row = 0; row < N_ROWS; row += 12) {
        multiply(model, in + row * N_EMBD, 1, one);
        assert_memory_equal(one, y + row * QKV, sizeof one);
    }
    baton_model_close(model);
    free(in);
}

TEST(each_part_has_the_bits_of_its_dtype)
{
    const struct baton_kernels *kernels;
    for (int i = 0; (kernels = kernel_sets_at(i)); i++)
        for (int d = 0; kernels->layout == BATON_PANELS && d < 27; d++) {
            enum baton_dtype of[] = {(enum baton_dtype)(d / 9), (enum baton_dtype)(d / 3 % 3),
                                     (enum baton_dtype)(d % 3)};
            check(kernels, of);
        }
}

TEST(neighbouring_rows_of_one_dtype_are_one_part)
{
    enum baton_dtype of[] = {BATON_F32, BATON_F32, BATON_BF16};
    const struct baton_dtype_rule rule = {.choose = choose, .arg = of};
    struct baton_model *model = make_model(baton_kernels_find("portable"), BATON_F32, &rule);
    const struct baton_matrix *qkv = &model->layers[0].attention.qkv;
    assert_int_equal(qkv->n_parts, 2);
    assert_int_equal(qkv->parts[0].n_out, Q + KV);
    assert_int_equal(qkv->parts[1].n_out, KV);
    assert_int_equal(qkv->n_out, QKV);
    assert_true(baton_model_has_dtype(model, BATON_BF16));
    assert_false(baton_model_has_dtype(model, BATON_Q8));
    baton_model_close(model);
}

TEST(the_layout_digest_depends_on_each_parts_dtype)
{
    enum baton_dtype of[] = {BATON_F32, BATON_F32, BATON_F32};
    const struct baton_dtype_rule rule = {.choose = choose, .arg = of};
    uint32_t digests[4];
    for (int i = 0; i < 4; i++) {
        if (i)
            of[i - 1] = BATON_BF16;
        struct baton_model *model = make_model(baton_kernels_find("portable"), BATON_F32, &rule);
        digests[i] = baton_model_layout_digest(model);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(digests[i], digests[k]);
        baton_model_close(model);
    }
}
