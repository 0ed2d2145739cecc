#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/arch/arch.h"
#include "engine/arch/spec_cost.h"
#include "engine/checkpoint/checkpoint.h"

/* Configs are written with ' for ". */
static struct baton_spec spec;
static struct baton_why why;

static enum baton_err configure_for(const char *quoted, int n_context)
{
    static struct baton_model_config config;
    const struct baton_arch *arch = NULL;
    char text[8192];
    int n = snprintf(text, sizeof text, "%s", quoted);
    assert_in_range(n, 1, sizeof text - 1);
    for (char *c = text; (c = strchr(c, '\'')); c++)
        *c = '"';
    why.text[0] = 0;
    enum baton_err err = baton_model_config_parse(text, (size_t)n, &config, &why);
    return err ? err : baton_arch_configure(&config, n_context, &arch, &spec, &why);
}

static void configure(const char *quoted)
{
    if (configure_for(quoted, 0))
        fail_msg("%s: %s", quoted, why.text);
}

#define SIZES                                                                                      \
    "'hidden_size':64,'intermediate_size':80,'num_hidden_layers':4,'num_attention_heads':4,"       \
    "'num_key_value_heads':2,'vocab_size':64,'max_position_embeddings':128"
#define MODEL(type) "{'model_type':'" type "'," SIZES
/* After MODEL: all other layers see everything. */
#define SECOND_LAYER(type)                                                                         \
    ",'layer_types':['full_attention','" type "','full_attention','full_attention']}"

/* ---- refusals ---- */

static const char *const refused[][2] = {
    {"{'hidden_size':48}", "model_type: must be given as text"},
    {"{'model_type':'opt'}", "model_type: \"opt\" is not supported (supported: gpt2, "},
    {"{'model_type':'gemma3'}", "text_config: must be given in a gemma3 model"},
    {"{'model_type':'llava','text_config':" MODEL("llama") "}}",
     "model_type: \"llava\" with a text_config of \"llama\" is not supported"},
    {"{'model_type':'mistral3','text_config':" MODEL("llama") "}}",
     "model_type: \"mistral3\" with a text_config of \"llama\" is not supported"},
    {"{'model_type':'llama'}", "num_hidden_layers (n_layer, num_layers): must be given"},
    {MODEL("llama") ",'head_dim':0}", "head_dim: must be a whole number in 1..131072, not 0"},
    {MODEL("llama") ",'hidden_size':50}", "duplicate"},
    {"{'model_type':'llama','hidden_size':50,'intermediate_size':80,'num_hidden_layers':4,"
     "'num_attention_heads':4,'vocab_size':64}",
     "num_attention_heads (n_head, num_heads): must divide the width 50"},
    {"{'model_type':'llama','hidden_size':48,'intermediate_size':80,'num_hidden_layers':4,"
     "'num_attention_heads':4,'num_key_value_heads':3,'vocab_size':64}",
     "num_key_value_heads: must divide the 4 heads, not 3"},
    {MODEL("llama") ",'hidden_act':'quick_gelu'}", "hidden_act: \"quick_gelu\" is not supported"},
    {MODEL("llama") ",'rms_norm_eps':null}", "rms_norm_eps: must be given"},
    {MODEL("llama") ",'rms_norm_eps':0.5}",
     "rms_norm_eps: must be a number in 1e-12..0.1, not 0.5"},
    {MODEL("llama") ",'rope_scaling':{'rope_type':'ntk'}}",
     "rope_scaling.rope_type: \"ntk\" is not supported (supported: default, linear, "},
    {MODEL("llama") ",'rope_scaling':{'type':'linear'}}", "rope_scaling.factor: must be given"},
    {MODEL("llama") ",'rope_scaling':{'type':'dynamic'}}", "rope_scaling.factor: must be given"},
    {MODEL("llama") ",'rope_scaling':{'type':'yarn'}}", "rope_scaling.factor: must be given"},
    {MODEL("llama") ",'rope_scaling':{'rope_type':'llama3','low_freq_factor':1}}",
     "rope_scaling.factor: must be given"},
    {MODEL("llama") ",'rope_scaling':{'rope_type':'llama3','factor':8,'high_freq_factor':4}}",
     "rope_scaling.low_freq_factor: must be given"},
    {MODEL("llama") ",'rope_scaling':{'type':'llama3','factor':8,'low_freq_factor':1}}",
     "rope_scaling.high_freq_factor: must be given"},
    {MODEL("llama") ",'rope_parameters':{'rope_type':'llama3','factor':8,'low_freq_factor':1,"
                    "'high_freq_factor':4,'rope_theta':500000}}",
     "rope_scaling.original_max_position_embeddings: must be given"},
    {MODEL("llama") ",'rope_scaling':{'rope_type':'llama3','factor':8,'low_freq_factor':4,"
                    "'high_freq_factor':4,'original_max_position_embeddings':32}}",
     "rope_scaling.high_freq_factor: must be above low_freq_factor 4, not 4"},
    {MODEL("phi3") ",'rope_scaling':{'type':'longrope','short_factor':[1,1,1,1,1,1,1,1],"
                   "'long_factor':[1,1]}}",
     "rope_scaling.long_factor: must have 8 factors, one for each pair that turns, not 2"},
    {MODEL("llama") ",'rope_scaling':{'type':'linear','factor':2,'mrope_section':[1,2]}}",
     "rope_scaling.mrope_section: must be a list of 3 or 4 numbers, not"},
    {MODEL("llama") ",'rope_scaling':{'type':'linear','factor':2,'mrope_section':[4,2,2]}}",
     "rope_scaling.mrope_section: a list is not supported in a llama model"},
    {MODEL("qwen3") ",'rope_scaling':{'type':'mrope'}}",
     "rope_scaling.mrope_section: a list is not supported in a qwen3 model"},
    {MODEL("qwen2_5_vl") ",'rope_scaling':{'type':'mrope'}}",
     "rope_scaling.rope_type: \"mrope\" is not supported (supported: default, "},
    {MODEL("qwen2_5_vl") ",'rope_scaling':{'type':'mrope','mrope_section':[4,2,4]}}",
     "rope_scaling.mrope_section: must add up to the 8 pairs that turn, not 10"},
    {MODEL("qwen2_vl") ",'rope_scaling':{'type':'mrope','mrope_section':[4,2,-4]}}",
     "rope_scaling.mrope_section: must be a list of whole numbers in 0..256, not -4"},
    {"{'model_type':'qwen3_vl'}", "text_config: must be given in a qwen3_vl model"},
    {"{'model_type':'qwen3_vl','text_config':" MODEL("qwen3") "}}",
     "model_type: \"qwen3_vl\" with a text_config of \"qwen3\" is not supported"},
    {MODEL("qwen3_vl_text") ",'sliding_window':9}", "sliding_window (window_size): 9 is not"},
    {MODEL("llama") ",'rope_theta':null}", "rope_theta: must be given"},
    {MODEL("granitemoehybrid") ",'mamba_n_heads':16}",
     "layer_types: one layer at least must have attention"},
    {MODEL("granitemoehybrid") SECOND_LAYER("conv"),
     "layer_types: layer 1 has a type that a granitemoehybrid model has not (supported: mamba, "},
    {MODEL("granitemoehybrid") ",'num_local_experts':0,'shared_intermediate_size':0,"
                               "'layers_block_type':['attention','attention','attention',"
                               "'attention']}",
     "shared_intermediate_size: must be given, a whole number in 1..131072"},
    {MODEL("qwen2") ",'attention_out_bias':true}",
     "attention_out_bias: true is not supported in a qwen2 model"},
    {MODEL("ernie4_5") ",'attention_bias':true}",
     "attention_bias: true is not supported in a ernie4_5 model"},
    {MODEL("granite") ",'position_embedding_type':'alibi'}",
     "position_embedding_type: must be rope or nope, not \"alibi\""},
    {MODEL("llama") ",'partial_rotary_factor':0.5}",
     "partial_rotary_factor: 0.5 is not supported in a llama model"},
    {MODEL("phi") ",'partial_rotary_factor':0.2}",
     "partial_rotary_factor: must turn an even number of a head's 16 elements, in 2..512, not 3"},
    {MODEL("llama") ",'quantization_config':{'quant_method':'gptq','bits':3}}",
     "quantization_config: \"gptq, bits 3\" is not supported in a llama model"},
    {MODEL("llama") ",'quantization_config':{'quant_method':'gptq','bits':4,"
                    "'checkpoint_format':'gptq_v2'}}",
     "quantization_config: \"gptq, checkpoint_format gptq_v2\" is not supported"},
    {MODEL("llama") ",'quantization_config':{'quant_method':'gptq','bits':4,"
                    "'dynamic':{'-:.*':{}}}}",
     "quantization_config: \"gptq, dynamic\" is not supported"},
    {MODEL("llama") ",'quantization_config':{'quant_method':'gptq','bits':4,"
                    "'is_marlin_format':true}}",
     "quantization_config: \"gptq, is_marlin_format\" is not supported"},
    {MODEL("qwen2") ",'quantization_config':{'quant_method':'awq'}}",
     "quantization_config: \"awq, bits\" is not supported in a qwen2 model"},
    {MODEL("qwen2") ",'quantization_config':{'quant_method':'awq','bits':4,'version':'gemv'}}",
     "quantization_config: \"awq, version gemv\" is not supported in a qwen2 model"},
    {MODEL("qwen3") ",'quantization_config':{'quant_method':'fp8','fmt':'e5m2'}}",
     "quantization_config: \"fp8, fmt e5m2\" is not supported in a qwen3 model"},
    {MODEL("qwen3") ",'quantization_config':{'quant_method':'fp8','weight_block_size':[64,64]}}",
     "quantization_config: \"fp8, weight_block_size 64\" is not supported in a qwen3 model"},
    {MODEL("qwen3") ",'quantization_config':{'quant_method':'compressed-tensors',"
                    "'config_groups':{'group_0':{'weights':{'num_bits':2,'type':'int'}}}}}",
     "quantization_config: \"compressed-tensors, num_bits 2\" is not supported"},
    {MODEL("qwen3") ",'compression_config':{'quant_method':'compressed-tensors',"
                    "'format':'nvfp4-pack-quantized'}}",
     "quantization_config: \"compressed-tensors, format nvfp4-pack-q"},
    {MODEL("qwen3") ",'quantization_config':{'quant_method':'modelopt'}}",
     "quantization_config: \"modelopt\" is not supported in a qwen3 model"},
    {MODEL("mistral") ",'quantization_config':{'load_in_4bit':true}}",
     "quantization_config: \"unknown\" is not supported in a mistral model"},
    {MODEL("gpt_oss") ",'quantization_config':{'quant_method':'bitsandbytes'}}",
     "quantization_config: \"bitsandbytes\" is not supported in a gpt_oss model"},
    {MODEL("qwen3") SECOND_LAYER("linear_attention"),
     "layer_types: \"linear_attention\" is not supported in a qwen3 model"},
    {MODEL("llama") SECOND_LAYER("sliding_attention"),
     "layer_types: \"sliding_attention\" is not supported in a llama model"},
    {MODEL("qwen3") SECOND_LAYER("sliding_attention"),
     "sliding_window: must be given where layer_types has sliding_attention"},
    {MODEL("llama") ",'sliding_window':9}", "sliding_window (window_size): 9 is not supported"},
    {MODEL("qwen2_moe") ",'use_sliding_window':true}",
     "use_sliding_window: true is not supported in a qwen2_moe model"},
    {MODEL("llama") ",'attn_logit_softcapping':50}",
     "attn_logit_softcapping: 50 is not supported in a llama model"},
    {MODEL("gemma3_text") ",'attn_logit_softcapping':50}",
     "attn_logit_softcapping: 50 is not supported in a gemma3_text model"},
    {MODEL("qwen2") ",'final_logit_softcapping':30}", "final_logit_softcapping: 30 is not"},
    {MODEL("llama") ",'use_qk_norm':true}", "use_qk_norm: true is not supported in a llama model"},
    {MODEL("phi") ",'qk_layernorm':true}", "qk_layernorm: true is not supported in a phi model"},
    {MODEL("llama") ",'alibi':true}", "alibi: true is not supported in a llama model"},
    {MODEL("gemma2") ",'use_bidirectional_attention':true}",
     "use_bidirectional_attention: true is not supported"},
    {MODEL("llama") ",'rope_interleaved':true}",
     "rope_interleaved (rotary_emb_interleaved): true is not supported"},
    {MODEL("minicpm") ",'sparse_config':{}}", "sparse_config: an object is not supported"},
    {MODEL("starcoder2") ",'norm_type':'rms_norm'}", "norm_type: \"rms_norm\" is not supported"},
    {MODEL("starcoder2") ",'mlp_type':'gated'}", "mlp_type: \"gated\" is not supported"},
    {MODEL("qwen2") ",'mlp_bias':true}",
     "mlp_bias (mlp_fc1_bias): true is not supported in a qwen2 model"},
    {MODEL("phi3") ",'lm_head_bias':true}", "lm_head_bias: true is not supported in a phi3 model"},
    {MODEL("llama") ",'clip_qkv':8}", "clip_qkv: 8 is not supported in a llama model"},
    {MODEL("llama") ",'embedding_multiplier':12}", "embedding_multiplier: 12 is not supported"},
    {MODEL("llama") ",'logit_scale':0.5}", "logit_scale: 0.5 is not supported in a llama model"},
    {MODEL("llama") ",'num_local_experts':8}",
     "num_experts (num_local_experts, n_routed_experts): 8 is not supported in a llama model"},
    {MODEL("qwen3_moe") ",'n_shared_experts':1}",
     "n_shared_experts (num_shared_experts): 1 is not supported"},
    {MODEL("mixtral") ",'num_local_experts':null}",
     "num_experts (num_local_experts): must be given"},
    {MODEL("mixtral") ",'num_experts_per_tok':9}",
     "num_experts_per_tok: must be a whole number in 1..8, not 9"},
    {MODEL("mixtral") ",'num_local_experts':4096}",
     "num_local_experts: must be a whole number in 0..1024, not 4096"},
    {MODEL("gpt_oss") ",'swiglu_limit':6}", "swiglu_limit: 6 is not supported in a gpt_oss model"},
    {MODEL("gpt_oss") ",'hidden_act':'gelu'}",
     "hidden_act: \"gelu\" is not supported in a gpt_oss"},
    {MODEL("smollm3") ",'no_rope_layers':[1,1]}", "no_rope_layers: must have an entry for each of"},
    {MODEL("qwen3_moe") ",'mlp_only_layers':[4]}", "mlp_only_layers: must be a list of layers'"},
    {MODEL("llama") ",'no_rope_layers':[1,1,0,1]}",
     "no_rope_layers: 0 is not supported in a llama"},
    {MODEL("gptj") ",'rotary_dim':null}", "rotary_dim: must be given, a whole number"},
    {MODEL("gptj") ",'rotary_dim':18}", "rotary_dim: must turn an even number of a head's 16"},
    {MODEL("llama") ",'head_dim':65536}",
     "head_dim: must be an even number in 2..512 where a whole head turns, not 65536"},
    {MODEL("llama") ",'head_dim':15}", "head_dim: must be an even number in 2..512"},
    {MODEL("gpt2") ",'head_dim':131072}", "num_attention_heads: 4 heads of head_dim 131072"},
    {MODEL("ministral3") ",'rope_parameters':{'rope_type':'default','rope_theta':10000,"
                         "'llama_4_scaling_beta':0.1}}",
     "rope_parameters.original_max_position_embeddings: must be given"},
    {MODEL("llama") ",'rope_parameters':{'rope_theta':10000,'llama_4_scaling_beta':0.1}}",
     "llama_4_scaling_beta: 0.1 is not supported in a llama model"},
};

TEST(unsupported_values_are_refused_by_key_and_value)
{
    for (size_t i = 0; i < BATON_N_OF(refused); i++) {
        if (configure_for(refused[i][0], 0) != BATON_INVALID)
            fail_msg("%s: not refused", refused[i][0]);
        if (!strstr(why.text, refused[i][1]))
            fail_msg("%s: \"%s\" in \"%s\"", refused[i][0], refused[i][1], why.text);
    }
}

TEST(an_unknown_model_types_error_lists_all_types)
{
    static struct baton_checkpoint checkpoint = {.config = {.model_type = "t5"}};
    const struct baton_arch *arch = NULL;
    memset(checkpoint.config_path, 'p', 255);
    assert_int_equal(baton_arch_configure_model(&checkpoint, 0, &arch, &spec, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "(supported: gpt2, gpt_neo, "));
    assert_non_null(strstr(why.text, ", gpt_oss)"));
}

TEST(neutral_values_of_other_families_keys_are_accepted)
{
    configure(MODEL("llama") ",'attn_logit_softcapping':null,'use_qk_norm':false,'clip_qkv':null,"
                             "'num_local_experts':0,'embedding_multiplier':1.0,'mlp_bias':false,"
                             "'rope_interleaved':false,'sliding_window':null,'alibi':false,"
                             "'layer_types':['full_attention','full_attention','full_attention',"
                             "'full_attention'],'quantization_config':null,'swiglu_limit':7.0,"
                             "'rope_scaling':{'rope_type':'default'},'pretraining_tp':1}");
    assert_int_equal(spec.layers[3].window, 0);
}

TEST(a_layer_reads_no_k_and_v_of_other_sizes)
{
    configure(MODEL("llama") "}");
    spec.layers[2].kv_from = 1;
    assert_ok(baton_spec_check(&spec, &why));
    spec.layers[3].kv_from = 2; /* which holds none */
    assert_int_equal(baton_spec_check(&spec, &why), BATON_INVALID);
    assert_string_equal(why.text, "layer 3: its K and V cannot be those of layer 2");
    spec.layers[3].kv_from = 3;
    spec.layers[2].head_dim = 32;
    assert_int_equal(baton_spec_check(&spec, &why), BATON_INVALID);
    assert_string_equal(why.text, "layer 2: its K and V cannot be those of layer 1");
    spec.layers[2].kv_from = -1;
    assert_int_equal(baton_spec_check(&spec, &why), BATON_INVALID);
}

TEST(every_family_has_names_and_defaults)
{
    for (int i = 0; i < baton_n_families; i++) {
        const struct baton_arch *arch = &baton_families[i];
        char text[512];
        const char *more = "";
        if (!strcmp(arch->model_type, "gptj"))
            more = ",'rotary_dim':8";
        else if (!strcmp(arch->model_type, "granitemoehybrid"))
            more = ",'layer_types':['attention','attention','attention','attention']";
        else if (!strcmp(arch->model_type, "nemotron_h"))
            more = ",'hybrid_override_pattern':'M*M-'";
        else if (!strcmp(arch->model_type, "gemma4_text")) /* its table is of the vocabulary */
            more = ",'hidden_size_per_layer_input':0";
        assert_non_null(arch->tensors);
        assert_ptr_equal(baton_arch_find(arch->model_type), arch);
        (void)snprintf(text, sizeof text, "{'model_type':'%s'," SIZES "%s}", arch->model_type,
                       more);
        /* GPT-2 and its like have as many KV heads as heads. */
        char *kv_heads = strstr(text, "'num_key_value_heads':2,");
        if (!strncmp(arch->model_type, "gpt", 3) && strcmp(arch->model_type, "gpt_oss") != 0)
            memmove(kv_heads, kv_heads + 24, strlen(kv_heads + 24) + 1);
        configure(text);
    }
    assert_int_equal(baton_n_families, 56);
}

TEST(three_of_four_layers_of_qwen3_5_keep_a_state)
{
    configure("{'model_type':'qwen3_5','text_config':{'model_type':'qwen3_5_text',"
              "'num_hidden_layers':24,'hidden_size':1024,'num_attention_heads':8,"
              "'num_key_value_heads':2,'intermediate_size':3584,'vocab_size':248320,"
              "'linear_num_value_heads':16,'tie_word_embeddings':true}}");
    for (int i = 0; i < 24; i++)
        assert_int_equal(baton_spec_has_state(&spec, i), (i + 1) % 4 != 0);
    assert_true(spec.has_out_gate);
    assert_int_equal(baton_spec_qkv_width(&spec, 0), 3 * 2048 + 2048 + 2 * 16);
    assert_int_equal(baton_spec_qkv_width(&spec, 3), (2 * 8 + 2 * 2) * 256);
    assert_int_equal(spec.ropes[0].n_rotated, 64);
    assert_int_equal((int)baton_spec_kv_elements(&spec), 6 * 2 * 2 * 256);
}

/* ---- the published configs of models that people run ---- */

/* Sizes of the 4B. */
TEST(minicpm_3_has_the_scales_of_its_family_and_values_of_an_even_share_of_the_width)
{
    configure("{'model_type':'minicpm3','hidden_size':2560,'intermediate_size':6400,"
              "'num_hidden_layers':62,'num_attention_heads':40,'num_key_value_heads':40,"
              "'vocab_size':73448,'scale_emb':12,'scale_depth':1.4,'dim_model_base':256}");
    assert_int_equal(spec.latent.n_q_rank, 768);
    assert_int_equal(spec.latent.n_rank, 256);
    assert_int_equal(spec.latent.n_plain, 64);
    assert_int_equal(spec.latent.n_turned, 32);
    assert_int_equal(spec.latent.n_values, 64);
    assert_false(spec.rotates_pairs);
    assert_true(spec.embed_scale == 12 && spec.logit_scale == 0.1F);
    assert_true(fabs(spec.residual_scale - 1.4 / sqrt(62)) < 1e-6);
    assert_true(fabs(spec.score_scale - 1 / sqrt(96)) < 1e-6);
}

TEST(llama_3_2_1b)
{
    configure("{'architectures':['LlamaForCausalLM'],'attention_bias':false,'bos_token_id':128000,"
              "'eos_token_id':128001,'head_dim':64,'hidden_act':'silu','hidden_size':2048,"
              "'initializer_range':0.02,'intermediate_size':8192,'max_position_embeddings':131072,"
              "'mlp_bias':false,'model_type':'llama','num_attention_heads':32,"
              "'num_hidden_layers':16,'num_key_value_heads':8,'pretraining_tp':1,"
              "'rms_norm_eps':1e-05,'rope_scaling':{'factor':32.0,'high_freq_factor':4.0,"
              "'low_freq_factor':1.0,'original_max_position_embeddings':8192,"
              "'rope_type':'llama3'},'rope_theta':500000.0,'tie_word_embeddings':true,"
              "'torch_dtype':'bfloat16','use_cache':true,'vocab_size':128256}");
    assert_int_equal(spec.form, BATON_BLOCK_PRE);
    assert_int_equal(spec.norm, BATON_RMS_NORM);
    assert_int_equal(spec.activation, BATON_ACT_SILU);
    assert_int_equal(spec.layers[15].n_kv_heads, 8);
    assert_int_equal(spec.layers[15].head_dim, 64);
    assert_int_equal(spec.n_context, 131072);
    assert_true(spec.has_tied_head && !spec.has_qkv_bias && !spec.norm_has_bias);
    assert_true(spec.score_scale == 0.125F);
    assert_int_equal(spec.ropes[0].n_rotated, 64);
    assert_true(spec.ropes[0].inverse[0] == 1 && spec.ropes[0].attention_factor == 1);
    /* The slowest pair's wave is far longer than 8192: slowed by the whole factor. */
    assert_true(fabs(spec.ropes[0].inverse[31] * 32 / pow(500000, -62.0 / 64) - 1) < 1e-12);
}

TEST(qwen3_30b_a3b)
{
    configure("{'architectures':['Qwen3MoeForCausalLM'],'attention_bias':false,"
              "'attention_dropout':0.0,'bos_token_id':151643,'decoder_sparse_step':1,"
              "'eos_token_id':151645,'head_dim':128,'hidden_act':'silu','hidden_size':2048,"
              "'intermediate_size':6144,'max_position_embeddings':40960,'max_window_layers':48,"
              "'mlp_only_layers':[],'model_type':'qwen3_moe','moe_intermediate_size':768,"
              "'norm_topk_prob':true,'num_attention_heads':32,'num_experts':128,"
              "'num_experts_per_tok':8,'num_hidden_layers':48,'num_key_value_heads':4,"
              "'output_router_logits':false,'use_qk_norm':true,'qkv_bias':false,"
              "'shared_expert_intermediate_size':0,'rms_norm_eps':1e-06,'rope_scaling':null,"
              "'rope_theta':1000000.0,'router_aux_loss_coef':0.001,'sliding_window':null,"
              "'tie_word_embeddings':false,'use_sliding_window':false,'vocab_size':151936}");
    assert_int_equal(spec.qk_norm, BATON_QK_NORM_HEAD);
    assert_int_equal(spec.moe.n_experts, 128);
    assert_int_equal(spec.moe.n_chosen, 8);
    assert_int_equal(spec.moe.n_ff, 768);
    assert_true(spec.moe.renormalises && !spec.moe.n_ff_shared && spec.layers[47].is_moe);
    assert_int_equal(baton_spec_q_width(&spec, 0), 4096);
    assert_int_equal(spec.layers[0].window, 0);
    assert_false(spec.has_tied_head);
}

TEST(gemma_3_4b)
{
    configure("{'architectures':['Gemma3ForConditionalGeneration'],'boi_token_index':255999,"
              "'eoi_token_index':256000,'eos_token_id':[1,106],'image_token_index':262144,"
              "'initializer_range':0.02,'mm_tokens_per_image':256,'model_type':'gemma3',"
              "'text_config':{'hidden_size':2560,'intermediate_size':10240,"
              "'model_type':'gemma3_text','num_hidden_layers':34,"
              "'rope_scaling':{'factor':8.0,'rope_type':'linear'},'sliding_window':1024},"
              "'torch_dtype':'bfloat16','vision_config':{'hidden_size':1152,'image_size':896,"
              "'model_type':'siglip_vision_model','num_hidden_layers':27}}");
    assert_int_equal(spec.form, BATON_BLOCK_SANDWICH);
    assert_int_equal(spec.activation, BATON_ACT_GELU_TANH);
    assert_int_equal(spec.n_heads, 8);
    assert_int_equal(spec.n_vocab, 262208);
    assert_int_equal(spec.n_context, 131072);
    assert_true(spec.embed_scale == sqrtf(2560) && spec.score_scale == 0.0625F);
    assert_true(spec.score_cap == 0 && spec.logit_cap == 0 && spec.has_tied_head);
    for (int i = 0; i < 34; i++) {
        bool global = (i + 1) % 6 == 0;
        assert_int_equal(spec.layers[i].window, global ? 0 : 1024);
        assert_int_equal(spec.layers[i].rope, global ? 0 : 1);
    }
    assert_true(spec.ropes[0].inverse[0] == 0.125 && spec.ropes[1].inverse[0] == 1);
    assert_true(fabs(spec.ropes[1].inverse[1] / pow(10000, -2.0 / 256) - 1) < 1e-12);
}

TEST(gpt_oss_20b)
{
    configure("{'architectures':['GptOssForCausalLM'],'attention_bias':true,'eos_token_id':200002,"
              "'experts_per_token':4,'head_dim':64,'hidden_act':'silu','hidden_size':2880,"
              "'initial_context_length':4096,'intermediate_size':2880,'layer_types':["
              "'sliding_attention','full_attention','sliding_attention','full_attention'],"
              "'max_position_embeddings':131072,'model_type':'gpt_oss','num_attention_heads':64,"
              "'num_experts_per_tok':4,'num_hidden_layers':4,'num_key_value_heads':8,"
              "'num_local_experts':32,'quantization_config':{'modules_to_not_convert':["
              "'model.embed_tokens'],'quant_method':'mxfp4'},'rms_norm_eps':1e-05,"
              "'rope_scaling':{'beta_fast':32.0,'beta_slow':1.0,'factor':32.0,"
              "'original_max_position_embeddings':4096,'rope_type':'yarn','truncate':false},"
              "'rope_theta':150000,'sliding_window':128,'swiglu_limit':7.0,"
              "'tie_word_embeddings':false,'vocab_size':201088}");
    assert_int_equal(spec.activation, BATON_ACT_SWIGLU_CLIP);
    assert_true(spec.has_sinks && spec.has_qkv_bias && spec.has_out_bias && spec.has_router_bias);
    assert_true(spec.has_mlp_bias && spec.moe.renormalises);
    assert_int_equal(spec.layers[0].window, 128);
    assert_int_equal(spec.layers[1].window, 0);
    assert_int_equal(baton_spec_q_width(&spec, 0), 4096);
    assert_true(fabs(spec.ropes[0].attention_factor - (0.1 * log(32) + 1)) < 1e-12);
}

TEST(phi_4_mini_takes_its_factors_by_the_context_that_is_served)
{
    static const char text[] =
        "{'attention_bias':false,'hidden_act':'silu','hidden_size':32,'intermediate_size':64,"
        "'lm_head_bias':false,'max_position_embeddings':131072,'mlp_bias':false,"
        "'model_type':'phi3','num_attention_heads':4,'num_hidden_layers':2,"
        "'num_key_value_heads':2,'original_max_position_embeddings':4096,"
        "'partial_rotary_factor':0.75,'rms_norm_eps':1e-05,'rope_scaling':{"
        "'long_factor':[1,1.25,32.5],'short_factor':[1,1,2],'type':'longrope'},"
        "'rope_theta':10000.0,'sliding_window':262144,'tie_word_embeddings':true,"
        "'vocab_size':200064,'interpolate_factor':1,'full_attn_mod':1}";
    double slowest = pow(10000, -4.0 / 6);
    configure(text);
    assert_int_equal(spec.ropes[0].n_rotated, 6);
    assert_true(fabs(spec.ropes[0].inverse[2] * 32.5 / slowest - 1) < 1e-12);
    assert_true(fabs(spec.ropes[0].attention_factor - sqrt(1 + log(32) / log(4096))) < 1e-12);
    assert_ok(configure_for(text, 4096));
    assert_int_equal(spec.n_context, 4096);
    assert_true(fabs(spec.ropes[0].inverse[2] * 2 / slowest - 1) < 1e-12);
    assert_true(fabs(spec.ropes[0].attention_factor - sqrt(1 + log(32) / log(4096))) < 1e-12);
    assert_int_equal(configure_for(text, 131073), BATON_INVALID);
}

TEST(mistral_7b_by_version)
{
#define MISTRAL                                                                                    \
    "{'model_type':'mistral','hidden_act':'silu','hidden_size':4096,'intermediate_size':14336,"    \
    "'max_position_embeddings':32768,'num_attention_heads':32,'num_hidden_layers':32,"             \
    "'num_key_value_heads':8,'rms_norm_eps':1e-05,'tie_word_embeddings':false,"
    configure(MISTRAL "'rope_theta':10000.0,'sliding_window':4096,'vocab_size':32000}");
    assert_int_equal(spec.layers[31].window, 4096);
    configure(MISTRAL "'rope_theta':1000000.0,'sliding_window':null,'vocab_size':32768}");
    assert_int_equal(spec.layers[31].window, 0);
}

TEST(layer_types_of_full_attention_need_no_window)
{
    static const char *const families[] = {"mistral", "ministral3", "mixtral", "phi3",
                                           "starcoder2"};
    for (size_t i = 0; i < BATON_N_OF(families); i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{'model_type':'%s'," SIZES ",'sliding_window':null,'layer_types':["
                       "'full_attention','full_attention','full_attention','full_attention']}",
                       families[i]);
        configure(text);
        assert_int_equal(spec.layers[3].window, 0);
    }
}

TEST(ministral_3s_queries_grow_with_the_position)
{
    configure("{'model_type':'mistral3','text_config':{'model_type':'ministral3',"
              "'hidden_size':3072,'intermediate_size':9216,'num_hidden_layers':26,"
              "'num_attention_heads':32,'num_key_value_heads':8,'head_dim':128,"
              "'vocab_size':131072,'max_position_embeddings':262144,'sliding_window':null,"
              "'tie_word_embeddings':true,'rope_parameters':{'beta_fast':32.0,'beta_slow':1.0,"
              "'factor':16.0,'llama_4_scaling_beta':0.1,'mscale':1.0,'mscale_all_dim':1.0,"
              "'original_max_position_embeddings':16384,'rope_theta':1000000.0,"
              "'rope_type':'yarn','type':'yarn'}}}");
    assert_true(spec.has_q_scaling && spec.q_scaling_beta == 0.1F);
    assert_int_equal(spec.q_scaling_period, 16384);
    assert_true(spec.ropes[0].attention_factor == 1);
}

TEST(yarn_serves_its_factor_times_the_original_context)
{
    static const char text[] =
        MODEL("qwen2") ",'rope_theta':1000000,'rope_scaling':{'type':'yarn','factor':4,"
                       "'original_max_position_embeddings':128}}";
    configure(text);
    assert_int_equal(spec.n_context, 128);
    assert_ok(configure_for(text, 512));
    assert_int_equal(spec.n_context, 512);
    assert_int_equal(configure_for(text, 513), BATON_INVALID);
}

TEST(dynamic_scaling_begins_beyond_the_context_that_the_model_knows)
{
    static const char text[] =
        MODEL("llama") ",'rope_theta':10000,'rope_scaling':{'type':'dynamic','factor':4}}";
    configure(text);
    assert_true(fabs(spec.ropes[0].inverse[1] / pow(10000, -2.0 / 16) - 1) < 1e-12);
    assert_ok(configure_for(text, 256));
    double theta = 10000 * pow(4.0 * 2 - 3, 16.0 / 14);
    assert_true(fabs(spec.ropes[0].inverse[1] / pow(theta, -2.0 / 16) - 1) < 1e-12);
    assert_int_equal(configure_for(text, 513), BATON_INVALID);
}
