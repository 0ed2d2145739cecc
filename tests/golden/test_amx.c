/* The story model computed by AMX, emulated where the CPU has none: f32 against another
 * implementation's numbers, q8 and bf16 against AVX-512. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "engine/model/model.h"
#include "tests/support/kernel_sets.h"

enum {
    N_GOLDEN = 8,
    MAX_PROMPT = 100, /* longer ones take an emulator too long */
    N_NEW = 3,
    MAX_TOKENS = 512,
    GOLDEN_MAX_BYTES = 64 << 20
};

static const double tolerance = 2e-3;

/* A model and all it takes to run it. */
struct machine {
    struct baton_model *model;
    struct baton_kv *kv;
    struct baton_engine *engine;
};

struct prompt {
    uint32_t ids[MAX_TOKENS], greedy_ids[MAX_TOKENS];
    int n, n_greedy;
    const struct baton_json *top10;
};

static const struct baton_kernels *amx;
static struct baton_json *golden;
static struct prompt prompts[N_GOLDEN]; /* those that are short enough */
static int n_prompts, n_vocab;

static int read_ids(const struct baton_json *array, uint32_t *ids)
{
    int n = (int)baton_json_size(array);
    assert_in_range(n, 1, MAX_TOKENS);
    for (int i = 0; i < n; i++)
        ids[i] = (uint32_t)baton_json_int(baton_json_at(array, (size_t)i));
    return n;
}

SETUP(set_up)
{
    amx = kernel_sets_find("amx");
    assert_ok(baton_json_read_file("tests/golden/tale.json", GOLDEN_MAX_BYTES, &golden, NULL));
    for (size_t i = 0; i < N_GOLDEN; i++) {
        const struct baton_json *from = baton_json_at(baton_json_get(golden, "prompts"), i);
        struct prompt *prompt = &prompts[n_prompts];
        prompt->n = read_ids(baton_json_get(from, "ids"), prompt->ids);
        prompt->n_greedy = read_ids(baton_json_get(from, "greedy_ids"), prompt->greedy_ids);
        prompt->top10 = baton_json_get(from, "top10");
        n_prompts += prompt->n <= MAX_PROMPT;
    }
    assert_true(n_prompts > 0);
}

TEARDOWN(tear_down)
{
    baton_json_free(golden);
}

static void open_machine(struct machine *m, const char *dtype, const struct baton_kernels *kernels)
{
    const struct baton_model_options kept = {.dtype = dtype, .kernels = kernel_sets_name(kernels)};
    const struct baton_engine_options options = {.max_rows = MAX_TOKENS, .n_threads = 2};
    struct baton_why why = {.text = ""};
    if (baton_model_open("models/tale", &kept, &m->model, &why))
        fail_msg("%s", why.text);
    kernel_sets_give(m->model, kernels);
    if (baton_kv_create(
            m->model, &(struct baton_kv_pool_options){.n_blocks = baton_kv_blocks_for(MAX_TOKENS)},
            &m->kv, &why) ||
        baton_engine_create(m->model, &options, &m->engine, &why))
        fail_msg("%s", why.text);
    n_vocab = baton_model_info(m->model)->n_vocab;
}

static void close_machine(struct machine *m)
{
    baton_engine_destroy(m->engine);
    baton_kv_destroy(m->kv);
    baton_model_close(m->model);
}

/* Logits [N_NEW][V] after a prompt and after each of its golden tokens but the last. */
static float *run(struct machine *m, const struct prompt *prompt)
{
    struct baton_seq seq, *seqs[] = {&seq};
    float *rows = calloc((size_t)N_NEW * (size_t)n_vocab, sizeof *rows);
    assert_non_null(rows);
    assert_ok(baton_seq_init(&seq, m->kv, prompt->n + N_NEW));
    assert_ok(baton_engine_prefill(m->engine, &seq, prompt->ids, prompt->n, NULL, NULL, rows));
    for (int i = 1; i < N_NEW; i++)
        assert_ok(baton_engine_decode(m->engine, seqs, &prompt->greedy_ids[i - 1], 1,
                                      rows + (size_t)i * (size_t)n_vocab));
    baton_seq_fini(&seq);
    return rows;
}

/* Of equal logits the lowest id, as the sampler at temperature 0. */
static uint32_t greedy(const float *row)
{
    uint32_t best = 0;
    for (int i = 1; i < n_vocab; i++)
        if (row[i] > row[best])
            best = (uint32_t)i;
    return best;
}

TEST(f32_has_the_golden_logits_and_tokens)
{
    struct machine m;
    double worst = 0;
    if (!amx)
        skip();
    open_machine(&m, "f32", amx);
    for (int p = 0; p < n_prompts; p++) {
        float *rows = run(&m, &prompts[p]);
        for (size_t k = 0; k < baton_json_size(prompts[p].top10); k++) {
            const struct baton_json *pair = baton_json_at(prompts[p].top10, k);
            double wanted = baton_json_number(baton_json_at(pair, 1));
            worst =
                fmax(worst, fabs((double)rows[baton_json_int(baton_json_at(pair, 0))] - wanted));
        }
        for (int i = 0; i < N_NEW; i++)
            assert_int_equal(greedy(rows + (size_t)i * (size_t)n_vocab), prompts[p].greedy_ids[i]);
        free(rows);
    }
    close_machine(&m);
    print_message("f32: worst error of a logit %.1e\n", worst);
    assert_true(worst <= tolerance);
}

TEST(q8_has_the_bits_of_avx512)
{
    struct machine tiles, vectors;
    if (!amx)
        skip();
    open_machine(&tiles, "q8", amx);
    open_machine(&vectors, "q8", baton_kernels_find("avx512vnni"));
    for (int p = 0; p < n_prompts; p++) {
        float *found = run(&tiles, &prompts[p]), *wanted = run(&vectors, &prompts[p]);
        assert_memory_equal(found, wanted, (size_t)N_NEW * (size_t)n_vocab * sizeof *found);
        free(found);
        free(wanted);
    }
    close_machine(&tiles);
    close_machine(&vectors);
}

/* The order of summation differs, and with it some roundings of the next layers' inputs. */
TEST(bf16_is_as_close_to_avx512_as_bf16_is_exact)
{
    struct machine tiles, vectors;
    double sum = 0;
    if (!amx)
        skip();
    open_machine(&tiles, "bf16", amx);
    open_machine(&vectors, "bf16", baton_kernels_find("avx512vnni"));
    const int n_rows = n_prompts * N_NEW, n = N_NEW * n_vocab;
    for (int p = 0; p < n_prompts; p++) {
        float *found = run(&tiles, &prompts[p]), *wanted = run(&vectors, &prompts[p]);
        for (int i = 0; i < n; i++)
            sum += fabs((double)found[i] - (double)wanted[i]);
        for (int i = 0; i < n; i += n_vocab)
            assert_int_equal(greedy(found + i), greedy(wanted + i));
        free(found);
        free(wanted);
    }
    close_machine(&tiles);
    close_machine(&vectors);
    print_message("bf16: mean difference of logits %.1e\n", sum / n_rows / n_vocab);
    assert_true(sum / n_rows / n_vocab <= 0.01);
}

ALL_TESTS(set_up, tear_down)
