#include "engine/checkpoint/gguf/config.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/checkpoint/config/unserved.h"
#include "engine/checkpoint/gguf/config_internal.h"
#include "engine/checkpoint/gguf/ids.h"

#define READING struct baton_gguf_reading
#define RMS     "attention.layer_norm_rms_epsilon"
#define LAYER   "attention.layer_norm_epsilon"

enum { JSON_MAX_BYTES = 1 << 20 };

enum {
    BIAS = BATON_GGUF_ATTENTION_BIAS,
    MLP_BIAS = BATON_GGUF_MLP_BIAS,
    OUT_BIAS = BATON_GGUF_OUT_BIAS,
    USE_BIAS = BATON_GGUF_USE_BIAS,
    QKV_BIAS = BATON_GGUF_QKV_BIAS,
    HEAD_NORM = BATON_GGUF_HEAD_NORM,
    ONE_WIDTH = BATON_GGUF_ONE_WIDTH,
    RENORMALISES = BATON_GGUF_RENORMALISES,
    WHOLE_PAIRS = BATON_GGUF_WHOLE_PAIRS,
    LOCAL_ROPE = BATON_GGUF_LOCAL_ROPE,
    OPEN = BATON_GGUF_OPEN,
    QUERY_SCALAR = BATON_GGUF_QUERY_SCALAR,
    GRANITE = BATON_GGUF_GRANITE,
    BY_LAYER = BATON_GGUF_BY_LAYER,
    ENCODER = BATON_GGUF_ENCODER,
    PICTURES = BATON_GGUF_PICTURES,
    STATES = BATON_GGUF_STATES,
    TILED = BATON_GGUF_TILED,
    LATENTS = BATON_GGUF_LATENTS,
    CONV = BATON_GGUF_CONV,
    MAMBA = BATON_GGUF_MAMBA,
    NEMOTRON = BATON_GGUF_ATTENTION_BIAS | BATON_GGUF_MLP_BIAS | BATON_GGUF_RENORMALISES |
               BATON_GGUF_MAMBA | BATON_GGUF_ONE_PART | BATON_GGUF_SIGMOID,
    SIGMOID = BATON_GGUF_SIGMOID
};

/* The first row of an architecture is its default; choose_family knows when another row applies. */
static const struct baton_gguf_family families[] = {
    {"llama", "llama", RMS, BIAS | MLP_BIAS},
    {"llama", "mixtral", RMS, ONE_WIDTH},
    {"llama", "mistral", RMS, 0},
    {"mistral3", "mistral", RMS, OPEN},
    {"mistral3", "ministral3", RMS, OPEN},
    {"qwen2", "qwen2", RMS, BIAS},
    {"qwen2moe", "qwen2_moe", RMS, QKV_BIAS},
    {"qwen3", "qwen3", RMS, BIAS},
    {"qwen3moe", "qwen3_moe", RMS, BIAS | RENORMALISES},
    {"qwen35", "qwen3_5_text", RMS, PICTURES | STATES | TILED},
    {"qwen35moe", "qwen3_5_moe_text", RMS, RENORMALISES | PICTURES | STATES | TILED},
    {"qwen3next", "qwen3_next", RMS, RENORMALISES | PICTURES | STATES},
    {"deepseek2", "deepseek_v2", RMS, LATENTS},
    {"qwen2vl", "qwen2", RMS, BIAS | PICTURES},
    {"qwen3vl", "qwen3", RMS, BIAS | PICTURES},
    {"qwen3vlmoe", "qwen3_moe", RMS, BIAS | RENORMALISES | PICTURES},
    {"gemma", "gemma", RMS, BIAS},
    {"gemma2", "gemma2", RMS, BIAS | QUERY_SCALAR},
    {"gemma3", "gemma3_text", RMS, BIAS | QUERY_SCALAR | LOCAL_ROPE | OPEN},
    {"gemma4", "gemma4_text", RMS, BIAS | BY_LAYER},
    {"gemma-embedding", "gemma3_text", RMS, BIAS | QUERY_SCALAR | LOCAL_ROPE | OPEN | ENCODER},
    {"bert", "bert", LAYER, ENCODER},
    {"nomic-bert", "nomic_bert", LAYER, QKV_BIAS | MLP_BIAS | ENCODER},
    {"nomic-bert-moe", "nomic_bert", LAYER, QKV_BIAS | MLP_BIAS | ENCODER},
    {"phi2", "phi", LAYER, 0},
    {"phi3", "phi3", RMS, 0},
    {"smollm3", "smollm3", RMS, BIAS | MLP_BIAS},
    {"olmo2", "olmo2", RMS, BIAS},
    {"olmo2", "olmo3", RMS, BIAS},
    {"exaone4", "exaone4", RMS, OPEN},
    {"hunyuan-dense", "hunyuan_v1_dense", RMS, BIAS},
    {"olmoe", "olmoe", RMS, BIAS | ONE_WIDTH},
    {"granite", "granite", RMS, BIAS | MLP_BIAS | GRANITE},
    {"granitemoe", "granitemoe", RMS, BIAS | ONE_WIDTH | GRANITE},
    {"granitehybrid", "granitemoehybrid", RMS, BIAS | ONE_WIDTH | GRANITE | MAMBA},
    {"nemotron_h", "nemotron_h", RMS, NEMOTRON},
    {"nemotron_h_moe", "nemotron_h", RMS, NEMOTRON},
    {"lfm2", "lfm2", RMS, CONV},
    {"lfm2moe", "lfm2_moe", RMS, RENORMALISES | CONV | SIGMOID},
    {"seed_oss", "seed_oss", RMS, BIAS | OUT_BIAS | MLP_BIAS},
    {"ernie4_5", "ernie4_5", RMS, USE_BIAS},
    {"arcee", "arcee", RMS, BIAS | MLP_BIAS},
    {"apertus", "apertus", RMS, BIAS},
    {"gpt-oss", "gpt_oss", RMS, BIAS | ONE_WIDTH | WHOLE_PAIRS},
    {"gpt2", "gpt2", LAYER, 0},
    {"gptneox", "gpt_neox", LAYER, BIAS},
    {"starcoder2", "starcoder2", LAYER, USE_BIAS},
    {"command-r", "cohere", LAYER, BIAS | HEAD_NORM},
    {"cohere2", "cohere2", LAYER, BIAS},
    {"glm4", "glm4", RMS, BIAS},
    {"minicpm", "minicpm", RMS, BIAS},
};

enum { N_FAMILIES = BATON_N_OF(families) };

const char *baton_gguf_arch_of(const char *model_type)
{
    for (int i = 0; i < N_FAMILIES; i++)
        if (!strcmp(families[i].model_type, model_type))
            return families[i].arch;
    return NULL;
}

bool baton_gguf_arch_holds(const char *arch, const char *model_type)
{
    for (int i = 0; i < N_FAMILIES; i++)
        if (!strcmp(families[i].arch, arch) && !strcmp(families[i].model_type, model_type))
            return true;
    return false;
}

/* ---- all together ---- */

static enum baton_err put_parallel(READING *reading)
{
    const struct baton_gguf_value *value = baton_gguf_value(reading, "use_parallel_residual");
    bool parallel = false;
    if (value && !baton_gguf_flag(value, &parallel))
        return baton_gguf_refuse(reading, "use_parallel_residual", "true or false");
    if (value)
        baton_json_put_bool(&reading->out, "use_parallel_residual", parallel);
    return BATON_OK;
}

static enum baton_err put_all(READING *reading)
{
    static enum baton_err (*const parts[])(READING *) = {
        baton_gguf_put_sizes,   baton_gguf_put_epsilon, baton_gguf_put_mlp,    baton_gguf_put_ropes,
        baton_gguf_put_windows, baton_gguf_put_caps,    baton_gguf_put_scales, put_parallel,
        baton_gguf_put_encoder, baton_gguf_put_states,  baton_gguf_put_router,
    };
    /* Sizes are the first part: the others read them from *reading. */
    enum baton_err err = baton_gguf_check_neutral(reading);
    baton_json_open(&reading->out, NULL, '{');
    baton_json_put_string(&reading->out, "model_type", reading->family->model_type);
    for (size_t i = 0; i < BATON_N_OF(parts) && !err; i++)
        err = parts[i](reading);
    if (err) /* the number of layers may be any */
        return err;
    baton_gguf_put_query_scalar(reading);
    baton_gguf_put_flags(reading);
    baton_json_close(&reading->out, '}');
    return BATON_OK;
}

/* ---- choice of the family ---- */

static const struct baton_gguf_family *find_family(const char *model_type,
                                                   struct baton_gguf_text arch)
{
    for (int i = 0; i < N_FAMILIES; i++)
        if (baton_gguf_text_is(arch, families[i].arch) &&
            (!model_type || !strcmp(families[i].model_type, model_type)))
            return &families[i];
    return NULL;
}

static bool is_set(const READING *reading, const char *name)
{
    double number = 0;
    (void)baton_gguf_real(baton_gguf_value(reading, name), &number);
    return number != 0;
}

/* Llama's architecture is also Mistral's and Mixtral's, OLMo 2's is OLMo 3's, and Mistral 3's has
 * two generations. One key of each tells them apart. */
static const struct baton_gguf_family *choose_family(const READING *reading,
                                                     struct baton_gguf_text arch)
{
    if (baton_gguf_text_is(arch, "llama") && is_set(reading, "expert_count"))
        return find_family("mixtral", arch);
    if (baton_gguf_text_is(arch, "llama") && is_set(reading, "attention.sliding_window"))
        return find_family("mistral", arch);
    if (baton_gguf_text_is(arch, "olmo2") && is_set(reading, "attention.sliding_window"))
        return find_family("olmo3", arch);
    if (baton_gguf_text_is(arch, "mistral3") && is_set(reading, "attention.temperature_scale"))
        return find_family("ministral3", arch);
    return reading->family;
}

static enum baton_err refuse_arch(const READING *reading, struct baton_gguf_text arch)
{
    char names[1024] = "", name[64];
    size_t n = 0;
    (void)snprintf(name, sizeof name, "%.*s", (int)(arch.n < 40 ? arch.n : 40), arch.bytes);
    if (baton_missing_in_arch(name))
        return baton_fail(reading->why, BATON_INVALID,
                          "general.architecture: \"%s\" is not supported: it needs %s", name,
                          baton_missing_in_arch(name));
    for (int i = 0; i < N_FAMILIES && n < sizeof names; i++)
        if (!i || strcmp(families[i].arch, families[i - 1].arch) != 0)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                                  families[i].arch);
    return baton_fail(reading->why, BATON_INVALID,
                      "general.architecture: \"%s\" is not supported (supported: %s)", name, names);
}

static enum baton_err set_family(READING *reading)
{
    static const char name[] = "general.architecture";
    struct baton_gguf_text arch;
    if (!baton_gguf_text(baton_gguf_find(baton_gguf_model_metadata(reading->model), name), &arch))
        return baton_fail(reading->why, BATON_INVALID, "%s: must be given as text", name);
    reading->family = find_family(NULL, arch);
    if (!reading->family)
        return refuse_arch(reading, arch);
    reading->family = choose_family(reading, arch);
    return BATON_OK;
}

/* Sets the rotated width from the file: partial_rotary_factor, a share of a head, may round to
 * another width. */
static enum baton_err set_rotated(const READING *reading, struct baton_model_config *config)
{
    int64_t n = 0;
    if (reading->family->traits & BATON_GGUF_BY_LAYER)
        return BATON_OK; /* put_layer_ropes has checked it */
    enum baton_err err = baton_gguf_get_int(reading, "rope.dimension_count", &n);
    if (!err && n && n != reading->head_dim)
        config->rotary_dim = (int)n;
    return err;
}

/* Names the file's key in a message: the reader of config.json names its own, which an operator of
 * a GGUF file has never seen. */
static void name_key(const READING *reading, struct baton_why *why)
{
    static const struct {
        const char *name, *key;
    } keys[] = {
        {"hidden_size", "embedding_length"},
        {"num_key_value_heads", "attention.head_count_kv"},
        {"head_dim", "attention.key_length"},
        {"intermediate_size", "feed_forward_length"},
        {"moe_intermediate_size", "expert_feed_forward_length"},
        {"num_local_experts", "expert_count"},
        {"num_experts_per_tok", "expert_used_count"},
        {"rms_norm_eps", RMS},
        {"layer_norm_eps", LAYER},
        {"rope_theta", "rope.freq_base"},
        {"partial_rotary_factor", "rope.dimension_count"},
        {"rope_scaling.factor", "rope.scaling.factor"},
        {"sliding_window", "attention.sliding_window"},
        {"conv_L_cache", "shortconv.l_cache"},
        {"mamba_d_conv", "ssm.conv_kernel"},
    };
    struct baton_why said = *why;
    size_t n = strcspn(said.text, ":");
    char key[BATON_GGUF_KEY_BYTES];
    for (size_t i = 0; i < BATON_N_OF(keys); i++)
        if (n == strlen(keys[i].name) && !strncmp(said.text, keys[i].name, n))
            (void)baton_fail(why, BATON_INVALID, "%s, read as %.640s",
                             baton_gguf_key(reading, keys[i].key, key), said.text);
}

/* Reads the authors' sampling by way of a generation_config.json. */
static enum baton_err read_sampling(const READING *reading, struct baton_model_config *config)
{
    static const struct {
        const char *key, *name;
    } keys[] = {{"general.sampling.temp", "temperature"},
                {"general.sampling.top_k", "top_k"},
                {"general.sampling.top_p", "top_p"},
                {"general.sampling.penalty_repeat", "repetition_penalty"}};
    struct baton_buf json;
    struct baton_why reason;
    baton_buf_init(&json, JSON_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&json);
    baton_json_open(&out, NULL, '{');
    for (size_t i = 0; i < BATON_N_OF(keys); i++) {
        const struct baton_gguf_value *value =
            baton_gguf_find(baton_gguf_model_metadata(reading->model), keys[i].key);
        double number;
        int64_t whole;
        if (baton_gguf_int(value, &whole))
            baton_json_put_int(&out, keys[i].name, whole);
        else if (baton_gguf_real(value, &number))
            baton_json_put_exact(&out, keys[i].name, baton_gguf_decimal((float)number));
    }
    baton_json_close(&out, '}');
    enum baton_err err =
        baton_model_config_parse_generation(baton_buf_text(&json), json.len, config, &reason);
    baton_buf_fini(&json);
    return err ? baton_fail(reading->why, err, "general.sampling: %s", reason.text) : BATON_OK;
}

static enum baton_err read_metadata(READING *reading, struct baton_buf *json,
                                    struct baton_model_config *config)
{
    struct baton_model_config made;
    enum baton_err err = set_family(reading);
    if (!err)
        err = put_all(reading);
    if (!err && baton_buf_err(json))
        err =
            baton_fail(reading->why, baton_buf_err(json), "metadata: too large, or out of memory");
    if (err)
        return err;
    err = baton_model_config_parse(baton_buf_text(json), json->len, &made, reading->why);
    if (err)
        name_key(reading, reading->why);
    else
        err = set_rotated(reading, &made);
    if (!err)
        err = baton_gguf_ids_apply(baton_gguf_model_metadata(reading->model), &made, reading->why);
    if (!err)
        err = read_sampling(reading, &made);
    if (!err)
        err = baton_gguf_set_pooling(reading, &made);
    if (err)
        return err;
    made.gguf_names = true;
    made.state_is_tiled = reading->family->traits & TILED;
    *config = made;
    return BATON_OK;
}

enum baton_err baton_gguf_config_read(const struct baton_gguf_model *model,
                                      struct baton_model_config *config, struct baton_why *why)
{
    struct baton_buf json;
    struct baton_why reason;
    baton_buf_init(&json, JSON_MAX_BYTES);
    READING reading = {.model = model, .out = baton_json_out(&json), .why = &reason};
    enum baton_err err = read_metadata(&reading, &json, config);
    if (err)
        (void)baton_fail(why, err, "%s: %s", model->path, reason.text);
    baton_buf_fini(&json);
    return err;
}
