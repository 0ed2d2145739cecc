#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "common/base/os/file.h"
#include "engine/arch/arch.h"
#include "engine/checkpoint/config/unserved.h"
#include "engine/checkpoint/gguf/config.h"

static struct baton_spec spec;
static struct baton_why why;

/* A config is written with ' for ". */
static enum baton_err configure(const char *quoted)
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

#define MODEL(type)                                                                                \
    "{'model_type':'" type                                                                         \
    "','hidden_size':64,'intermediate_size':80,'num_hidden_layers':4,'num_attention_heads':4,"     \
    "'num_key_value_heads':2,'vocab_size':64,'max_position_embeddings':128,'head_dim':16"
#define SIX       ",'n_routed_experts':6,'num_experts_per_tok':"
#define ATTENTION ",'layer_types':['attention','attention','attention','attention']"

/* Each config is one of a served family with one mistake. */
static const char *const wrong[][2] = {
    {MODEL("granitemoehybrid") ",'layer_types':['attention','mamba','mamba','attention'],"
                               "'mamba_d_head':3}",
     "mamba_d_head: must be such that mamba_n_heads, 128, have mamba_expand hidden_size, 128, "
     "toget"},
    {MODEL("granitemoehybrid") ",'layers_block_type':['attention']}",
     "layers_block_type: must have an entry for each of 4 layers, not 1"},
    {MODEL("granitemoehybrid") ATTENTION ",'position_embedding_type':'learned'}",
     "position_embedding_type: must be rope or nope, not \"learned\""},
    {MODEL("granitemoehybrid") ATTENTION ",'num_experts_per_tok':9}",
     "num_experts_per_tok: must be a whole number in 1..8, not 9"},
    {MODEL("granitemoehybrid") ATTENTION ",'rope_interleaved':true}",
     "rope_interleaved (rotary_emb_interleaved): true is"},
    {MODEL("seed_oss") ",'use_bias':true}", "use_bias: true is not supported in a seed_oss model"},
    {MODEL("seed_oss") ",'sliding_window':9}", "sliding_window (window_size): 9 is not supported"},
    {MODEL("seed_oss") ",'attention_out_bias':1}", "attention_out_bias: must be true or false"},
    {MODEL("ernie4_5") ",'num_local_experts':8}",
     "n_routed_experts): 8 is not supported in a erni"},
    {MODEL("ernie4_5") ",'rms_norm_eps':0.5}", "rms_norm_eps: must be a number in 1e-12..0.1"},
    {MODEL("arcee") ",'hidden_act':'swiglu'}", "hidden_act: \"swiglu\" is not supported"},
    {MODEL("arcee") ",'use_qk_norm':true}", "use_qk_norm: true is not supported in a arcee model"},
    {MODEL("qwen2_5_vl") ",'rope_scaling':{'type':'mrope','mrope_section':[4,4]}}",
     "rope_scaling.mrope_section: must be a list of 3 or 4 numbers"},
    {MODEL("qwen2_5_vl") ",'rope_scaling':{'type':'mrope','mrope_section':[4,4,4]}}",
     "rope_scaling.mrope_section: must add up to the 8 pairs that turn, not 12"},
    {MODEL("qwen2_vl") ",'mlp_bias':true}",
     "mlp_bias (mlp_fc1_bias): true is not supported in a qwen2_5"},
    {MODEL("qwen3_vl_text") ",'rope_scaling':{'mrope_interleaved':3}}",
     "rope_scaling.mrope_interleaved: must be true or false, not 3"},
    {MODEL("qwen3_next") ",'attn_output_gate':false}", "attn_output_gate: must be true"},
    {MODEL("qwen3_next") ",'linear_num_value_heads':24}",
     "linear_num_value_heads: must be a multiple of 16, not 24"},
    {MODEL("qwen3_5_text") ",'linear_value_head_dim':24}",
     "linear_value_head_dim: must be a multiple of 16, not 24"},
    {MODEL("qwen3_5_text") ",'linear_key_head_dim':2}",
     "linear_key_head_dim: must be a multiple of 4, not 2"},
    {MODEL("qwen3_5_text") ",'linear_conv_kernel_dim':5}",
     "linear_conv_kernel_dim: must be a whole number in 2..4, not 5"},
    {MODEL("qwen3_5_text") ",'linear_num_key_heads':64,'linear_num_value_heads':128}", "state: "},
    {MODEL("qwen3_5_text") ",'attention_bias':true}",
     "attention_bias: true is not supported in a qwen3_5_text model"},
    {MODEL("qwen3_5_text") ",'full_attention_interval':0}",
     "full_attention_interval: must be a whole number in 1..1024, not 0"},
    {"{'model_type':'qwen3_vl','vision_config':{}}", "text_config: must be given in a qwen3_vl"},
    {MODEL("olmo3") ",'sliding_window_pattern':'LG LG'}",
     "sliding_window_pattern: must be a whole number in 0..1024, or a text like LLLG, not \"LG LG"},
    {MODEL("olmo3") ",'clip_qkv':8}", "clip_qkv: 8 is not supported in a olmo3 model"},
    {MODEL("exaone4") ",'sliding_window_pattern':'GLLL'}", "or a text like LLLG, not \"GLLL\""},
    {MODEL("exaone4") ",'sliding_window':null,'layer_types':['sliding_attention','full_attention',"
                      "'full_attention','full_attention']}",
     "sliding_window: must be given where layer_types has sliding_attention"},
    {MODEL("exaone4") ",'attention_bias':true}",
     "attention_bias: true is not supported in a exaone"},
    {MODEL("hunyuan_v1_dense") ",'rope_scaling':{'type':'linear','factor':2,'alpha':8}}",
     "rope_scaling.alpha: must stand beside rope_type \"dynamic\", not \"linear\""},
    {MODEL("hunyuan_v1_dense") ",'rope_scaling':{'type':'dynamic','alpha':0.5}}",
     "rope_scaling.alpha: must be a number in 1..1e+06, not 0.5"},
    {MODEL("hunyuan_v1_dense") ",'rope_scaling':{'type':'dynamic'}}",
     "rope_scaling.factor: must be given"},
    {MODEL("llama") ",'rope_scaling':{'type':'dynamic','factor':2,'alpha':8}}",
     "rope_scaling.alpha: 8 is not supported in a llama model"},
    {MODEL("apertus") ",'hidden_act':'silu'}",
     "hidden_act: \"silu\" is not supported in an apertus model (supported: xielu)"},
    {MODEL("llama") ",'hidden_act':'xielu'}", "hidden_act: \"xielu\" is not supported"},
    {MODEL("apertus") ",'rope_scaling':{'rope_type':'llama3','factor':8}}",
     "rope_scaling.low_freq_factor: must be given"},
    {MODEL("apertus") ",'mlp_bias':true}",
     "mlp_bias (mlp_fc1_bias): true is not supported in a apertus"},
    {MODEL("deepseek_v2") ",'kv_lora_rank':null}", "kv_lora_rank: must be given, a whole number"},
    {MODEL("llama") ",'kv_lora_rank':24}", "kv_lora_rank: 24 is not supported in a llama model"},
    {MODEL("deepseek_v2") ",'qk_rope_head_dim':7}", "must be an even number"},
    {MODEL("deepseek_v2") ",'v_head_dim':0}", "v_head_dim: must be a whole number in 1..131072"},
    {MODEL("deepseek_v2") SIX "2,'scoring_func':'tanh'}",
     "scoring_func: \"tanh\" is not supported (supported: softmax, sigmoid)"},
    {MODEL("deepseek_v2") SIX "2,'topk_method':'random'}",
     "topk_method: \"random\" is not supported"},
    {MODEL("deepseek_v3") SIX "2,'n_group':4}", "n_group: must divide the 6 experts, not 4"},
    {MODEL("deepseek_v3") SIX "2,'n_group':2,'topk_group':3}",
     "topk_group: must be in 1..2, not 3"},
    {MODEL("deepseek_v3") SIX "3,'n_group':3,'topk_group':1}",
     "num_experts_per_tok: must be in 1..2, the experts of topk_group groups, not 3"},
    {MODEL("deepseek_v3") ",'n_shared_experts':1000,'moe_intermediate_size':2048}",
     "n_shared_experts: 1000 experts of 2048 are wider than 131072"},
    {MODEL("deepseek_v3") ",'attention_bias':true}",
     "attention_bias: true is not supported in a deepseek_v3 model"},
    {MODEL("deepseek_v3") ",'index_topk':2048}", "index_topk: 2048 is not supported: an indexer"},
    {MODEL("deepseek_v3") ",'kv_lora_rank':40000}", "num_attention_heads: 4 heads of"},
    {MODEL("glm4_moe_lite") ",'partial_rotary_factor':0.5}",
     "partial_rotary_factor: 0.5 is not supported in a glm4_moe_lite model"},
    {MODEL("glm4_moe_lite") ",'sliding_window':9}", "sliding_window (window_size): 9 is not"},
    {MODEL("glm4_moe_lite") ",'rope_scaling':{'rope_type':'ntk','factor':2}}",
     "rope_scaling.rope_type: \"ntk\" is not supported"},
    {MODEL("hunyuan_v1_dense") ",'use_cross_attention':0,'add_cross_attention':true}",
     "add_cross_attention: true is not supported in a hunyuan_v1_dense model"},
};

TEST(a_wrong_config_of_each_family_is_refused_by_its_key)
{
    for (size_t i = 0; i < BATON_N_OF(wrong); i++) {
        if (configure(wrong[i][0]) != BATON_INVALID)
            fail_msg("%s: not refused", wrong[i][0]);
        if (!strstr(why.text, wrong[i][1]))
            fail_msg("%s: \"%s\" in \"%s\"", wrong[i][0], wrong[i][1], why.text);
    }
}

/* ---- families that are not served ---- */

/* Takes the first of names that a comma and a space separate. */
static const char *next_name(const char *names, char name[64])
{
    size_t n = strcspn(names, ",");
    (void)snprintf(name, 64, "%.*s", (int)n, names);
    return names[n] ? names + n + 2 : NULL;
}

TEST(every_unserved_family_is_refused_with_what_it_needs)
{
    char name[64], text[256], said[128];
    for (int i = 0; i < baton_n_unserved; i++) {
        const char *types = baton_unserved[i].model_types;
        for (const char *next = *types ? types : NULL; next;) {
            next = next_name(next, name);
            (void)snprintf(text, sizeof text,
                           "{'model_type':'outer','text_config':{'model_type':'%s',"
                           "'layer_types':['anything']}}",
                           name);
            (void)snprintf(said, sizeof said, "model_type: \"%s\" is not supported: it needs %s",
                           name, baton_unserved[i].missing);
            assert_int_equal(configure(text), BATON_INVALID);
            assert_string_equal(why.text, said);
            assert_null(baton_arch_find(name));
            assert_null(baton_gguf_arch_of(name));
        }
    }
}

static void put_names(struct baton_buf *row, const char *names)
{
    char name[64];
    for (const char *next = *names ? names : NULL; next;) {
        next = next_name(next, name);
        baton_buf_printf(row, "`%s`%s", name, next ? ", " : "");
    }
}

TEST(the_page_of_models_shows_every_unserved_family)
{
    struct baton_buf page, row;
    baton_buf_init(&page, 1 << 20);
    baton_buf_init(&row, 4096);
    assert_ok(baton_file_read("docs/models.md", &page, &why));
    for (int i = 0; i < baton_n_unserved; i++) {
        baton_buf_reset(&row);
        baton_buf_printf(&row, "| ");
        put_names(&row, baton_unserved[i].model_types);
        baton_buf_printf(&row, " | ");
        put_names(&row, baton_unserved[i].archs);
        baton_buf_printf(&row, " | %s |\n", baton_unserved[i].missing);
        if (!strstr(baton_buf_text(&page), baton_buf_text(&row)))
            fail_msg("docs/models.md lacks: %s", baton_buf_text(&row));
    }
    baton_buf_fini(&page);
    baton_buf_fini(&row);
}

EACH_TEST(NULL, NULL)
