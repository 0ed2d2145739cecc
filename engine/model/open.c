#include <string.h>

#include "engine/arch/arch.h"
#include "engine/arch/draft_head.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/model/native_dtypes.h"
#include "engine/model/pack.h"
#include "engine/model/q4_dtypes.h"
#include "engine/model/storage.h"
#include "engine/model/tensors_load.h"

enum baton_err baton_model_spec_of(const struct baton_checkpoint *checkpoint,
                                   struct baton_spec *spec, struct baton_why *why)
{
    const struct baton_arch *arch;
    return baton_arch_configure_model(checkpoint, 0, &arch, spec, why);
}

static bool is_native(const char *dtype)
{
    return !strcmp(dtype, "native");
}

/* The rule of a dtype's name; NULL: all matrices have the dtype of that name. */
static const struct baton_dtype_rule *rule_named(const char *dtype,
                                                 const struct baton_dtype_rule *native)
{
    if (!strcmp(dtype, baton_q4_rule.name))
        return &baton_q4_rule;
    return is_native(dtype) ? native : NULL;
}

/* gpt_oss's own format has no kernels in a directory. */
static bool keeps_formats(const struct baton_checkpoint *checkpoint)
{
    const char *method = checkpoint->config.quantization;
    return baton_checkpoint_has_blocks(checkpoint) || (*method && strcmp(method, "mxfp4") != 0);
}

const char *baton_model_default_dtype(const struct baton_checkpoint *checkpoint)
{
    return keeps_formats(checkpoint) ? "native" : "f32";
}

/* The table is not among the packed weights, which may come from another process's file. */
static enum baton_err set_table(struct baton_model *model, const struct baton_tensor_names *names,
                                const struct baton_weights *weights, struct baton_why *why)
{
    const struct baton_array table = baton_array_of(&model->spec, BATON_ARRAY_PER_LAYER_TABLE, 0);
    return table.n_rows ? baton_tensors_source(&model->spec, names, weights, &table,
                                               &model->per_layer_table.source, why)
                        : BATON_OK;
}

static enum baton_err load(const struct baton_spec *spec, const struct baton_arch *arch,
                           const struct baton_tensor_names *names,
                           const struct baton_model_options *options,
                           const struct baton_weights *weights, struct baton_model **model,
                           struct baton_why *why)
{
    struct baton_model *made = NULL;
    struct baton_native_dtypes native = {.names = names, .weights = weights};
    const struct baton_dtype_rule keep = baton_native_dtypes_rule(&native);
    /* The check comes before the allocation: until then only config.json vouches for the size. */
    enum baton_err err = baton_tensors_check(spec, names, weights, why);
    if (!err)
        err = baton_model_measure(spec, options, rule_named(options->dtype, &keep), &made, why);
    if (!err && options->admit)
        err = options->admit(options->admit_arg, made, why);
    if (!err) {
        baton_native_dtypes_log(&native);
        made->arch = arch;
        err = baton_model_fill(made, names, options, weights, why);
    }
    if (!err)
        err = set_table(made, names, weights, why);
    if (err)
        baton_model_close(made);
    else
        *model = made;
    return err;
}

/* Fills in the defaults of the options. */
static enum baton_err complete(const struct baton_checkpoint *checkpoint,
                               const struct baton_model_options *options,
                               struct baton_model_options *complete, struct baton_why *why)
{
    *complete = options ? *options : (struct baton_model_options){0};
    if (!complete->dtype)
        complete->dtype = baton_model_default_dtype(checkpoint);
    if (is_native(complete->dtype) && !keeps_formats(checkpoint))
        return baton_fail(why, BATON_INVALID,
                          "dtype: native keeps the formats of a GGUF file or of quantized weights; "
                          "%s is a directory without them",
                          checkpoint->path);
    return BATON_OK;
}

enum baton_err baton_model_load(const struct baton_checkpoint *checkpoint,
                                const struct baton_model_options *options,
                                struct baton_model **model, struct baton_why *why)
{
    const struct baton_arch *arch;
    struct baton_spec spec;
    struct baton_model_options chosen;
    struct baton_weights *weights = NULL;
    struct baton_why reason;
    enum baton_err err = complete(checkpoint, options, &chosen, why);
    if (!err)
        err = baton_arch_configure_model(checkpoint, chosen.n_context, &arch, &spec, why);
    if (!err)
        err = baton_checkpoint_weights(checkpoint, &weights, why);
    if (err)
        return err;
    const struct baton_tensor_names *names = baton_arch_tensors(arch, &checkpoint->config);
    /* A head of its own in the file outranks tie_word_embeddings of the config. */
    if (baton_tensors_have_head(names, weights))
        spec.has_tied_head = false;
    err = load(&spec, arch, names, &chosen, weights, model, &reason);
    if (err)
        (void)baton_fail(why, err, "%s: %s", checkpoint->path, reason.text);
    if (!err && spec.n_per_layer) /* the model reads its table from the mapped file */
        (*model)->per_layer_table.weights = weights;
    else
        baton_weights_close(weights);
    return err;
}

enum baton_err baton_model_load_draft_head(const struct baton_checkpoint *checkpoint,
                                           const struct baton_model_options *options,
                                           const struct baton_model *model,
                                           struct baton_model **head, struct baton_why *why)
{
    struct baton_tensor_names names;
    struct baton_spec spec;
    struct baton_model_options chosen;
    struct baton_weights *weights = NULL;
    if (!model->arch || !baton_arch_draft_names(model->arch, checkpoint->config.gguf_names,
                                                model->spec.n_layers, &names))
        return baton_fail(why, BATON_INVALID, "models of its family have no head that drafts");
    baton_spec_make_draft_head(&model->spec, &spec);
    enum baton_err err = complete(checkpoint, options, &chosen, why);
    chosen.cache = NULL; /* its file would have the model's name */
    if (!err)
        err = baton_checkpoint_weights(checkpoint, &weights, why);
    if (err)
        return err;
    err = load(&spec, model->arch, &names, &chosen, weights, head, why);
    baton_weights_close(weights);
    if (err)
        return err;
    baton_model_borrow_vocabulary(*head, model);
    return BATON_OK;
}

enum baton_err baton_model_open(const char *path, const struct baton_model_options *options,
                                struct baton_model **model, struct baton_why *why)
{
    struct baton_checkpoint *checkpoint = NULL;
    enum baton_err err = baton_checkpoint_open(path, &checkpoint, why);
    if (!err)
        err = baton_model_load(checkpoint, options, model, why);
    baton_checkpoint_close(checkpoint);
    return err;
}
