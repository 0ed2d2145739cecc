#include "gateway/model.h"

#include <stdlib.h>

#include "common/base/json.h"
#include "common/base/os/file.h"
#include "engine/arch/arch.h"
#include "engine/checkpoint/model_files.h"
#include "engine/checkpoint/tokenizer_tables.h"
#include "engine/checkpoint/weights/weights.h"

enum { TEXT_PROMPTS_MAX_BYTES = 1 << 20 };

/* A gateway that has the weights requires workers with the same ones. A gateway without them
 * accepts the weights of the fleet's first worker. */
static enum baton_err take_fingerprint(struct gw_model *model, const struct gw_options *options,
                                       const struct baton_checkpoint *checkpoint,
                                       struct baton_why *why)
{
    struct baton_cache_dirs cache;
    baton_cache_dirs_find(options->checkpoint.pack_dir, checkpoint->path, &cache);
    enum baton_err err =
        baton_checkpoint_fingerprint(checkpoint, &cache, true, &model->fingerprint, why);
    if (err == BATON_NOT_FOUND)
        err = baton_checkpoint_fingerprint(checkpoint, NULL, false, &model->fingerprint, why);
    return err;
}

/* Counts the weights if the gateway has them. It serves without them, so a failure is none. */
static void count_weights(struct gw_model *model, const struct baton_checkpoint *checkpoint)
{
    struct baton_weights *weights = NULL;
    struct baton_why why;
    if (!*model->fingerprint.weights || baton_checkpoint_weights(checkpoint, &weights, &why))
        return;
    model->facts.weights = baton_weights_count(weights);
    baton_weights_close(weights);
}

static enum baton_err make_tokenizer(struct gw_model *model, const struct gw_options *options,
                                     const struct baton_checkpoint *checkpoint,
                                     struct baton_why *why)
{
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_cache_dirs cache;
    baton_cache_dirs_find(options->checkpoint.pack_dir, checkpoint->path, &cache);
    enum baton_err err =
        baton_checkpoint_tokenizer(checkpoint, &cache, model->fingerprint.tokenizer, &tables, why);
    if (!err)
        err = baton_tokenizer_create(tables, &model->tokenizer, why);
    if (!err)
        err = baton_tokenizer_create_second(model->tokenizer, tables, &model->pool_tokenizer, why);
    if (!err)
        baton_fim_find(tables, model->facts.fim_ids, model->facts.n_vocab, &model->fim);
    baton_tokenizer_tables_free(tables);
    return err;
}

static enum baton_err make_chat(struct gw_model *model, const struct gw_model_options *own,
                                const struct baton_checkpoint *checkpoint, struct baton_why *why)
{
    struct baton_chat_template source = {0};
    enum baton_err err = baton_checkpoint_chat_template(checkpoint, &source, why);
    if (!err)
        err = baton_chat_create(&source, own->chat_template, &model->chat, why);
    baton_chat_template_fini(&source);
    return err;
}

static bool has_states(const struct baton_spec *spec)
{
    bool has_state = false;
    for (int i = 0; i < spec->n_layers; i++)
        has_state |= baton_spec_has_state(spec, i);
    return has_state;
}

static enum baton_err check_split(const struct gw_options *options, bool has_states,
                                  struct baton_why *why)
{
    if (!has_states || options->prefill_split <= 1)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "--prefill-split: must be 1, because layers of this model keep a state, for "
                      "which each part of a prompt would wait");
}

static enum baton_err check_model(struct gw_model *model, const struct gw_model_options *own,
                                  const struct gw_options *options,
                                  const struct baton_checkpoint *checkpoint, struct baton_why *why)
{
    int64_t context_tokens = own->context_tokens;
    const struct baton_arch *arch;
    struct baton_spec *spec = malloc(sizeof *spec);
    if (!spec)
        return BATON_NO_MEMORY;
    enum baton_err err =
        baton_arch_configure_model(checkpoint, (int)context_tokens, &arch, spec, why);
    model->facts.has_states = !err && has_states(spec);
    if (!err)
        err = check_split(options, model->facts.has_states, why);
    free(spec);
    if (context_tokens)
        model->facts.n_context_tokens = context_tokens;
    return err;
}

/* Reads the prompts of sentence-transformers: an object of texts. Another value counts as none. */
static enum baton_err read_text_prompts(struct gw_model *model,
                                        const struct baton_checkpoint *checkpoint,
                                        struct baton_why *why)
{
    static const char name[] = "config_sentence_transformers.json";
    char path[PATH_MAX];
    struct baton_json *root = NULL;
    if (!baton_model_files_has(checkpoint->path, name))
        return BATON_OK;
    enum baton_err err = baton_file_path(path, checkpoint->path, name, why);
    if (!err)
        err = baton_json_read_file(path, TEXT_PROMPTS_MAX_BYTES, &root, why);
    if (!err && baton_json_kind(baton_json_get(root, "prompts")) == BATON_JSON_OBJECT)
        model->text_prompts = baton_json_share(baton_json_get(root, "prompts"));
    baton_json_free(root);
    return err;
}

enum baton_err gw_model_open(struct gw_model *model, const struct gw_model_options *own,
                             const struct gw_options *options, struct baton_why *why)
{
    struct baton_checkpoint *checkpoint = NULL;
    enum baton_err err = baton_checkpoint_open(own->path, &checkpoint, why);
    if (err)
        return err;
    model->facts = checkpoint->facts;
    err = check_model(model, own, options, checkpoint, why);
    if (!err)
        err = take_fingerprint(model, options, checkpoint, why);
    if (!err)
        count_weights(model, checkpoint);
    if (!err)
        err = make_tokenizer(model, options, checkpoint, why);
    if (!err)
        err = make_chat(model, own, checkpoint, why);
    if (!err)
        err = read_text_prompts(model, checkpoint, why);
    baton_checkpoint_close(checkpoint);
    return err;
}

void gw_model_close(struct gw_model *model)
{
    if (model->chat)
        baton_chat_close(model->chat);
    baton_json_free(model->text_prompts);
    model->text_prompts = NULL;
    baton_tokenizer_close(model->pool_tokenizer); /* borrows from the other one */
    baton_tokenizer_close(model->tokenizer);
    model->chat = NULL;
    model->tokenizer = model->pool_tokenizer = NULL;
}
