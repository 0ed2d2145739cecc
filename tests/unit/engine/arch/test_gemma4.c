#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/arch/arch.h"
#include "engine/arch/kv_layout.h"
#include "engine/arch/spec_cost.h"

/* Configs are written with ' for ". */
static struct baton_spec spec;
static struct baton_why why;

static enum baton_err configure_for(const char *quoted)
{
    static struct baton_model_config config;
    const struct baton_arch *arch = NULL;
    char text[4096];
    int n = snprintf(text, sizeof text, "%s", quoted);
    assert_in_range(n, 1, sizeof text - 1);
    for (char *c = text; (c = strchr(c, '\'')); c++)
        *c = '"';
    why.text[0] = 0;
    enum baton_err err = baton_model_config_parse(text, (size_t)n, &config, &why);
    return err ? err : baton_arch_configure(&config, 0, &arch, &spec, &why);
}

static void configure(const char *quoted)
{
    if (configure_for(quoted))
        fail_msg("%s: %s", quoted, why.text);
}

#define E2B                                                                                        \
    "{'model_type':'gemma4','text_config':{'model_type':'gemma4_text','num_hidden_layers':35,"     \
    "'hidden_size':1536,'num_attention_heads':8,'num_key_value_heads':1,'intermediate_size':6144," \
    "'sliding_window_pattern':5,'num_kv_shared_layers':20,'use_double_wide_mlp':true,"             \
    "'final_logit_softcapping':30}}"

TEST(e2b_shares_keys_and_values_of_the_last_layer_of_each_type)
{
    configure(E2B);
    assert_int_equal(spec.layers[14].kv_from, 14);
    assert_int_equal(spec.layers[15].kv_from, 13);
    assert_int_equal(spec.layers[34].kv_from, 14);
    assert_int_equal(spec.layers[13].head_dim, 256);
    assert_int_equal(spec.layers[34].head_dim, 512);
    assert_int_equal(spec.layers[34].window, 0);
    assert_int_equal(spec.layers[33].window, 512);
    assert_int_equal(spec.layers[14].n_ff, 6144);
    assert_int_equal(spec.layers[15].n_ff, 12288);
    assert_int_equal(baton_spec_per_layer_width(&spec), 35 * 256);
    assert_int_equal(baton_spec_last_kv_layer(&spec), 14); /* where a prompt's rows end */
}

TEST(e2b_keeps_six_kib_of_a_token_beside_its_windows)
{
    configure(E2B);
    double n_global = 0, n_local = 0;
    for (int i = 0; i < spec.n_layers; i++)
        if (baton_spec_stores_kv(&spec, i))
            *(spec.layers[i].window ? &n_local : &n_global) += 2.0 * baton_spec_kv_width(&spec, i);
    assert_true(2 * n_global == 6 << 10);
    assert_true(2 * n_local * 512 == 6 << 20);
    assert_true(n_global + n_local == baton_spec_kv_elements(&spec));
}

TEST(global_heads_turn_their_first_pairs_alone)
{
    configure(E2B);
    const struct baton_rope_spec *global = &spec.ropes[spec.layers[4].rope],
                                 *local = &spec.ropes[spec.layers[0].rope];
    assert_int_equal(global->n_rotated, 512);
    assert_true(global->inverse[63] > 0 && global->inverse[64] == 0 && global->inverse[255] == 0);
    assert_int_equal(local->n_rotated, 256);
    assert_true(local->inverse[127] > 0);
}

#define BASE(more)                                                                                 \
    "{'model_type':'gemma4_text','num_hidden_layers':3,'hidden_size':64,"                          \
    "'num_attention_heads':4,'num_key_value_heads':2,'intermediate_size':80,'vocab_size':64,"      \
    "'head_dim':16,'layer_types':['sliding_attention','full_attention','full_attention']" more "}"
#define DENSE(more) BASE(",'hidden_size_per_layer_input':0,'attention_k_eq_v':true" more)

TEST(sizes_of_layers_may_be_given_one_by_one)
{
    char first[BATON_SHA256_HEX], second[BATON_SHA256_HEX];
    configure(DENSE(",'global_head_dim':32,'num_global_key_value_heads':1"));
    assert_ok(baton_kv_layout_digest(&spec, "f16", 16, first));
    assert_true(spec.layers[1].values_are_keys && !spec.layers[0].values_are_keys);
    assert_int_equal(baton_spec_qkv_width(&spec, 1), 4 * 32 + 32);
    configure(DENSE(",'per_layer_config':{'1':{'head_dim':32,'num_key_value_heads':1},"
                    "'2':{'head_dim':32,'num_key_value_heads':1}}"));
    assert_ok(baton_kv_layout_digest(&spec, "f16", 16, second));
    assert_string_equal(first, second);
}

TEST(the_last_layer_is_global_whatever_its_type)
{
    configure("{'model_type':'gemma4_unified_text','num_hidden_layers':3,'layer_types':"
              "['full_attention','sliding_attention','sliding_attention']}");
    assert_int_equal(spec.layers[1].window, 1024);
    assert_int_equal(spec.layers[2].window, 0);
    assert_int_equal(spec.n_per_layer, 0);
}

#define MIXED(n_experts, n_chosen, n_ff)                                                           \
    DENSE(",'enable_moe_block':true,'num_experts':" n_experts ",'top_k_experts':" n_chosen         \
          ",'moe_intermediate_size':" n_ff)

TEST(experts_stand_beside_an_mlp)
{
    configure(MIXED("8", "2", "24"));
    assert_true(spec.moe.is_beside && spec.moe.renormalises && spec.layers[2].is_moe);
    assert_int_equal(spec.moe.n_ff_shared, 80);
    assert_int_equal(spec.moe.n_ff, 24);
}

static const char *const refused[][2] = {
    {DENSE(",'num_kv_shared_layers':-1"),
     "num_kv_shared_layers: must be a whole number in 0..1024"},
    {DENSE(",'num_kv_shared_layers':3"), "num_kv_shared_layers: must be in 0..2"},
    {DENSE(",'num_kv_shared_layers':2"), "num_kv_shared_layers: layer 1 has no layer of its type"},
    {DENSE(",'global_head_dim':-512"), "global_head_dim: must be a whole number in 0..131072"},
    {DENSE(",'global_head_dim':31"), "head_dim: must be an even number"},
    {DENSE(",'global_head_dim':1024"), "head_dim: must be an even number in 2..512"},
    {DENSE(",'num_global_key_value_heads':0"),
     "num_global_key_value_heads: must be a whole number"},
    {DENSE(",'num_global_key_value_heads':3"),
     "num_global_key_value_heads: must divide the 4 heads"},
    {BASE(",'attention_k_eq_v':'yes'"), "attention_k_eq_v: must be true or false"},
    {DENSE(",'sliding_window':null"), "sliding_window: must be given"},
    {DENSE(",'sliding_window':-9"), "sliding_window: must be a whole number in 0.."},
    {DENSE(",'query_pre_attn_scalar':256"), "query_pre_attn_scalar: 256 is not supported"},
    {DENSE(",'attn_logit_softcapping':50"), "attn_logit_softcapping: 50 is not supported"},
    {DENSE(",'use_bidirectional_attention':'all'"), "use_bidirectional_attention: true is not"},
    {DENSE(",'use_bidirectional_attention':'some'"),
     "use_bidirectional_attention: must be true, false, \"all\" or \"vision\", not \"some\""},
    {BASE(",'hidden_size_per_layer_input':-4"), "hidden_size_per_layer_input: must be a whole"},
    {BASE(",'vocab_size_per_layer_input':64,'hidden_size_per_layer_input':65536"),
     "inputs of layers: 3 of 65536 elements"},
    {BASE(",'hidden_size_per_layer_input':8"),
     "vocab_size_per_layer_input: must be vocab_size, 64"},
    {DENSE(",'per_layer_config':[]"), "per_layer_config: must be an object"},
    {DENSE(",'per_layer_config':{'3':{}}"), "per_layer_config.3: must be an object of one of 3"},
    {DENSE(",'per_layer_config':{'-1':{}}"), "per_layer_config.-1: must be an object of one of 3"},
    {DENSE(",'per_layer_config':{'1':4}"), "per_layer_config.1: must be an object of one of 3"},
    {DENSE(",'per_layer_config':{'1':{'sliding_window':4}}"),
     "per_layer_config.1.sliding_window: not supported"},
    {DENSE(",'per_layer_config':{'1':{'head_dim':0}}"),
     "per_layer_config.1.head_dim: must be a whole number in 1..131072, not 0"},
    {DENSE(",'per_layer_config':{'1':{'num_key_value_heads':3}}"),
     "per_layer_config.1.num_key_value_heads: must divide the 4 heads"},
    {DENSE(",'per_layer_config':{'1':{'head_dim':32}}"),
     "per_layer_config.2.head_dim: must be that of layer 1, which has its rotation, 32, not 16"},
    {MIXED("null", "2", "24"), "num_experts (num_local_experts): must be given"},
    {MIXED("8", "9", "24"), "num_experts_per_tok: must be a whole number in 1..8, not 9"},
    {MIXED("8", "2", "null"), "moe_intermediate_size: must be given"},
    {"{'model_type':'gemma4'}", "text_config: must be given in a gemma4 model"},
    {"{'model_type':'gemma4','text_config':{'model_type':'gemma3_text'}}",
     "model_type: \"gemma4\" with a text_config of \"gemma3_text\" is not supported"},
    {"{'model_type':'llama','num_hidden_layers':3,'per_layer_config':{'1':{'head_dim':4}}}",
     "per_layer_config: an object is not supported in a llama model"},
    {"{'model_type':'llama','num_kv_shared_layers':2}", "num_kv_shared_layers: 2 is not supported"},
    {"{'model_type':'llama','hidden_size_per_layer_input':2}",
     "hidden_size_per_layer_input: 2 is not supported in a llama model"},
};

TEST(wrong_configs_are_refused_by_name)
{
    for (size_t i = 0; i < BATON_N_OF(refused); i++) {
        if (configure_for(refused[i][0]) != BATON_INVALID)
            fail_msg("%s: not refused", refused[i][0]);
        if (!strstr(why.text, refused[i][1]))
            fail_msg("%s: \"%s\" in \"%s\"", refused[i][0], refused[i][1], why.text);
    }
}

EACH_TEST(NULL, NULL)
