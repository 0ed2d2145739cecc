/* Refinements of families whose keys and values are made of a latent row: DeepSeek V2 and V3, Kimi
 * K2, GLM 4.7 Flash and MiniCPM 3. */
#include <math.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/arch/refine.h"

#define CONFIG struct baton_model_config

enum baton_err baton_latent_heads(const CONFIG *config, struct baton_layer_spec *layer,
                                  struct baton_why *why)
{
    const int *const sizes[] = {&config->n_plain, &config->n_turned};
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < BATON_N_OF(sizes) && !err; i++)
        err = baton_model_config_require(config, sizes[i], why);
    layer->n_kv_heads = 1;
    layer->head_dim = config->kv_rank + config->n_turned;
    layer->n_latent = config->kv_rank;
    return err;
}

/* MiniCPM 3 names no width of values. */
static int n_values(const CONFIG *config)
{
    return config->n_head_values ? config->n_head_values : config->n_embd / config->n_heads;
}

/* YaRN's factor on sine and cosine leaves out the part of it that all elements have. Scores have
 * two such factors, of the query and of the key. */
static float score_scale(const CONFIG *config)
{
    const struct baton_rope_config *rope = &config->rope;
    double scale = 1 / sqrt((double)config->n_plain + config->n_turned);
    if (strcmp(rope->type, "yarn") != 0 || !(rope->factor > 1))
        return (float)scale;
    double mscale = 0.1 * rope->mscale_all_dim * log(rope->factor) + 1;
    return (float)(scale * mscale * mscale);
}

/* ---- experts ---- */

static enum baton_err refuse_text(const char *name, const char *text, const char *known,
                                  struct baton_why *why)
{
    return baton_fail(why, BATON_INVALID, "%s: \"%.40s\" is not supported (supported: %s)", name,
                      text, known);
}

static enum baton_err set_groups(const CONFIG *config, struct baton_moe_spec *moe,
                                 struct baton_why *why)
{
    int n = config->n_expert_groups, n_kept = config->n_kept_groups;
    if (n <= 1)
        return BATON_OK;
    if (moe->n_experts % n)
        return baton_fail(why, BATON_INVALID, "n_group: must divide the %d experts, not %d",
                          moe->n_experts, n);
    if (n_kept < 1 || n_kept > n)
        return baton_fail(why, BATON_INVALID, "topk_group: must be in 1..%d, not %d", n, n_kept);
    if (moe->n_experts / n * n_kept < moe->n_chosen)
        return baton_fail(
            why, BATON_INVALID,
            "num_experts_per_tok: must be in 1..%d, the experts of topk_group groups, "
            "not %d",
            moe->n_experts / n * n_kept, moe->n_chosen);
    moe->n_groups = n;
    moe->n_kept = n_kept;
    return BATON_OK;
}

/* The method says which scores choose: those of all experts, of the best groups, or with a bias. */
static enum baton_err set_router(const CONFIG *config, struct baton_moe_spec *moe,
                                 struct baton_why *why)
{
    const char *choice = config->choice;
    moe->has_sigmoid = !strcmp(config->scoring, "sigmoid");
    if (!moe->has_sigmoid && strcmp(config->scoring, "softmax") != 0)
        return refuse_text("scoring_func", config->scoring, "softmax, sigmoid", why);
    moe->scale = config->expert_scale != 1 ? (float)config->expert_scale : 0;
    if (!strcmp(choice, "greedy"))
        return BATON_OK;
    moe->has_score_bias = moe->sums_pairs = !strcmp(choice, "noaux_tc");
    if (!moe->has_score_bias && strcmp(choice, "group_limited_greedy") != 0)
        return refuse_text("topk_method", choice, "greedy, group_limited_greedy, noaux_tc", why);
    return set_groups(config, moe, why);
}

static enum baton_err set_experts(const CONFIG *config, struct baton_spec *spec,
                                  struct baton_why *why)
{
    enum baton_err err = baton_refine_qwen3_moe(config, spec, why);
    if (err)
        return err;
    if ((int64_t)config->n_shared_experts * config->moe_n_ff > BATON_MAX_WIDTH)
        return baton_fail(why, BATON_INVALID,
                          "n_shared_experts: %d experts of %d are wider than %d",
                          config->n_shared_experts, config->moe_n_ff, BATON_MAX_WIDTH);
    spec->moe.n_ff_shared = config->n_shared_experts * config->moe_n_ff;
    for (int i = 0; i < spec->n_layers; i++)
        if (i < config->n_first_dense || i % config->moe_frequency) {
            spec->layers[i].is_moe = false;
            spec->layers[i].n_ff = config->n_ff;
        }
    return set_router(config, &spec->moe, why);
}

/* ---- all together ---- */

enum baton_err baton_refine_latents(const CONFIG *config, struct baton_spec *spec,
                                    struct baton_why *why)
{
    enum baton_err err = baton_model_config_require(config, &config->kv_rank, why);
    if (err)
        return err;
    if (config->n_indexed)
        return baton_fail(why, BATON_INVALID,
                          "index_topk: %d is not supported: an indexer chooses the positions that "
                          "attention sees (DSA)",
                          config->n_indexed);
    spec->latent = (struct baton_latent_spec){.n_q_rank = config->q_rank,
                                              .n_rank = config->kv_rank,
                                              .n_plain = config->n_plain,
                                              .n_turned = config->n_turned,
                                              .n_values = n_values(config)};
    spec->score_scale = score_scale(config);
    spec->rotates_pairs = config->rope_interleave;
    return config->n_experts ? set_experts(config, spec, why) : BATON_OK;
}

enum baton_err baton_refine_minicpm3(const CONFIG *config, struct baton_spec *spec,
                                     struct baton_why *why)
{
    enum baton_err err = baton_refine_minicpm(config, spec, why);
    return err ? err : baton_refine_latents(config, spec, why);
}
