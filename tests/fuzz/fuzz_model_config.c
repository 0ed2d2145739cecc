/* An accepted config.json has ids within its vocabulary; where an architecture takes it, the spec's
 * sizes agree and its numbers are finite. Every architecture is asked, whatever the file's own. */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>

#include "engine/arch/arch.h"

static void check_rope(const struct baton_rope_spec *rope)
{
    check(rope->n_rotated >= 2 && rope->n_rotated % 2 == 0 && rope->n_rotated <= BATON_MAX_ROTATED);
    check(isfinite(rope->attention_factor) && rope->attention_factor > 0);
    for (int i = 0; i < rope->n_rotated / 2; i++)
        check(isfinite(rope->inverse[i]) && rope->inverse[i] >= 0);
}

static void check_spec(const struct baton_spec *spec)
{
    struct baton_why why;
    check(!baton_spec_check(spec, &why));
    check(isfinite(spec->score_scale) && isfinite(spec->embed_scale) &&
          isfinite(spec->residual_scale) && isfinite(spec->logit_scale));
    check(spec->n_ropes <= BATON_MAX_ROPES);
    for (int i = 0; i < spec->n_ropes; i++)
        check_rope(&spec->ropes[i]);
    for (int i = 0; i < spec->n_layers; i++) {
        check(spec->layers[i].rope < spec->n_ropes && spec->layers[i].window >= 0);
        check(!spec->layers[i].is_moe ||
              (spec->moe.n_chosen >= 1 && spec->moe.n_chosen <= spec->moe.n_experts));
    }
}

static void configure(const struct baton_model_config *config, int n_context)
{
    static struct baton_spec spec;
    const struct baton_arch *arch = NULL;
    struct baton_why why = {.text = ""};
    if (baton_arch_configure(config, n_context, &arch, &spec, &why)) {
        check(why.text[0]);
        return;
    }
    check(arch && (!n_context || spec.has_learned_positions || spec.n_context == n_context));
    check_spec(&spec);
}

FUZZ(data, size)
{
    static struct baton_model_config config;
    struct baton_why why = {.text = ""};
    if (baton_model_config_parse(data, size, &config, &why)) {
        check(why.text[0]);
        return;
    }
    check(config.bos_id < config.n_vocab && config.n_eos <= BATON_MODEL_MAX_EOS);
    for (int i = 0; i < config.n_eos; i++)
        check(config.eos_ids[i] >= 0 && config.eos_ids[i] < config.n_vocab);
    configure(&config, 0);
    configure(&config, config.n_context / 2);
    for (int i = 0; i < baton_n_families; i++) {
        (void)snprintf(config.model_type, sizeof config.model_type, "%s",
                       baton_families[i].model_type);
        configure(&config, 0);
    }
}
