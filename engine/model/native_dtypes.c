#include "engine/model/native_dtypes.h"

#include "common/base/log.h"
#include "engine/checkpoint/weights/coded.h"

/* Sorts the slices of a source by their rows: tensors are found in the order of the table of names.
 */
static void sort_slices(struct baton_weights_source *source)
{
    for (int i = 1; i < source->n_slices; i++)
        for (int k = i; k > 0 && source->slices[k].first < source->slices[k - 1].first; k--) {
            struct baton_weights_slice slice = source->slices[k];
            source->slices[k] = source->slices[k - 1];
            source->slices[k - 1] = slice;
        }
}

static enum baton_dtype dtype_of_tensor(const struct baton_tensor *tensor)
{
    switch (tensor->dtype) {
    case BATON_ELEMENT_CODED:
        return baton_dtype_of_blocks(baton_coded_block_type(tensor->coded));
    case BATON_ELEMENT_BLOCKS:
        return baton_dtype_of_blocks(tensor->block_type);
    case BATON_ELEMENT_F16:
        return BATON_F16;
    default:
        return tensor->dtype == BATON_ELEMENT_BF16 ? BATON_BF16 : BATON_F32;
    }
}

/* The reason why the slice of a matrix cannot be kept as it is; NULL: its dtype is *dtype. */
static const char *dtype_of_slice(const struct baton_model *model,
                                  const struct baton_weights_slice *slice, enum baton_dtype *dtype)
{
    if (slice->transposed)
        return "its tensor is transposed";
    if (slice->scales)
        return "its scales are another tensor";
    if (slice->tensor->factors && slice->tensor->block_type != BATON_BLOCK_NVFP4)
        return "its tensor has a scale of its own";
    *dtype = dtype_of_tensor(slice->tensor);
    return model->kernels->dtypes[*dtype].linear ? NULL : "the kernels have no such dtype";
}

/* One copy's dtypes, or the reason why it has none. */
static const char *dtypes_of_copy(const struct baton_native_dtypes *native,
                                  const struct baton_model *model, const struct baton_array *array,
                                  struct baton_matrix_dtypes *dtypes)
{
    struct baton_weights_source source;
    const char *reason = NULL;
    *dtypes = (struct baton_matrix_dtypes){.n = 0};
    if (baton_tensors_source(&model->spec, native->names, native->weights, array, &source, NULL))
        return "a tensor is missing";
    sort_slices(&source);
    for (int i = 0; i < source.n_slices && !reason; i++) {
        struct baton_dtype_range *range = &dtypes->ranges[dtypes->n++];
        range->n_rows = source.slices[i].n;
        reason = dtype_of_slice(model, &source.slices[i], &range->dtype);
    }
    return reason;
}

/* Whether all rows of the copy have the dtype of the first copy's first row. */
static bool have_one_dtype(const struct baton_matrix_dtypes *copy, enum baton_dtype dtype)
{
    for (int i = 0; i < copy->n; i++)
        if (copy->ranges[i].dtype != dtype)
            return false;
    return true;
}

/* Gated matrices and those of experts have one dtype for all of their rows and copies. */
static const char *dtypes_of_one(const struct baton_native_dtypes *native,
                                 const struct baton_model *model, struct baton_array array,
                                 struct baton_matrix_dtypes *dtypes)
{
    struct baton_matrix_dtypes copy;
    const char *reason = dtypes_of_copy(native, model, &array, dtypes);
    enum baton_dtype dtype = dtypes->ranges[0].dtype;
    for (; !reason && array.expert < baton_array_n_copies(&array); array.expert++) {
        reason = dtypes_of_copy(native, model, &array, &copy);
        if (!reason && !have_one_dtype(&copy, dtype))
            reason = "its tensors have different types";
    }
    *dtypes =
        (struct baton_matrix_dtypes){.n = 1, .ranges = {{.n_rows = array.n_rows, .dtype = dtype}}};
    return reason;
}

static void choose(void *arg, const struct baton_model *model, const struct baton_array *array,
                   struct baton_matrix_dtypes *dtypes)
{
    struct baton_native_dtypes *native = arg;
    struct baton_array first = *array;
    first.expert = 0;
    const char *reason = array->is_gated || array->n_experts
                             ? dtypes_of_one(native, model, first, dtypes)
                             : dtypes_of_copy(native, model, &first, dtypes);
    if (!reason)
        return;
    if (!native->n_widened++) {
        native->first_layer = array->layer;
        native->reason = reason;
    }
    *dtypes = (struct baton_matrix_dtypes){
        .n = 1, .ranges = {{.n_rows = array->n_rows, .dtype = BATON_F32}}};
}

struct baton_dtype_rule baton_native_dtypes_rule(struct baton_native_dtypes *native)
{
    return (struct baton_dtype_rule){.choose = choose, .arg = native, .name = "native"};
}

void baton_native_dtypes_log(const struct baton_native_dtypes *native)
{
    if (native->n_widened)
        baton_log(BATON_LOG_WARN, "weights_widened", BATON_I("matrices", native->n_widened),
                  BATON_S("to", "f32"), BATON_I("first_layer", native->first_layer),
                  BATON_S("reason", native->reason));
}
