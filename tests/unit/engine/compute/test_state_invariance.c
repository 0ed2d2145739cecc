/* Models whose layers keep a state, and one with latent attention, on every kernel set and in every
 * packed dtype: whatever rows a forward has, of which sequences and on how many threads, a
 * position's logits have the same bits. Sequences advance, as a state does; test_row_invariance.c
 * goes back and forth in models without one. Few layouts, ten times as many with BATON_LONG set. */
#include "tests/unit/engine/unit.h"

#include <stdio.h>

#include "common/base/array.h"
#include "engine/arch/arch.h"
#include "engine/engine.h"
#include "engine/model/random.h"
#include "tests/support/kernel_sets.h"

enum { N_TEXTS = 5, LENGTH = 52, MAX_ROWS = 90, N_VOCAB = 83, N_ENGINES = 3, N_FORWARDS = 40 };

struct text {
    uint32_t tokens[LENGTH];
    float expected[LENGTH][N_VOCAB]; /* decoded alone, one by one, on one thread */
    struct baton_seq seq;
};

#define SIZES                                                                                      \
    "\"hidden_size\":40,\"num_attention_heads\":2,\"num_key_value_heads\":1,"                      \
    "\"intermediate_size\":20,\"vocab_size\":83,\"max_position_embeddings\":52"
#define EXPERTS "\"num_experts_per_tok\":2,\"moe_intermediate_size\":8"

static const char *const configs[] = {
    "{\"model_type\":\"qwen3_next\",\"num_hidden_layers\":3," SIZES "," EXPERTS ",\"head_dim\":12,"
    "\"full_attention_interval\":2,\"linear_num_key_heads\":3,\"linear_num_value_heads\":6,"
    "\"linear_key_head_dim\":20,\"linear_value_head_dim\":32,\"num_experts\":3,"
    "\"shared_expert_intermediate_size\":8,\"partial_rotary_factor\":0.5}",
    "{\"model_type\":\"lfm2\",\"num_hidden_layers\":3," SIZES ",\"full_attn_idxs\":[1]}",
    "{\"model_type\":\"nemotron_h\",\"num_hidden_layers\":4," SIZES "," EXPERTS ",\"head_dim\":12,"
    "\"hybrid_override_pattern\":\"M*EM\",\"mamba_num_heads\":4,\"mamba_head_dim\":20,"
    "\"ssm_state_size\":12,\"n_groups\":2,\"n_routed_experts\":4,"
    "\"moe_shared_expert_intermediate_size\":8}",
    "{\"model_type\":\"deepseek_v2\",\"num_hidden_layers\":3," SIZES "," EXPERTS ","
    "\"kv_lora_rank\":20,\"q_lora_rank\":24,\"qk_nope_head_dim\":12,\"qk_rope_head_dim\":8,"
    "\"v_head_dim\":20,\"n_routed_experts\":4,\"n_shared_experts\":1,"
    "\"first_k_dense_replace\":1}"};

static const struct baton_kernels *kernels;
static enum baton_dtype dtype;
static const char *config;
static struct baton_model *model;
static struct baton_kv *kv;
static struct baton_engine *engines[N_ENGINES]; /* of 1, 2, 3 threads */
static struct text texts[N_TEXTS];
static float logits[MAX_ROWS][N_VOCAB];
static uint64_t n_drawn;

static int draw(int n)
{
    return (int)(baton_philox_uniform(9, n_drawn++) * n);
}

static void make_model(void)
{
    static struct baton_model_config parsed;
    static struct baton_spec spec;
    const struct baton_arch *arch;
    const struct baton_model_options kept = {.dtype = baton_dtype_name(dtype),
                                             .kernels = kernel_sets_name(kernels)};
    struct baton_why why = {""};
    if (baton_model_config_parse(config, strlen(config), &parsed, &why) ||
        baton_arch_configure(&parsed, 0, &arch, &spec, &why) ||
        baton_model_random(&spec, 3, &kept, &model, &why))
        fail_msg("%s", why.text);
    kernel_sets_give(model, kernels);
}

static void decode_alone(struct text *text)
{
    struct baton_seq *seq = &text->seq;
    assert_ok(baton_seq_init(seq, kv, LENGTH));
    for (int i = 0; i < LENGTH; i++) {
        text->tokens[i] = (uint32_t)draw(N_VOCAB);
        assert_ok(baton_engine_decode(engines[0], &seq, &text->tokens[i], 1, text->expected[i]));
    }
}

SETUP(set_up)
{
    const struct baton_kv_pool_options pool = {.n_blocks = N_TEXTS * baton_kv_blocks_for(LENGTH)};
    make_model();
    assert_ok(baton_kv_create(model, &pool, &kv, NULL));
    for (int i = 0; i < N_ENGINES; i++) {
        const struct baton_engine_options options = {.max_rows = MAX_ROWS, .n_threads = i + 1};
        assert_ok(baton_engine_create(model, &options, &engines[i], NULL));
    }
    for (int i = 0; i < N_TEXTS; i++)
        decode_alone(&texts[i]);
}

TEARDOWN(tear_down)
{
    for (int i = 0; i < N_TEXTS; i++)
        baton_seq_fini(&texts[i].seq);
    for (int i = 0; i < N_ENGINES; i++)
        baton_engine_destroy(engines[i]);
    baton_kv_destroy(kv);
    baton_model_close(model);
}

/* The next rows of a text, one as often as several, from the first on where it is over. */
static struct baton_chunk next_of(struct text *text, int most)
{
    if (text->seq.n_tokens == LENGTH) {
        baton_seq_fini(&text->seq);
        assert_ok(baton_seq_init(&text->seq, kv, LENGTH));
    }
    int n_left = LENGTH - text->seq.n_tokens;
    int n = draw(2) ? 1 : 1 + draw(n_left < most ? n_left : most);
    return (struct baton_chunk){.seq = &text->seq,
                                .tokens = text->tokens + text->seq.n_tokens,
                                .n_tokens = n,
                                .n_logits = draw(n + 1)};
}

static void run_forward(void)
{
    struct baton_chunk chunks[N_TEXTS];
    int n = 1 + draw(N_TEXTS), first = draw(N_TEXTS), n_row = 0;
    for (int b = 0; b < n; b++)
        chunks[b] = next_of(&texts[(first + b) % N_TEXTS], MAX_ROWS / N_TEXTS);
    assert_ok(baton_engine_forward(engines[draw(N_ENGINES)], chunks, n, NULL, NULL, logits[0]));
    for (int b = 0; b < n; b++) {
        const struct text *text = &texts[(first + b) % N_TEXTS];
        for (int row = chunks[b].n_logits; row > 0; row--)
            assert_memory_equal(logits[n_row++], text->expected[text->seq.n_tokens - row],
                                sizeof logits[0]);
    }
}

TEST(a_positions_bits_do_not_depend_on_the_layout_of_forwards)
{
    int n = N_FORWARDS / (kernel_sets_is_slow(kernels) ? 8 : 1) * (getenv("BATON_LONG") ? 10 : 1);
    for (int i = 0; i < n; i++)
        run_forward();
}

ALL_TESTS(set_up, tear_down)

static int run_on(size_t index)
{
    char name[96];
    config = configs[index];
    (void)snprintf(name, sizeof name, "%s, %s, %.30s", kernels->name, baton_dtype_name(dtype),
                   config + sizeof "{\"model_type\":" - 1);
    return test_run(name);
}

int main(void)
{
    int n_failed = 0;
    for (int i = 0; (kernels = kernel_sets_at(i)); i++)
        for (dtype = 0; kernels->layout == BATON_PANELS && !baton_dtype_is_native(dtype); dtype++)
            for (size_t c = 0; c < BATON_N_OF(configs); c++)
                n_failed += run_on(c);
    return n_failed;
}
