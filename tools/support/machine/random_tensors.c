#include "tools/support/machine/random_tensors.h"

#include <stdlib.h>
#include <string.h>

#include "engine/arch/draft_head.h"
#include "engine/model/random_weights.h"

/* The list under construction, and its sources. */
struct listing {
    const struct baton_tensor_names *names;
    const struct baton_spec *spec;
    bench_has_row has_row;
    const void *arg;
    struct bench_tensors *all;
};

static void add(const struct listing *listing, const struct baton_array *array,
                const struct baton_tensor_row *row)
{
    const struct baton_tensor_names *names = listing->names;
    struct bench_tensors *all = listing->all;
    struct bench_tensor *tensor = &all->tensors[all->n++];
    struct baton_named_tensor named = baton_tensor_of(listing->spec, array, row);
    *tensor = (struct bench_tensor){
        .named = named,
        .n_copies = named.n_experts ? named.n_experts : 1,
        .n_rows = named.n_rows,
        .n_columns = named.is_vector ? 0 : named.n_columns,
        .center = names->norms_less_one && !array->is_whole ? 0 : array->center,
        .seed = all->seed,
        .n_passed = baton_array_n_elements(array)};
    if (row->transposed) {
        tensor->n_rows = named.n_columns;
        tensor->n_columns = named.n_rows;
    }
    tensor->n_dims = baton_tensor_shape(listing->spec, &named, tensor->shape);
    (void)baton_tensor_name(names, row, array->layer, array->expert, names->prefix, tensor->name);
}

/* Adds the tensors of an array. A tensor of all experts is added with the first expert's array. */
static void add_array(const struct listing *listing, const struct baton_array *array)
{
    const struct baton_tensor_row *row;
    int n_rows = 0;
    for (int i = 0; n_rows < array->n_rows && (row = baton_tensor_row_at(listing->names, i)); i++) {
        if (!baton_tensor_row_fills(row, array) ||
            (listing->has_row && !listing->has_row(row, listing->arg)))
            continue;
        struct baton_named_tensor named = baton_tensor_of(listing->spec, array, row);
        if (!named.n_experts || !array->expert)
            add(listing, array, row);
        n_rows += named.n_rows;
    }
    /* The seed advances even for an array without a tensor: each array has its fixed place in the
     * sequence. */
    listing->all->seed += baton_array_n_elements(array) * BATON_RANDOM_STEP;
}

enum baton_err bench_tensors_list(const struct baton_tensor_names *names,
                                  const struct baton_spec *spec, uint64_t seed,
                                  bench_has_row has_row, const void *arg,
                                  struct bench_tensors *tensors)
{
    int n = baton_n_arrays(spec), n_copies = 0;
    for (int i = 0; i < n; i++) {
        struct baton_array array = baton_array_at(spec, i);
        n_copies += baton_array_n_copies(&array);
    }
    struct bench_tensors all = {
        .tensors = calloc((size_t)n_copies * BATON_MAX_TENSOR_SLICES, sizeof *all.tensors),
        .seed = seed};
    const struct listing listing = {
        .names = names, .spec = spec, .has_row = has_row, .arg = arg, .all = &all};
    if (!all.tensors)
        return BATON_NO_MEMORY;
    for (int i = 0; i < n; i++) {
        struct baton_array array = baton_array_at(spec, i);
        for (; array.n_rows && array.expert < baton_array_n_copies(&array); array.expert++)
            add_array(&listing, &array);
    }
    *tensors = all;
    return BATON_OK;
}

/* Moves the tensors of more to the end. */
static enum baton_err append(struct bench_tensors *tensors, struct bench_tensors *more)
{
    size_t n = (size_t)tensors->n + (size_t)more->n;
    struct bench_tensor *all = realloc(tensors->tensors, n * sizeof *all);
    if (all) {
        memcpy(all + tensors->n, more->tensors, (size_t)more->n * sizeof *all);
        *tensors = (struct bench_tensors){.tensors = all, .n = (int)n, .seed = more->seed};
    }
    bench_tensors_fini(more);
    return all ? BATON_OK : BATON_NO_MEMORY;
}

enum baton_err bench_tensors_add_draft_head(const struct baton_arch *arch, bool in_gguf,
                                            const struct baton_spec *spec, bench_has_row has_row,
                                            const void *arg, struct bench_tensors *tensors)
{
    struct baton_tensor_names names;
    struct baton_spec head;
    struct bench_tensors more;
    if (!baton_arch_draft_names(arch, in_gguf, spec->n_layers, &names))
        return BATON_INVALID;
    baton_spec_make_draft_head(spec, &head);
    enum baton_err err = bench_tensors_list(&names, &head, tensors->seed, has_row, arg, &more);
    return err ? err : append(tensors, &more);
}

void bench_tensors_fini(struct bench_tensors *tensors)
{
    free(tensors->tensors);
    *tensors = (struct bench_tensors){0};
}

int bench_tensors_widest(const struct bench_tensors *tensors)
{
    int widest = 1;
    for (int i = 0; i < tensors->n; i++)
        if (bench_tensor_line(&tensors->tensors[i]) > widest)
            widest = bench_tensor_line(&tensors->tensors[i]);
    return widest;
}

enum baton_err bench_lines_init(const struct bench_tensors *tensors, struct bench_lines *lines)
{
    int longest = 1;
    for (int i = 0; i < tensors->n; i++)
        if (tensors->tensors[i].named.n_rows > longest)
            longest = tensors->tensors[i].named.n_rows;
    struct bench_lines made = {.floats =
                                   calloc((size_t)bench_tensors_widest(tensors), sizeof(float)),
                               .numbers = calloc((size_t)longest, sizeof(uint64_t))};
    if (made.floats && made.numbers) {
        *lines = made;
        return BATON_OK;
    }
    bench_lines_fini(&made);
    return BATON_NO_MEMORY;
}

void bench_lines_fini(struct bench_lines *lines)
{
    free(lines->floats);
    free(lines->numbers);
    *lines = (struct bench_lines){0};
}

void bench_lines_begin(struct bench_lines *lines, const struct bench_tensor *tensor)
{
    const struct baton_named_tensor *named = &tensor->named;
    lines->tensor = tensor;
    for (int p = 0; p < named->n_slices; p++) {
        const struct baton_tensor_slice *slice = &named->slices[p];
        /* A family's checkpoints may store an array's rows in another order. */
        for (int r = 0; r < slice->n; r++)
            lines->numbers[baton_row_order_at(&slice->order, r)] =
                (uint64_t)(slice->first + r) * (uint64_t)named->n_columns;
    }
}

/* A line of a transposed tensor is a column of the model's matrix. */
const float *bench_lines_at(struct bench_lines *lines, int64_t i)
{
    const struct bench_tensor *tensor = lines->tensor;
    const size_t copy = (size_t)(i / tensor->n_rows), line = (size_t)(i % tensor->n_rows);
    const uint64_t n_passed = tensor->n_passed * copy;
    bool transposed = tensor->named.row->transposed;
    for (int k = 0; k < bench_tensor_line(tensor); k++) {
        uint64_t number =
            transposed ? lines->numbers[k] + line : lines->numbers[line] + (uint64_t)k;
        lines->floats[k] = tensor->center + baton_random_weight(tensor->seed, n_passed + number);
    }
    return lines->floats;
}
