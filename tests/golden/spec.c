/* Prints what engine/arch makes of configurations, one line of JSON for each line of standard
 * input: the path of a config.json, or "N_CONTEXT PATH". A refusal is {"refused": WHY}. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/json.h"
#include "common/base/os/file.h"
#include "engine/arch/arch.h"

enum { LINE_BYTES = 4096, OUT_MAX_BYTES = 1 << 20 };

static const char *const forms[] = {"pre", "sandwich", "post", "parallel"};
static const char *const activations[] = {"gelu_tanh", "gelu_erf", "silu", "relu",
                                          "relu2",     "clipped",  "xielu"};
static const char *const qk_norms[] = {"", "head", "own", "whole"};

static void put_layers(struct baton_json_out *out, const struct baton_spec *spec)
{
    baton_json_open(out, "layers", '[');
    for (int i = 0; i < spec->n_layers; i++) {
        const struct baton_layer_spec *layer = &spec->layers[i];
        baton_json_open(out, NULL, '{');
        baton_json_put_int(out, "G", layer->n_kv_heads);
        baton_json_put_int(out, "D", layer->head_dim);
        baton_json_put_int(out, "n_latent", layer->n_latent);
        baton_json_put_int(out, "F", layer->n_ff);
        baton_json_put_int(out, "window", layer->window);
        baton_json_put_int(out, "rope", layer->rope);
        baton_json_put_int(out, "kv_from", layer->kv_from);
        baton_json_put_bool(out, "moe", layer->is_moe);
        baton_json_put_bool(out, "values_are_keys", layer->values_are_keys);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
}

static void put_ropes(struct baton_json_out *out, const struct baton_spec *spec)
{
    baton_json_open(out, "ropes", '[');
    for (int i = 0; i < spec->n_ropes; i++) {
        baton_json_open(out, NULL, '{');
        baton_json_put_exact(out, "factor", spec->ropes[i].attention_factor);
        baton_json_open(out, "inverse", '[');
        for (int k = 0; k < spec->ropes[i].n_rotated / 2; k++)
            baton_json_put_exact(out, NULL, spec->ropes[i].inverse[k]);
        baton_json_close(out, ']');
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
}

static void put_moe(struct baton_json_out *out, const struct baton_moe_spec *moe)
{
    baton_json_open(out, "moe", '{');
    baton_json_put_int(out, "n_experts", moe->n_experts);
    baton_json_put_int(out, "n_chosen", moe->n_chosen);
    baton_json_put_int(out, "n_ff", moe->n_ff);
    baton_json_put_int(out, "n_shared", moe->n_ff_shared);
    baton_json_put_bool(out, "renormalises", moe->renormalises);
    baton_json_put_bool(out, "shared_gate", moe->has_shared_gate);
    baton_json_put_bool(out, "beside", moe->is_beside);
    baton_json_put_bool(out, "sigmoid", moe->has_sigmoid);
    baton_json_put_bool(out, "score_bias", moe->has_score_bias);
    baton_json_put_int(out, "n_groups", moe->n_groups);
    baton_json_put_int(out, "n_kept", moe->n_kept);
    baton_json_put_exact(out, "scale", (double)moe->scale);
    baton_json_close(out, '}');
}

static void put_numbers(struct baton_json_out *out, const struct baton_spec *spec)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"C", spec->n_embd},
        {"H", spec->n_heads},
        {"V", spec->n_vocab},
        {"n_context", spec->n_context},
        {"n_per_layer", spec->n_per_layer},
        {"epsilon", (double)spec->norm_epsilon},
        {"score_scale", (double)spec->score_scale},
        {"score_cap", (double)spec->score_cap},
        {"clip", (double)spec->clip_qkv},
        {"embed_scale", (double)spec->embed_scale},
        {"residual_scale", (double)spec->residual_scale},
        {"logit_scale", (double)spec->logit_scale},
        {"logit_cap", (double)spec->logit_cap},
        {"q_scaling_beta", (double)spec->q_scaling_beta},
        {"q_scaling_period", spec->q_scaling_period},
    };
    for (size_t i = 0; i < BATON_N_OF(numbers); i++)
        baton_json_put_exact(out, numbers[i].name, numbers[i].value);
}

static void put_flags(struct baton_json_out *out, const struct baton_spec *spec)
{
    const struct {
        const char *name;
        bool value;
    } flags[] = {
        {"mlp_has_norm", spec->mlp_has_norm},
        {"rms", spec->norm == BATON_RMS_NORM},
        {"norm_bias", spec->norm_has_bias},
        {"gated", spec->mlp == BATON_MLP_GATED},
        {"normed_values", spec->norms_values},
        {"layer_scales", spec->has_layer_scales},
        {"sinks", spec->has_sinks},
        {"norms_turned", spec->norms_turned},
        {"q_scaling", spec->has_q_scaling},
        {"interleaved", spec->rotates_pairs},
        {"qkv_bias", spec->has_qkv_bias},
        {"o_bias", spec->has_out_bias},
        {"mlp_bias", spec->has_mlp_bias},
        {"head_bias", spec->has_head_bias},
        {"router_bias", spec->has_router_bias},
        {"learned_positions", spec->has_learned_positions},
        {"tied", spec->has_tied_head},
    };
    for (size_t i = 0; i < BATON_N_OF(flags); i++)
        baton_json_put_bool(out, flags[i].name, flags[i].value);
}

static void put_spec(struct baton_json_out *out, const struct baton_spec *spec)
{
    baton_json_put_string(out, "form", forms[spec->form]);
    baton_json_put_string(out, "activation", activations[spec->activation]);
    baton_json_put_string(out, "qk_norm", qk_norms[spec->qk_norm]);
    put_numbers(out, spec);
    put_flags(out, spec);
    put_moe(out, &spec->moe);
    put_ropes(out, spec);
    put_layers(out, spec);
}

static enum baton_err configure(const char *path, int n_context, struct baton_spec *spec,
                                struct baton_why *why)
{
    static struct baton_model_config config;
    const struct baton_arch *arch = NULL;
    struct baton_buf text;
    baton_buf_init(&text, OUT_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &text, why);
    if (!err)
        err = baton_model_config_parse(baton_buf_text(&text), text.len, &config, why);
    baton_buf_fini(&text);
    return err ? err : baton_arch_configure(&config, n_context, &arch, spec, why);
}

static void answer(char *line)
{
    static struct baton_spec spec;
    struct baton_why why = {.text = ""};
    struct baton_buf text;
    char *path = line;
    long n_context = strtol(line, &path, 10);
    path += strspn(path, " ");
    path[strcspn(path, "\n")] = 0;
    baton_buf_init(&text, OUT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    baton_json_open(&out, NULL, '{');
    if (configure(path, (int)n_context, &spec, &why))
        baton_json_put_string(&out, "refused", why.text);
    else
        put_spec(&out, &spec);
    baton_json_close(&out, '}');
    (void)puts(baton_buf_text(&text));
    baton_buf_fini(&text);
}

int main(void)
{
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, stdin))
        answer(line);
    return fflush(stdout) ? 1 : 0;
}
