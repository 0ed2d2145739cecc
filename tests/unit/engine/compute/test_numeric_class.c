/* All sets of kernels, in every form of model and every dtype: those of one numeric class give
 * logits of the same bits, and those that are made to give the same bits are of one class. */
#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include <stdio.h>

#include "engine/engine.h"
#include "tests/support/kernel_sets.h"
#include "tests/unit/engine/compute/forms.h"

enum { N_TOKENS = 100, N_VOCAB = 83, MAX_SETS = 8 };

/* The results of one set of kernels for a model. */
struct outcome {
    const struct baton_kernels *kernels;
    struct baton_numeric_class numeric_class;
    float logits[N_VOCAB];
};

static struct baton_spec spec;

static struct baton_model *make_model(const struct baton_kernels *set, const char *dtype)
{
    const struct baton_model_options kept = {.dtype = dtype, .kernels = kernel_sets_name(set)};
    struct baton_model *model;
    assert_ok(baton_model_random(&spec, 3, &kept, &model, NULL));
    kernel_sets_give(model, set);
    return model;
}

static struct baton_kv *make_pool(const struct baton_model *model, const char *dtype)
{
    struct baton_kv *kv;
    assert_ok(baton_kv_create(
        model,
        &(struct baton_kv_pool_options){.dtype = dtype, .n_blocks = baton_kv_blocks_for(N_TOKENS)},
        &kv, NULL));
    return kv;
}

static void run(const struct baton_model *model, struct baton_kv *kv, float *logits)
{
    const struct baton_engine_options options = {.max_rows = N_TOKENS, .n_threads = 1};
    struct baton_engine *engine;
    struct baton_seq seq;
    uint32_t tokens[N_TOKENS];
    for (uint32_t i = 0; i < N_TOKENS; i++)
        tokens[i] = i * 37 % N_VOCAB;
    assert_ok(baton_engine_create(model, &options, &engine, NULL));
    assert_ok(baton_seq_init(&seq, kv, N_TOKENS));
    assert_ok(baton_engine_prefill(engine, &seq, tokens, N_TOKENS, NULL, NULL, logits));
    baton_seq_fini(&seq);
    baton_engine_destroy(engine);
}

static void compute(const struct baton_kernels *set, const char *dtype, const char *kv_dtype,
                    struct outcome *outcome)
{
    struct baton_model *model = make_model(set, dtype);
    struct baton_kv *kv = make_pool(model, kv_dtype);
    outcome->kernels = set;
    assert_ok(baton_numeric_class(model, kv, &outcome->numeric_class));
    run(model, kv, outcome->logits);
    baton_kv_destroy(kv);
    baton_model_close(model);
}

static bool has_same_class(const struct outcome *a, const struct outcome *b)
{
    return !strcmp(a->numeric_class.hex, b->numeric_class.hex);
}

static void assert_pair(const char *form, enum baton_dtype dtype, const struct outcome *a,
                        const struct outcome *b)
{
    const char *wrong = NULL;
    bool same_bits = !memcmp(a->logits, b->logits, sizeof a->logits);
    if (has_same_class(a, b) && !same_bits)
        wrong = "one class and other bits";
    else if (!has_same_class(a, b) &&
             kernel_sets_are_alike(a->kernels->name, b->kernels->name, dtype))
        wrong = "two classes, although they compute alike";
    if (wrong)
        fail_msg("%s in %s: %s and %s have %s", form, baton_dtype_name(dtype), a->kernels->name,
                 b->kernels->name, wrong);
}

static void assert_classes_tell_bits_apart(const char *form, enum baton_dtype dtype)
{
    struct outcome outcomes[MAX_SETS];
    const struct baton_kernels *set;
    int n = 0;
    for (int i = 0; (set = kernel_sets_at(i)); i++)
        if (set->layout == BATON_PANELS && set->dtypes[dtype].linear)
            compute(set, baton_dtype_name(dtype), "auto", &outcomes[n++]);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < a; b++)
            assert_pair(form, dtype, &outcomes[a], &outcomes[b]);
}

TEST(sets_of_kernels_of_one_class_give_the_same_bits)
{
    const enum baton_dtype dtypes[] = {BATON_F32, BATON_BF16, BATON_Q8};
    const char *form;
    for (int i = 0; (form = forms_at(i, N_VOCAB, N_TOKENS, &spec)); i++)
        for (size_t d = 0; d < BATON_N_OF(dtypes); d++)
            assert_classes_tell_bits_apart(form, dtypes[d]);
}

TEST(sets_of_kernels_of_one_class_give_the_same_bits_in_native_dtypes)
{
    enum { WIDTH = BATON_BLOCK_MAX_VALUES };
    assert_non_null(forms_at(0, N_VOCAB, N_TOKENS, &spec));
    spec.n_embd = WIDTH;
    for (int i = 0; i < spec.n_layers; i++)
        spec.layers[i].n_ff = WIDTH;
    for (int dtype = BATON_F16; dtype < BATON_N_DTYPES; dtype++)
        assert_classes_tell_bits_apart("a wide model", (enum baton_dtype)dtype);
}

/* The names of dtypes and layouts, which a fleet compares, are a part of the class as well. */
TEST(a_class_is_of_one_model_dtype_and_layout)
{
    struct outcome plain, again, narrow_kv, narrow, other;
    const struct baton_kernels *set = baton_kernels_find("portable");
    assert_non_null(forms_at(0, N_VOCAB, N_TOKENS, &spec));
    compute(set, "f32", "f32", &plain);
    compute(set, "f32", "f32", &again);
    compute(set, "f32", "f16", &narrow_kv);
    compute(set, "q8", "f32", &narrow);
    assert_non_null(forms_at(1, N_VOCAB, N_TOKENS, &spec));
    compute(set, "f32", "f32", &other);
    assert_true(has_same_class(&plain, &again));
    assert_false(has_same_class(&plain, &narrow_kv));
    assert_false(has_same_class(&plain, &narrow));
    assert_false(has_same_class(&plain, &other));
}

TEST(openblas_is_a_class_of_its_own)
{
    struct outcome blas, best;
    assert_non_null(forms_at(0, N_VOCAB, N_TOKENS, &spec));
    compute(baton_kernels_find("openblas"), "f32", "f32", &blas);
    compute(baton_kernels_best(), "f32", "f32", &best);
    assert_int_equal(strlen(blas.numeric_class.hex), BATON_NUMERIC_CLASS_HEX - 1);
    assert_false(has_same_class(&blas, &best));
}
