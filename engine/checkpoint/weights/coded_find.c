#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/weights/coded.h"

enum { FP8_BLOCK = 128 }; /* outputs and inputs of a scale, the last ones may be fewer */

/* The tensors that begin with the same name. */
struct parts {
    const char *name; /* not terminated: n bytes, with the dot */
    size_t n;
    const struct baton_tensor *codes, *scales, *zeros, *g_idx, *shape;
    enum baton_coded_form form;
};

/* The parts of a matrix by the ends of their names; those that are only dropped are numbers for
 * activations, which stay floats. */
enum part { CODES, SCALES, ZEROS, G_IDX, SHAPE, DROPPED };

static const struct {
    const char *end;
    enum part part;
} ends[] = {
    {"qweight", CODES},           {"weight_packed", CODES},
    {"scales", SCALES},           {"weight_scale", SCALES},
    {"weight_scale_inv", SCALES}, {"qzeros", ZEROS},
    {"weight_zero_point", ZEROS}, {"g_idx", G_IDX},
    {"weight_g_idx", G_IDX},      {"weight_shape", SHAPE},
    {"input_scale", DROPPED},     {"input_zero_point", DROPPED},
    {"output_scale", DROPPED},
};

/* The length of a name's beginning, up to its last dot and with it. */
static size_t base_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? (size_t)(dot - name) + 1 : 0;
}

static bool is_codes(const struct baton_tensor *tensor)
{
    const char *end = tensor->name + base_length(tensor->name);
    return !strcmp(end, "qweight") || !strcmp(end, "weight_packed") ||
           (!strcmp(end, "weight") &&
            (tensor->dtype == BATON_ELEMENT_F8_E4M3 || tensor->dtype == BATON_ELEMENT_I8));
}

static int by_name(const void *key, const void *element)
{
    const struct baton_tensor *const *tensor = element;
    return strcmp(key, (*tensor)->name);
}

/* The tensor of this beginning and end; NULL: there is none. */
static const struct baton_tensor *find(const struct baton_tensor **tensors, size_t n_tensors,
                                       const char *base, size_t n, const char *end)
{
    char name[256];
    if (n + strlen(end) >= sizeof name)
        return NULL;
    memcpy(name, base, n);
    memcpy(name + n, end, strlen(end) + 1);
    const struct baton_tensor **found = bsearch(name, tensors, n_tensors, sizeof *tensors, by_name);
    return found ? *found : NULL;
}

static struct parts parts_of(const struct baton_tensor **tensors, size_t n_tensors,
                             const struct baton_tensor *codes)
{
    struct parts parts = {.name = codes->name, .n = base_length(codes->name), .codes = codes};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const struct baton_tensor **slots[] = {NULL,         &parts.scales, &parts.zeros,
                                               &parts.g_idx, &parts.shape,  NULL};
        const struct baton_tensor *tensor =
            slots[ends[i].part] ? find(tensors, n_tensors, parts.name, parts.n, ends[i].end) : NULL;
        if (tensor)
            *slots[ends[i].part] = tensor;
    }
    return parts;
}

static enum baton_err refuse(const struct baton_tensor *tensor, const char *wanted,
                             struct baton_why *why)
{
    return baton_fail(why, BATON_INVALID, "tensor %s: must have %s", tensor->name, wanted);
}

static bool is_shape(const struct baton_tensor *tensor, int64_t rows, int64_t columns)
{
    return tensor->n_dims == 2 && tensor->shape[0] == rows && tensor->shape[1] == columns;
}

static int64_t up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

/* ---- codes ---- */

/* n_in of packed codes is what weight_shape says, or as much as the words hold. */
static int64_t packed_inputs(const struct parts *parts, int64_t n_words, int n_bits)
{
    int64_t shape[2];
    const struct baton_tensor *tensor = parts->shape;
    if (!tensor || tensor->n_bytes != sizeof shape || tensor->dtype != BATON_ELEMENT_I64)
        return n_words * 32 / n_bits;
    memcpy(shape, tensor->data, sizeof shape);
    return up(shape[1], 32 / n_bits) == n_words ? shape[1] : -1;
}

/* The bits of a code follow from the scales of GPTQ, which count the outputs and groups; of the
 * others, from the inputs that their scales or shape give. */
static int bits_of_packed(const struct parts *parts)
{
    int64_t shape[2];
    if (!parts->shape || parts->shape->n_bytes != sizeof shape)
        return 4;
    memcpy(shape, parts->shape->data, sizeof shape);
    return up(shape[1], 8) == parts->codes->shape[1] ? 4 : 8;
}

static int bits_of_gptq(const struct parts *parts)
{
    const struct baton_tensor *zeros = parts->zeros;
    int64_t n_out = parts->codes->shape[1];
    return zeros && zeros->n_dims == 2 && zeros->shape[1] == up(n_out, 4) ? 8 : 4;
}

static enum baton_err size_words(const struct parts *parts, struct baton_coded *coded,
                                 struct baton_why *why)
{
    const int64_t *shape = parts->codes->shape, *of_scales = parts->scales->shape;
    int64_t n_out = shape[0], n_in = -1;
    if (strcmp(parts->codes->name + parts->n, "weight_packed") == 0) {
        coded->form = BATON_CODED_PACKED;
        coded->n_bits = bits_of_packed(parts);
        n_in = packed_inputs(parts, shape[1], coded->n_bits);
    } else if (of_scales[1] == shape[1]) {
        coded->form = BATON_CODED_GPTQ;
        coded->n_bits = bits_of_gptq(parts);
        n_out = shape[1];
        n_in = shape[0] * 32 / coded->n_bits;
    } else if (of_scales[1] == shape[1] * 8) {
        coded->form = BATON_CODED_AWQ;
        coded->n_bits = 4;
        n_out = of_scales[1];
        n_in = shape[0];
    }
    if (n_in <= 0 || n_in > INT32_MAX || n_out > INT32_MAX)
        return refuse(parts->codes, "a shape that goes with its scales and weight_shape", why);
    coded->n_out = (int)n_out;
    coded->n_in = (int)n_in;
    return BATON_OK;
}

static enum baton_err size_rows(const struct parts *parts, struct baton_coded *coded,
                                struct baton_why *why)
{
    const int64_t *shape = parts->codes->shape;
    if (shape[0] > INT32_MAX || shape[1] > INT32_MAX)
        return refuse(parts->codes, "fewer rows or columns", why);
    coded->form = BATON_CODED_ROWS;
    coded->n_bits = 8;
    coded->n_out = (int)shape[0];
    coded->n_in = (int)shape[1];
    return BATON_OK;
}

static enum baton_err size_codes(const struct parts *parts, struct baton_coded *coded,
                                 struct baton_why *why)
{
    const struct baton_tensor *codes = parts->codes;
    const bool is_rows = codes->dtype != BATON_ELEMENT_I32;
    coded->codes = codes;
    if (codes->n_dims != 2 || codes->shape[0] < 1 || codes->shape[1] < 1)
        return refuse(codes, "two dimensions", why);
    if (!parts->scales)
        return refuse(codes, "scales beside it", why);
    if (is_rows && strcmp(codes->name + parts->n, "weight") != 0)
        return refuse(codes, "dtype I32", why);
    if (!is_rows && parts->scales->n_dims != 2)
        return refuse(parts->scales, "two dimensions", why);
    return is_rows ? size_rows(parts, coded, why) : size_words(parts, coded, why);
}

/* ---- scales, zeros, groups ---- */

static enum baton_err size_scales_of_inputs(const struct parts *parts, struct baton_coded *coded,
                                            struct baton_why *why)
{
    const struct baton_tensor *scales = parts->scales;
    const int64_t n_groups = scales->shape[0];
    coded->scales_of_inputs = true;
    coded->n_scales = coded->n_out;
    coded->out_group = 1;
    coded->in_group = n_groups > 0 ? (int)(coded->n_in / n_groups) : 1;
    if (n_groups < 1 || coded->n_in % n_groups || !is_shape(scales, n_groups, coded->n_out))
        return refuse(scales, "a row for each group of inputs", why);
    return BATON_OK;
}

static enum baton_err size_scales(const struct parts *parts, struct baton_coded *coded,
                                  struct baton_why *why)
{
    const struct baton_tensor *scales = parts->scales;
    const int n_out = coded->n_out, n_in = coded->n_in;
    int64_t rows = scales->n_dims ? scales->shape[0] : 1,
            columns = scales->n_dims > 1 ? scales->shape[1] : 1;
    if (scales->n_dims > 2 || rows < 1 || columns < 1)
        return refuse(scales, "at most two dimensions", why);
    coded->n_scales = (int)columns;
    coded->out_group = rows == n_out ? 1 : rows == 1 ? n_out : FP8_BLOCK;
    coded->in_group = columns == 1                      ? n_in
                      : coded->form == BATON_CODED_ROWS ? FP8_BLOCK
                      : coded->n_in % columns           ? 1
                                                        : (int)(n_in / columns);
    if (up(n_out, coded->out_group) != rows || up(n_in, coded->in_group) != columns)
        return refuse(scales, "one scale, one for each row, group, or block of 128 x 128", why);
    return BATON_OK;
}

static int64_t n_groups_of(const struct baton_coded *coded)
{
    return up(coded->n_in, coded->in_group);
}

static enum baton_err take_zeros(const struct parts *parts, struct baton_coded *coded,
                                 struct baton_why *why)
{
    const struct baton_tensor *zeros = parts->zeros;
    const int64_t n_words = up(coded->n_out, 32 / coded->n_bits), n_groups = n_groups_of(coded);
    if (coded->form == BATON_CODED_ROWS || !zeros)
        return zeros ? refuse(zeros, "no zeros beside FP8 or INT8", why) : BATON_OK;
    coded->zeros = zeros;
    if (zeros->dtype != BATON_ELEMENT_I32 ||
        !(coded->form == BATON_CODED_PACKED ? is_shape(zeros, n_words, n_groups)
                                            : is_shape(zeros, n_groups, n_words)))
        return refuse(zeros, "dtype I32 and a code for each output and group", why);
    return BATON_OK;
}

/* Whether scales alone tell the groups of inputs. Where the size of a group, in practice a power of
 * two, does not divide the inputs, the last group is shorter: then their quotient is the size of no
 * group, and lies between two powers. */
static bool are_even(const struct baton_coded *coded)
{
    return coded->in_group == coded->n_in || !(coded->in_group & (coded->in_group - 1));
}

/* Inputs' groups matter only where they are not in order. */
static enum baton_err take_groups(const struct parts *parts, struct baton_coded *coded,
                                  struct baton_why *why)
{
    const struct baton_tensor *g_idx = parts->g_idx;
    bool in_order = true;
    if (coded->form == BATON_CODED_ROWS)
        return BATON_OK;
    if (!g_idx)
        return are_even(coded)
                   ? BATON_OK
                   : refuse(parts->scales, "groups of a power of two of inputs, or g_idx", why);
    if (g_idx->dtype != BATON_ELEMENT_I32 || g_idx->n_dims != 1 || g_idx->shape[0] != coded->n_in)
        return refuse(g_idx, "dtype I32 and a number for each input", why);
    for (int k = 0; k < coded->n_in; k++) {
        int32_t group;
        memcpy(&group, g_idx->data + (size_t)k * sizeof group, sizeof group);
        if (group < 0 || group >= n_groups_of(coded))
            return refuse(g_idx, "the numbers of groups that have scales", why);
        in_order = in_order && group == k / coded->in_group;
    }
    coded->g_idx = in_order ? NULL : g_idx;
    return BATON_OK;
}

static enum baton_err describe(const struct parts *parts, struct baton_coded *coded,
                               struct baton_why *why)
{
    *coded = (struct baton_coded){0};
    enum baton_err err = size_codes(parts, coded, why);
    if (err)
        return err;
    coded->scales = parts->scales;
    if (!baton_element_converts(parts->scales->dtype))
        return refuse(parts->scales, "dtype F32, F16 or BF16", why);
    err = coded->form == BATON_CODED_GPTQ || coded->form == BATON_CODED_AWQ
              ? size_scales_of_inputs(parts, coded, why)
              : size_scales(parts, coded, why);
    if (!err)
        err = take_zeros(parts, coded, why);
    return err ? err : take_groups(parts, coded, why);
}

/* ---- all matrices ---- */

static size_t count(const struct baton_tensor **tensors, size_t n_tensors, size_t *n_names)
{
    size_t n = 0;
    *n_names = 0;
    for (size_t i = 0; i < n_tensors; i++)
        if (is_codes(tensors[i])) {
            n++;
            *n_names += base_length(tensors[i]->name) + sizeof "weight";
        }
    return n;
}

/* Whether a tensor is a part of a matrix of the list, whose bases are names without "weight". */
static bool is_part(const struct baton_tensor **tensors, size_t n_tensors,
                    const struct baton_tensor *tensor)
{
    static const char *const of_codes[] = {"qweight", "weight_packed", "weight"};
    const size_t n = base_length(tensor->name);
    bool is_end = is_codes(tensor);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        is_end = is_end || !strcmp(tensor->name + n, ends[i].end);
    for (size_t i = 0; is_end && i < sizeof of_codes / sizeof *of_codes; i++) {
        const struct baton_tensor *codes = find(tensors, n_tensors, tensor->name, n, of_codes[i]);
        if (codes && is_codes(codes))
            return true;
    }
    return false;
}

static enum baton_err add(const struct baton_tensor **tensors, size_t n_tensors,
                          const struct baton_tensor *codes, struct baton_coded_list *list,
                          char **name, struct baton_why *why)
{
    const struct parts parts = parts_of(tensors, n_tensors, codes);
    struct baton_coded *coded = &list->matrices[list->n];
    enum baton_err err = describe(&parts, coded, why);
    memcpy(*name, parts.name, parts.n);
    memcpy(*name + parts.n, "weight", sizeof "weight");
    list->tensors[list->n++] = (struct baton_tensor){.name = *name,
                                                     .dtype = BATON_ELEMENT_CODED,
                                                     .coded = coded,
                                                     .n_dims = 2,
                                                     .shape = {coded->n_out, coded->n_in},
                                                     .data = codes->data,
                                                     .n_bytes = codes->n_bytes};
    *name += parts.n + sizeof "weight";
    return err;
}

/* Moves the tensors to the front that are no parts. The others are still needed for the search, so
 * they move only when all are known. */
static enum baton_err drop_parts(const struct baton_tensor **tensors, size_t *n_tensors)
{
    bool *is_dropped = calloc(*n_tensors + 1, sizeof *is_dropped);
    size_t n = 0;
    if (!is_dropped)
        return BATON_NO_MEMORY;
    for (size_t i = 0; i < *n_tensors; i++)
        is_dropped[i] = is_part(tensors, *n_tensors, tensors[i]);
    for (size_t i = 0; i < *n_tensors; i++)
        if (!is_dropped[i])
            tensors[n++] = tensors[i];
    *n_tensors = n;
    free(is_dropped);
    return BATON_OK;
}

enum baton_err baton_coded_find(const struct baton_tensor **tensors, size_t *n_tensors,
                                struct baton_coded_list *list, struct baton_why *why)
{
    size_t n_names, n = count(tensors, *n_tensors, &n_names);
    enum baton_err err = BATON_OK;
    *list = (struct baton_coded_list){0};
    if (!n)
        return BATON_OK;
    list->matrices = calloc(n, sizeof *list->matrices);
    list->tensors = calloc(n, sizeof *list->tensors);
    list->names = calloc(n_names, 1);
    char *name = list->names;
    if (!list->matrices || !list->tensors || !name)
        return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < *n_tensors && !err; i++)
        if (is_codes(tensors[i]))
            err = add(tensors, *n_tensors, tensors[i], list, &name, why);
    return err ? err : drop_parts(tensors, n_tensors);
}

bool baton_coded_is_zero_bias(const struct baton_tensor *bias)
{
    size_t i = 0;
    while (i < bias->n_bytes && !bias->data[i])
        i++;
    return i == bias->n_bytes;
}

void baton_coded_fini(struct baton_coded_list *list)
{
    free(list->matrices);
    free(list->tensors);
    free(list->names);
    *list = (struct baton_coded_list){0};
}
