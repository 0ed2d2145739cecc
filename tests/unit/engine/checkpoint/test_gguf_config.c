#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>

#include "common/base/array.h"
#include "engine/checkpoint/gguf/config.h"
#include "tests/support/gguf_bytes.h"

enum { MAX_BYTES = 64 << 10, N_PAIRS = 4 };

/* A file in the making: keys of an architecture, then tensors of F32 without meaning. */
struct making {
    const char *arch;
    struct baton_buf entries, tensors;
    int n_entries, n_tensors;
    size_t n_data;
    float less; /* the tensors' numbers begin with 1 - less */
};

static struct making making;

static const char *key(const char *name)
{
    static char keys[2][96];
    static int turn;
    turn = !turn;
    (void)snprintf(keys[turn], sizeof keys[turn], "%s.%s", making.arch, name);
    return keys[turn];
}

static void put_int(const char *name, uint32_t number)
{
    put_gguf_u32(&making.entries, key(name), number);
    making.n_entries++;
}

static void put_real(const char *name, float number)
{
    put_gguf_f32(&making.entries, key(name), number);
    making.n_entries++;
}

static void put_flag(const char *name, bool flag)
{
    put_gguf_entry(&making.entries, key(name), BATON_GGUF_BOOL, flag, 1);
    making.n_entries++;
}

static void put_string(const char *name, const char *text)
{
    put_gguf_string(&making.entries, key(name), text);
    making.n_entries++;
}

static void put_tensor(const char *name, uint64_t fastest, uint64_t next)
{
    put_gguf_tensor(&making.tensors, name, fastest, next, 0, making.n_data);
    making.n_tensors++;
    making.n_data += (fastest * (next ? next : 1) * sizeof(float) + 31) / 32 * 32;
}

static void begin_empty(const char *arch)
{
    making = (struct making){.arch = arch};
    baton_buf_init(&making.entries, MAX_BYTES);
    baton_buf_init(&making.tensors, MAX_BYTES);
    put_gguf_string(&making.entries, "general.architecture", arch);
    making.n_entries++;
}

/* With the sizes that every file has: 2 layers of 4 heads of 8. */
static void begin(const char *arch)
{
    bool layer_norm = !strcmp(arch, "gpt2") || !strcmp(arch, "phi2") || !strcmp(arch, "gptneox") ||
                      !strcmp(arch, "starcoder2") || !strcmp(arch, "command-r") ||
                      !strcmp(arch, "cohere2");
    begin_empty(arch);
    put_int("block_count", 2);
    put_int("embedding_length", 32);
    put_int("attention.head_count", 4);
    put_int("context_length", 64);
    put_int("feed_forward_length", 48);
    put_int("vocab_size", 40);
    put_real(layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
             1e-5F);
}

static enum baton_err read_file(struct baton_model_config *config, struct baton_why *why)
{
    struct baton_buf file;
    struct baton_gguf_shard shard = {.mapping = {0}};
    const struct baton_gguf_model model = {.path = "x.gguf", .shards = &shard, .n_shards = 1};
    baton_buf_init(&file, MAX_BYTES);
    put_gguf_head(&file, 3, (uint64_t)making.n_tensors, (uint64_t)making.n_entries);
    baton_buf_append(&file, making.entries.data, making.entries.len);
    baton_buf_append(&file, making.tensors.data, making.tensors.len);
    put_gguf_data(&file, 32, 0);
    for (size_t i = 0; i < making.n_data / sizeof(float); i++) {
        const float factor = 1 - making.less + (float)(i % 8);
        baton_buf_append(&file, &factor, sizeof factor);
    }
    assert_ok(baton_buf_err(&file));
    enum baton_err err = baton_gguf_parse((const uint8_t *)file.data, file.len, &shard.file, why);
    if (!err)
        err = baton_gguf_config_read(&model, config, why);
    baton_gguf_fini(&shard.file);
    baton_buf_fini(&file);
    baton_buf_fini(&making.entries);
    baton_buf_fini(&making.tensors);
    return err;
}

static struct baton_model_config config_of(void)
{
    struct baton_model_config config;
    struct baton_why why = {.text = ""};
    if (read_file(&config, &why))
        fail_msg("%s", why.text);
    return config;
}

static void assert_refused(const char *reason)
{
    struct baton_model_config config;
    struct baton_why why = {.text = ""};
    enum baton_err err = read_file(&config, &why);
    if (err != BATON_INVALID || !strstr(why.text, reason))
        fail_msg("%s \"%s\" does not say \"%s\"", baton_err_name(err), why.text, reason);
}

TEST(each_architecture_is_a_family_of_the_same_sizes)
{
    static const struct {
        const char *arch, *model_type;
    } families[] = {
        {"llama", "llama"},
        {"mistral3", "mistral"},
        {"qwen2", "qwen2"},
        {"qwen2moe", "qwen2_moe"},
        {"qwen3", "qwen3"},
        {"qwen3moe", "qwen3_moe"},
        {"gemma", "gemma"},
        {"gemma2", "gemma2"},
        {"gemma3", "gemma3_text"},
        {"phi2", "phi"},
        {"phi3", "phi3"},
        {"smollm3", "smollm3"},
        {"olmo2", "olmo2"},
        {"olmoe", "olmoe"},
        {"granite", "granite"},
        {"granitemoe", "granitemoe"},
        {"gpt-oss", "gpt_oss"},
        {"gpt2", "gpt2"},
        {"gptneox", "gpt_neox"},
        {"glm4", "glm4"},
        {"starcoder2", "starcoder2"},
        {"command-r", "cohere"},
        {"cohere2", "cohere2"},
        {"minicpm", "minicpm"},
        {"seed_oss", "seed_oss"},
        {"ernie4_5", "ernie4_5"},
        {"arcee", "arcee"},
        {"qwen2vl", "qwen2"},
        {"qwen3vl", "qwen3"},
        {"qwen3vlmoe", "qwen3_moe"},
        {"apertus", "apertus"},
        {"exaone4", "exaone4"},
        {"hunyuan-dense", "hunyuan_v1_dense"},
    };
    for (size_t i = 0; i < BATON_N_OF(families); i++) {
        begin(families[i].arch);
        const struct baton_model_config config = config_of();
        assert_string_equal(config.model_type, families[i].model_type);
        assert_true(config.gguf_names);
        assert_int_equal(config.n_layers, 2);
        assert_int_equal(config.n_embd, 32);
        assert_int_equal(config.n_heads, 4);
        assert_int_equal(config.n_kv_heads, 4);
        assert_int_equal(config.head_dim, 8);
        assert_int_equal(config.n_ff, 48);
        assert_int_equal(config.n_vocab, 40);
        assert_int_equal(config.n_context, 64);
        assert_true(config.rms_norm_eps == 1e-5 && config.norm_epsilon == 1e-5);
        assert_true(config.rope.theta == 10000);
    }
}

TEST(llamas_files_are_those_of_mistral_and_mixtral_too)
{
    begin("llama");
    put_int("expert_count", 8);
    put_int("expert_used_count", 2);
    put_int("attention.head_count_kv", 2);
    struct baton_model_config config = config_of();
    assert_string_equal(config.model_type, "mixtral");
    assert_int_equal(config.n_experts, 8);
    assert_int_equal(config.n_experts_chosen, 2);
    assert_int_equal(config.n_kv_heads, 2);
    begin("llama");
    put_int("attention.sliding_window", 16);
    config = config_of();
    assert_string_equal(config.model_type, "mistral");
    assert_int_equal(config.sliding_window, 16);
    begin("olmo2");
    put_int("attention.sliding_window", 16);
    assert_string_equal(config_of().model_type, "olmo3");
    begin("mistral3");
    config = config_of();
    assert_int_equal(config.sliding_window, 0);
    begin("mistral3");
    put_real("attention.temperature_scale", 0.125F);
    put_string("rope.scaling.type", "yarn");
    put_real("rope.scaling.factor", 4);
    put_real("rope.scaling.yarn_log_multiplier", 1);
    put_int("rope.scaling.original_context_length", 16);
    config = config_of();
    assert_string_equal(config.model_type, "ministral3");
    assert_true(config.rope.query_scaling_beta == 0.125 && config.rope.mscale_all_dim == 1);
    assert_int_equal(config.rope.original_context, 16);
}

TEST(biases_heads_and_vocabularies_follow_from_tensors)
{
    begin("llama");
    put_tensor("token_embd.weight", 32, 100);
    put_tensor("blk.0.attn_q.bias", 32, 0);
    struct baton_model_config config = config_of();
    assert_int_equal(config.n_vocab, 100);
    assert_true(config.attention_bias && config.tied_head && !config.mlp_bias);
    begin("llama");
    put_tensor("token_embd.weight", 32, 100);
    put_tensor("output.weight", 32, 100);
    put_tensor("blk.0.ffn_down.bias", 32, 0);
    config = config_of();
    assert_true(!config.attention_bias && !config.tied_head && config.mlp_bias);
    begin("starcoder2");
    put_tensor("blk.0.attn_qkv.bias", 96, 0);
    assert_true(config_of().use_bias);
    begin("starcoder2");
    assert_false(config_of().use_bias);
    begin("command-r");
    put_tensor("blk.0.attn_q_norm.weight", 8, 4);
    assert_true(config_of().use_qk_norm);
}

TEST(experts_widths_come_from_keys_or_tensors)
{
    begin("qwen3moe");
    put_int("expert_count", 4);
    put_int("expert_used_count", 2);
    put_tensor("blk.0.ffn_up_exps.weight", 32, 24);
    struct baton_model_config config = config_of();
    assert_int_equal(config.moe_n_ff, 24);
    assert_int_equal(config.n_ff, 48);
    assert_true(config.norm_topk_prob);
    begin("qwen2moe");
    put_int("expert_count", 4);
    put_int("expert_used_count", 2);
    put_int("expert_feed_forward_length", 20);
    put_int("expert_shared_feed_forward_length", 28);
    config = config_of();
    assert_int_equal(config.moe_n_ff, 20);
    assert_int_equal(config.shared_n_ff, 28);
    assert_false(config.norm_topk_prob);
    begin("granitemoe");
    put_int("expert_count", 4);
    put_int("expert_used_count", 2);
    put_int("expert_shared_feed_forward_length", 28);
    assert_int_equal(config_of().shared_mlp_n_ff, 28);
    begin("olmoe");
    put_int("expert_count", 4);
    put_int("expert_used_count", 2);
    put_flag("expert_weights_norm", true);
    assert_true(config_of().norm_topk_prob);
}

TEST(divisors_and_factors_of_pairs_are_longrope)
{
    begin("llama");
    put_tensor("rope_freqs.weight", N_PAIRS, 0);
    struct baton_model_config config = config_of();
    assert_string_equal(config.rope.type, "longrope");
    assert_int_equal(config.rope.n_short, N_PAIRS);
    assert_int_equal(config.rope.n_long, N_PAIRS);
    assert_true(config.rope.short_factor[2] == 3 && config.rope.long_factor[2] == 3);
    assert_true(config.rope.attention_factor == 1);
    begin("phi3");
    put_tensor("rope_factors_long.weight", N_PAIRS, 0);
    put_tensor("rope_factors_short.weight", N_PAIRS, 0);
    put_int("rope.scaling.original_context_length", 32);
    put_real("rope.scaling.attn_factor", 1.25F);
    config = config_of();
    assert_string_equal(config.rope.type, "longrope");
    assert_int_equal(config.rope.original_context, 32);
    assert_true(config.rope.attention_factor == 1.25);
}

TEST(scalings_by_numbers_are_those_of_a_config)
{
    begin("qwen2");
    put_string("rope.scaling.type", "yarn");
    put_real("rope.scaling.factor", 4);
    put_int("rope.scaling.original_context_length", 16);
    struct baton_model_config config = config_of();
    assert_string_equal(config.rope.type, "yarn");
    assert_true(config.rope.factor == 4 && config.rope.truncate);
    assert_true(config.rope.attention_factor == 0);
    begin("gpt-oss");
    put_string("rope.scaling.type", "yarn");
    put_real("rope.scaling.factor", 32);
    put_real("rope.scaling.attn_factor", 2);
    config = config_of();
    assert_false(config.rope.truncate);
    assert_true(fabs(config.rope.attention_factor - 2 * (0.1 * log(32) + 1)) < 1e-12);
    begin("gemma3");
    put_string("rope.scaling.type", "linear");
    put_real("rope.scaling.factor", 8);
    config = config_of();
    assert_string_equal(config.rope.type, "linear");
    assert_true(config.rope.factor == 8 && config.local_rope.theta == 10000);
    assert_string_equal(config.local_rope.type, "");
    begin("llama");
    put_real("rope.scale_linear", 2); /* as files of 2023 have it */
    config = config_of();
    assert_string_equal(config.rope.type, "linear");
    begin("llama");
    put_string("rope.scaling.type", "none");
    put_real("rope.scaling.factor", 4);
    assert_string_equal(config_of().rope.type, "");
}

TEST(a_part_of_a_head_may_turn)
{
    begin("phi2");
    put_int("rope.dimension_count", 6);
    const struct baton_model_config config = config_of();
    assert_int_equal(config.rotary_dim, 6);
    assert_true(config.features & BATON_FEATURE(PARTIAL_ROTARY));
    begin("gptneox");
    assert_false(config_of().features & BATON_FEATURE(PARTIAL_ROTARY));
}

TEST(only_granites_files_switch_the_rotation_off)
{
    begin("granite");
    put_flag("rope.scaling.finetuned", false);
    assert_string_equal(config_of().position_embedding_type, "nope");
    begin("granitemoe");
    put_flag("rope.scaling.finetuned", true);
    assert_string_equal(config_of().position_embedding_type, "rope");
    begin("llama");
    put_flag("rope.scaling.finetuned", false);
    assert_string_equal(config_of().position_embedding_type, "");
    begin("granite");
    put_int("rope.scaling.finetuned", 7);
    assert_refused("granite.rope.scaling.finetuned: must be true or false");
}

TEST(only_models_of_pictures_have_sections)
{
    begin("qwen3vl");
    put_int("rope.dimension_sections", 2);
    put_int("n_deepstack_layers", 3);
    assert_int_equal(config_of().head_dim, 8);
    begin("qwen3");
    put_int("rope.dimension_sections", 2);
    assert_refused("qwen3.rope.dimension_sections: 2 is not supported");
}

TEST(windows_follow_the_files_pattern)
{
    begin("gemma2");
    struct baton_model_config config = config_of();
    assert_int_equal(config.sliding_window, 4096);
    assert_int_equal(config.n_layer_types, 0);
    begin("gemma3");
    assert_int_equal(config_of().sliding_window, 0);
    begin("gemma3");
    put_int("attention.sliding_window", 16);
    put_int("attention.sliding_window_pattern", 2);
    config = config_of();
    assert_int_equal(config.sliding_window, 16);
    assert_int_equal(config.n_layer_types, 2);
    assert_int_equal(config.layer_types[0], BATON_LAYER_SLIDING);
    assert_int_equal(config.layer_types[1], BATON_LAYER_FULL);
    begin("phi3");
    put_int("attention.sliding_window", 0);
    assert_int_equal(config_of().sliding_window, 0);
}

TEST(the_constants_that_a_file_lacks_are_those_of_its_models)
{
    begin("gemma2");
    assert_true(config_of().query_scalar == 8);
    begin_empty("gemma2"); /* the 27B has 46 layers */
    put_int("block_count", 46);
    put_int("embedding_length", 48);
    put_int("attention.head_count", 4);
    put_int("attention.key_length", 8);
    put_int("attention.value_length", 8);
    put_int("context_length", 64);
    put_int("feed_forward_length", 48);
    put_int("vocab_size", 40);
    put_real("attention.layer_norm_rms_epsilon", 1e-5F);
    struct baton_model_config config = config_of();
    assert_true(config.query_scalar == 12 && config.head_dim == 8);
    assert_true(config.score_cap == 50 && config.logit_cap == 30);
    begin("gemma2");
    put_real("attn_logit_softcapping", 0);
    assert_true(config_of().score_cap == 0);
    begin("granite");
    put_real("attention.scale", 0.5F);
    put_real("embedding_scale", 12);
    put_real("residual_scale", 0.25F);
    put_real("logit_scale", 8);
    config = config_of();
    assert_true(config.attention_multiplier == 0.5 && config.embedding_multiplier == 12);
    assert_true(config.residual_multiplier == 0.25 && config.logits_scaling == 8);
    begin("minicpm");
    config = config_of();
    assert_true(config.scale_emb == 12 && fabs(config.scale_depth - 1.4) < 1e-12);
    assert_true(config.dim_model_base == 256);
}

TEST(sampling_defaults_are_reported)
{
    begin("llama");
    put_gguf_f32(&making.entries, "general.sampling.temp", 0.6F);
    put_gguf_u32(&making.entries, "general.sampling.top_k", 20);
    making.n_entries += 2;
    struct baton_model_config config = config_of();
    assert_true(config.sampling.temperature == 0.6);
    assert_int_equal(config.sampling.top_k, 20);
    assert_true(config.sampling.top_p == -1);
    begin("llama");
    put_gguf_f32(&making.entries, "general.sampling.top_p", 2);
    making.n_entries++;
    assert_refused("general.sampling: top_p: must be a number in 0..1, not 2");
}

TEST(missing_keys_and_wrong_types_are_refused_by_key)
{
    begin_empty("llama");
    assert_refused("x.gguf: llama.block_count: must be given");
    begin_empty("llama");
    put_string("block_count", "two");
    assert_refused("llama.block_count: must be a whole number");
    begin_empty("llama");
    put_int("block_count", 1U << 31);
    assert_refused("llama.block_count: must be in 1..1024, not 2147483648");
    begin_empty("no-such");
    assert_refused(
        "general.architecture: \"no-such\" is not supported (supported: llama, mistral3");
    making = (struct making){.arch = "llama"};
    baton_buf_init(&making.entries, MAX_BYTES);
    baton_buf_init(&making.tensors, MAX_BYTES);
    assert_refused("general.architecture: must be given as text");
    begin("qwen2");
    put_real("rope.freq_base", 0.5F);
    assert_refused("qwen2.rope.freq_base, read as rope_theta: must be a number in");
    begin("llama");
    put_real("rope.scaling.factor", INFINITY);
    assert_refused("llama.rope.scaling.factor: must be a number");
    begin("llama");
    put_int("attention.value_length", 16);
    assert_refused("llama.attention.value_length: must be the same as attention.key_length");
}

TEST(unsupported_settings_are_refused)
{
    begin("llama");
    put_string("rope.scaling.type", "ntk");
    assert_refused("llama.rope.scaling.type: \"ntk\" is not supported");
    begin("llama");
    put_real("rope.scaling.attn_factor", 2);
    assert_refused("llama.rope.scaling.attn_factor: must be 1 where rope.scaling.type is none");
    begin("phi3");
    put_string("rope.scaling.type", "longrope");
    assert_refused("tensor rope_factors_long.weight is missing");
    begin("phi3");
    put_tensor("rope_factors_long.weight", N_PAIRS, 0);
    assert_refused("tensor rope_factors_short.weight is missing");
    begin("llama");
    put_tensor("rope_freqs.weight", N_PAIRS, N_PAIRS);
    assert_refused("tensor rope_freqs.weight: must be a list");
    begin("llama");
    put_tensor("rope_freqs.weight", N_PAIRS, 0);
    making.less = 1;
    assert_refused("tensor rope_freqs.weight: must hold numbers over 0, not 0");
    begin("llama");
    put_flag("attention.causal", false);
    assert_refused("llama.attention.causal: 0 is not supported");
    begin("qwen3moe");
    put_int("expert_group_count", 4);
    assert_refused("qwen3moe.expert_group_count: 4 is not supported");
    begin("qwen3moe");
    put_int("expert_gating_func", 2);
    assert_refused("qwen3moe.expert_gating_func: 2 is not supported");
    begin("glm4");
    put_int("nextn_predict_layers", 1);
    assert_refused("glm4.nextn_predict_layers: 1 is not supported");
    begin("gemma3");
    put_int("attention.sliding_window", 16);
    put_int("attention.sliding_window_pattern", 0);
    assert_refused("gemma3.attention.sliding_window_pattern: must be");
}
