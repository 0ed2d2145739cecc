#include "tools/support/machine/machine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/checkpoint/cache_dir.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/model/random.h"
#include "tools/support/machine/gguf_mix.h"
#include "tools/support/machine/shapes.h"

enum { NAME_BYTES = 16 };

struct mixing {
    struct bench_gguf_mix mix;
    char name[NAME_BYTES];
};

static bool find_mix(const char *dtype, struct mixing *mixing)
{
    char upper[NAME_BYTES] = "";
    struct baton_why none;
    (void)snprintf(mixing->name, sizeof mixing->name, "%s", dtype);
    for (int i = 0; mixing->name[i]; i++)
        upper[i] = (char)toupper((unsigned char)mixing->name[i]);
    return !bench_gguf_mix_parse("--dtype", upper, &mixing->mix, &none) && mixing->mix.is_mix;
}

static enum baton_dtype dtype_of(const struct mixing *mixing, const struct baton_spec *spec,
                                 const struct baton_array *array, enum baton_slice slice)
{
    const struct baton_tensor_row row = {.kind = array->kind, .slice = slice};
    const struct bench_tensor tensor = {.named = {.row = &row, .layer = array->layer},
                                        .n_columns = array->n_columns};
    return baton_dtype_of_blocks(bench_gguf_mix_type(&mixing->mix, spec, &tensor));
}

static void choose(void *arg, const struct baton_model *model, const struct baton_array *array,
                   struct baton_matrix_dtypes *dtypes)
{
    static const enum baton_slice slices[] = {BATON_SLICE_Q, BATON_SLICE_K, BATON_SLICE_V};
    const struct baton_spec *spec = baton_model_spec(model);
    int q_width = baton_spec_q_width(spec, array->layer),
        kv_width = baton_spec_kv_width(spec, array->layer);
    if (array->kind != BATON_ARRAY_QKV || array->n_rows == q_width || spec->latent.n_rank) {
        dtypes->ranges[0].dtype = dtype_of(arg, spec, array, BATON_SLICE_ALL);
        return;
    }
    dtypes->n = 1 + (array->n_rows - q_width) / kv_width; /* without V where it is K */
    for (int i = 0; i < dtypes->n; i++)
        dtypes->ranges[i] = (struct baton_dtype_range){
            .n_rows = i ? kv_width : q_width, .dtype = dtype_of(arg, spec, array, slices[i])};
}

/* A model of a shape has random weights. options->dtype may also be the name of a mix (gguf_mix.h)
 * in lower case: "q4_k_m". */
static enum baton_err open_shape(const struct baton_spec *spec,
                                 const struct baton_model_options *options,
                                 struct baton_model **model, struct baton_why *why)
{
    static struct mixing mixing; /* the model borrows its name for good */
    if (!options->dtype || !find_mix(options->dtype, &mixing))
        return baton_model_random(spec, BENCH_SHAPE_SEED, options, model, why);
    const struct baton_dtype_rule rule = {.choose = choose, .arg = &mixing, .name = mixing.name};
    return baton_model_random_by(spec, BENCH_SHAPE_SEED, options, &rule, model, why);
}

/* Opens the model as a worker does: packed once, then mapped. */
static enum baton_err open_shared(const struct bench_machine_options *options,
                                  struct baton_model **model, struct baton_why *why)
{
    struct baton_checkpoint *checkpoint = NULL;
    struct baton_cache_dirs cache;
    struct baton_fingerprint fingerprint;
    struct baton_model_options model_options = options->model;
    model_options.cache = &cache;
    model_options.fingerprint = &fingerprint;
    baton_cache_dirs_find(options->pack_dir, options->name, &cache);
    enum baton_err err = baton_checkpoint_open(options->name, &checkpoint, why);
    if (!err)
        err = baton_checkpoint_fingerprint(checkpoint, &cache, true, &fingerprint, why);
    if (!err)
        err = baton_model_load(checkpoint, &model_options, model, why);
    baton_checkpoint_close(checkpoint);
    return err;
}

static enum baton_err open_model(const struct bench_machine_options *options,
                                 struct baton_model **model, struct baton_why *why)
{
    const char *shape_name = bench_shape_name(options->name);
    const struct baton_arch *arch;
    struct baton_spec spec;
    if (!shape_name && options->pack_dir && *options->pack_dir)
        return open_shared(options, model, why);
    if (!shape_name)
        return baton_model_open(options->name, &options->model, model, why);
    enum baton_err err = bench_shape_find("--model", shape_name, &arch, &spec, why);
    return err ? err : open_shape(&spec, &options->model, model, why);
}

enum baton_err bench_machine_init(struct bench_machine *machine,
                                  const struct bench_machine_options *options,
                                  struct baton_why *why)
{
    struct bench_machine made = {0};
    enum baton_err err = open_model(options, &made.model, why);
    if (!err)
        err = baton_kv_create(
            made.model,
            &(struct baton_kv_pool_options){.dtype = options->kv_dtype,
                                            .n_blocks = baton_kv_blocks_for(options->n_kv_tokens)},
            &made.kv, why);
    if (!err)
        err = baton_engine_create(made.model, &options->engine, &made.engine, why);
    if (!err) {
        size_t n_vocab = (size_t)baton_model_info(made.model)->n_vocab;
        made.logits = calloc((size_t)options->max_logits * n_vocab, sizeof *made.logits);
        if (!made.logits)
            err = baton_fail(why, BATON_NO_MEMORY, "logits: out of memory");
    }
    if (err)
        bench_machine_fini(&made);
    else
        *machine = made;
    return err;
}

void bench_machine_fini(struct bench_machine *machine)
{
    free(machine->logits);
    baton_engine_destroy(machine->engine);
    baton_kv_destroy(machine->kv);
    baton_model_close(machine->model);
    *machine = (struct bench_machine){0};
}
