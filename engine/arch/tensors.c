#include "engine/arch/tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

/* The prefixes of models inside larger ones, and of models saved without their head. */
static const char *const prefixes[] = {
    "model.",
    "language_model.model.",
    "model.language_model.",
    "language_model.",
    "transformer.",
    "bert.",
    "roberta.",
    "new.",
    "",
};

/* Buffers that older files hold: rotation frequencies and causal masks, which code recomputes; and
 * the scales of a KV cache in 8-bit floats, whose K and V have types of their own here. */
static const char *const constants[] = {
    ".rotary_emb.inv_freq",   ".attn.bias",    ".attn.masked_bias", ".attention.bias",
    ".attention.masked_bias", ".position_ids", ".k_scale",          ".v_scale",
};

const struct baton_tensor_row *baton_tensor_row_at(const struct baton_tensor_names *names,
                                                   int index)
{
    for (int i = 0; i < BATON_MAX_TENSOR_LISTS && names->lists[i].rows; i++) {
        if (index < names->lists[i].n)
            return &names->lists[i].rows[index];
        index -= names->lists[i].n;
    }
    return NULL;
}

const char *baton_tensor_prefix_at(const struct baton_tensor_names *names, int prefix)
{
    if (!prefix)
        return names->prefix;
    return prefix <= (int)(BATON_N_OF(prefixes)) ? prefixes[prefix - 1] : NULL;
}

/* The head's name has a larger model's prefix as well, but not its "model.". */
static const char *head_prefix(const char *prefix)
{
    return strncmp(prefix, "language_model.", strlen("language_model.")) ? "" : "language_model.";
}

/* Writes a row's name with the expert's number for its *. */
static void write_row_name(const char *row, int expert, char *name, size_t n_bytes)
{
    const char *star = strchr(row, '*');
    if (star)
        (void)snprintf(name, n_bytes, "%.*s%d%s", (int)(star - row), row, expert, star + 1);
    else
        (void)snprintf(name, n_bytes, "%s", row);
}

const char *baton_tensor_name(const struct baton_tensor_names *names,
                              const struct baton_tensor_row *row, int layer, int expert,
                              const char *prefix, char name[BATON_TENSOR_NAME_BYTES])
{
    int n = 0;
    if (baton_array_is_of_layer(row->kind))
        n = snprintf(name, BATON_TENSOR_NAME_BYTES, "%s%s%d.", prefix, names->layer_prefix,
                     names->first_layer + layer);
    else if (row->is_bare)
        *name = 0;
    else if (row->kind == BATON_ARRAY_HEAD || row->kind == BATON_ARRAY_HEAD_BIAS)
        n = snprintf(name, BATON_TENSOR_NAME_BYTES, "%s", head_prefix(prefix));
    else
        n = snprintf(name, BATON_TENSOR_NAME_BYTES, "%s", prefix);
    write_row_name(row->name, row->is_bare ? names->first_layer : expert, name + n,
                   BATON_TENSOR_NAME_BYTES - (size_t)n);
    return name;
}

static bool is_of_some_expert(const char *row, const char *name, int n_experts)
{
    size_t n = strcspn(row, "*");
    char *end;
    if (strncmp(row, name, n) != 0 || name[n] < '0' || name[n] > '9')
        return false;
    long expert = strtol(name + n, &end, 10);
    return expert < n_experts && !strcmp(end, row + n + 1);
}

bool baton_tensor_row_has_name(const struct baton_tensor_row *row, const char *name, int n_experts)
{
    if (strchr(row->name, '*'))
        return is_of_some_expert(row->name, name, n_experts);
    return !strcmp(row->name, name) || (row->scales && !strcmp(row->scales, name));
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && !strcmp(text + n - n_end, end);
}

static bool begins_with(const char *text, const char *begin)
{
    return !strncmp(text, begin, strlen(begin));
}

static bool is_elsewhere(const struct baton_tensor_names *names, const char *name)
{
    for (int i = 0; names->elsewhere[i]; i++)
        if (!strcmp(names->elsewhere[i], name))
            return true;
    return false;
}

bool baton_tensor_is_ignored(const struct baton_tensor_names *names, const char *prefix,
                             const char *name)
{
    if (names->elsewhere)
        return is_elsewhere(names, name);
    for (size_t i = 0; i < BATON_N_OF(constants); i++)
        if (ends_with(name, constants[i]))
            return true;
    if (begins_with(name, head_prefix(prefix)) &&
        (begins_with(name + strlen(head_prefix(prefix)), "lm_head.") ||
         begins_with(name + strlen(head_prefix(prefix)), "embed_out.")))
        return false;
    /* Vision towers and projectors of larger models have other prefixes. */
    if (*prefix)
        return !begins_with(name, prefix);
    return !begins_with(name, names->layer_prefix);
}

/* The order of weights that act on the elements of heads: that of the rotated pairs. */
static struct baton_row_order order_in_heads(const struct baton_spec *spec, int layer)
{
    const struct baton_layer_spec *of = &spec->layers[layer];
    if (!spec->rotates_pairs || of->rope < 0)
        return (struct baton_row_order){0};
    return (struct baton_row_order){.head_dim = of->head_dim,
                                    .step = of->head_dim,
                                    .n_rotated = spec->ropes[of->rope].n_rotated};
}

/* The rows of Q, K or V in qkv, and their order in the tensor. */
static struct baton_tensor_slice slice_of_qkv(const struct baton_spec *spec, int layer,
                                              const struct baton_tensor_row *row,
                                              enum baton_slice slice)
{
    const struct baton_layer_spec *of = &spec->layers[layer];
    int q_width = baton_spec_q_width(spec, layer), kv_width = baton_spec_kv_width(spec, layer);
    struct baton_tensor_slice found = {
        .first = slice == BATON_SLICE_Q   ? 0
                 : slice == BATON_SLICE_K ? q_width
                                          : q_width + kv_width,
        .n = slice == BATON_SLICE_Q ? q_width : kv_width,
    };
    if (slice != BATON_SLICE_V)
        found.order = order_in_heads(spec, layer);
    if (slice != BATON_SLICE_V && row->paired)
        found.order = (struct baton_row_order){
            .head_dim = of->head_dim, .step = of->head_dim, .n_rotated = of->head_dim};
    return found;
}

/* Splits a tensor of all of qkv into three parts, one after the other or head by head. */
static void split_qkv(const struct baton_spec *spec, struct baton_named_tensor *tensor)
{
    static const enum baton_slice slices[] = {BATON_SLICE_Q, BATON_SLICE_K, BATON_SLICE_V};
    int head_dim = spec->layers[tensor->layer].head_dim;
    tensor->n_slices = 3;
    for (int i = 0; i < tensor->n_slices; i++) {
        struct baton_tensor_slice *slice = &tensor->slices[i];
        *slice = slice_of_qkv(spec, tensor->layer, tensor->row, slices[i]);
        slice->order.first = slice->first;
        if (!tensor->row->by_heads)
            continue;
        slice->order.first = i * head_dim;
        slice->order.head_dim = head_dim;
        slice->order.step = 3 * head_dim;
    }
}

/* A tensor of queries has for each head the rows of its gate after its own. */
static void split_gated_q(const struct baton_spec *spec, struct baton_named_tensor *tensor)
{
    int head_dim = spec->layers[tensor->layer].head_dim, n = tensor->slices[0].n;
    struct baton_tensor_slice *gate = &tensor->slices[1];
    tensor->n_slices = 2;
    tensor->slices[0].order = (struct baton_row_order){.head_dim = head_dim, .step = 2 * head_dim};
    *gate = tensor->slices[0];
    gate->first = baton_spec_qkv_width(spec, tensor->layer) - n;
    gate->order.first = head_dim;
}

/* Rows of the projections of a layer with a state: first and n in the array; in a tensor by key
 * heads they are n / n_key_heads rows, of each. */
struct part {
    int first, n;
};

enum { N_PARTS = 6 };

static void list_parts(const struct baton_state_spec *state, struct part parts[N_PARTS])
{
    int n_keys = state->n_key_heads * state->n_keys, n_values = baton_state_width(state);
    const int sizes[N_PARTS] = {n_keys, n_keys, n_values, n_values, state->n_heads, state->n_heads};
    for (int i = 0, first = 0; i < N_PARTS; first += sizes[i++])
        parts[i] = (struct part){first, sizes[i]};
}

static void add_slice(struct baton_named_tensor *tensor, int first, int n)
{
    tensor->slices[tensor->n_slices++] =
        (struct baton_tensor_slice){.first = first, .n = n, .order = {.first = tensor->n_rows}};
    tensor->n_rows += n;
}

/* Splits a tensor of all projections: MAMBA's has z before the rest. */
static void split_whole_state(const struct baton_spec *spec, struct baton_named_tensor *tensor)
{
    int n_channels = baton_state_n_channels(&spec->state), width = baton_state_width(&spec->state);
    if (spec->layers[tensor->layer].mixer != BATON_MIXER_MAMBA)
        return;
    tensor->n_slices = tensor->n_rows = 0;
    add_slice(tensor, n_channels, width);
    add_slice(tensor, 0, n_channels);
    add_slice(tensor, n_channels + width, spec->state.n_heads);
}

/* The parts, from one on, that a tensor of a layer with a state holds one after the other, or key
 * head by key head. */
static void split_state(const struct baton_spec *spec, struct baton_named_tensor *tensor)
{
    static const struct {
        int first, n;
    } of_slice[] = {[BATON_SLICE_CHANNELS] = {0, 3},   [BATON_SLICE_Z] = {3, 1},
                    [BATON_SLICE_B] = {4, 1},          [BATON_SLICE_A] = {5, 1},
                    [BATON_SLICE_CHANNELS_Z] = {0, 4}, [BATON_SLICE_BA] = {4, 2}};
    enum baton_slice slice = tensor->row->slice;
    bool by_heads = slice == BATON_SLICE_CHANNELS_Z || slice == BATON_SLICE_BA;
    int n_heads = spec->state.n_key_heads, first = of_slice[slice].first;
    struct part parts[N_PARTS];
    list_parts(&spec->state, parts);
    tensor->n_slices = tensor->n_rows = 0;
    for (int i = 0; i < of_slice[slice].n; i++)
        add_slice(tensor, parts[first + i].first, parts[first + i].n);
    for (int i = 0; by_heads && i < tensor->n_slices; i++) {
        tensor->slices[i].order.first /= n_heads;
        tensor->slices[i].order.head_dim = tensor->slices[i].n / n_heads;
        tensor->slices[i].order.step = tensor->n_rows / n_heads;
    }
}

/* ---- layers with latents ---- */

/* The order of rotated rows that stand behind n_plain others of a head of the tensor. */
static struct baton_row_order turned_order(const struct baton_spec *spec, int n_plain)
{
    int n = spec->latent.n_turned;
    return (struct baton_row_order){.first = n_plain,
                                    .head_dim = n,
                                    .step = n_plain + n,
                                    .n_rotated = spec->rotates_pairs ? n : 0};
}

/* A head's plain rows, then its turned ones: n_heads heads, from row `first` of the array on. */
static void split_turned(const struct baton_spec *spec, struct baton_named_tensor *tensor,
                         int first, int n_heads, int n_plain)
{
    int n_turned = spec->latent.n_turned;
    tensor->n_slices = 2;
    tensor->n_rows = n_heads * (n_plain + n_turned);
    tensor->slices[0] =
        (struct baton_tensor_slice){.first = first,
                                    .n = n_heads * n_plain,
                                    .order = {.head_dim = n_plain, .step = n_plain + n_turned}};
    tensor->slices[1] = (struct baton_tensor_slice){.first = first + n_heads * n_plain,
                                                    .n = n_heads * n_turned,
                                                    .order = turned_order(spec, n_plain)};
}

/* Whether the row's tensor is of a layer with latents; then sets the parts that it holds. A matrix
 * for keys and values has for each head the rows of keys, which are the columns of KEY_UP, and
 * those of values. */
static bool split_latent(const struct baton_spec *spec, struct baton_named_tensor *tensor)
{
    const struct baton_latent_spec *latent = &spec->latent;
    int n_q = latent->n_q_rank ? latent->n_q_rank : baton_latent_q_width(spec);
    switch (tensor->row->slice) {
    case BATON_SLICE_HEADS_Q:
        split_turned(spec, tensor, 0, spec->n_heads, latent->n_plain);
        return true;
    case BATON_SLICE_Q_RANK:
        tensor->n_rows = tensor->slices[0].n = latent->n_q_rank;
        return true;
    case BATON_SLICE_LATENT:
        split_turned(spec, tensor, n_q, 1, latent->n_rank);
        return true;
    case BATON_SLICE_KEYS_UP:
        tensor->n_columns = latent->n_plain + latent->n_values;
        return true;
    case BATON_SLICE_VALUES_UP:
        tensor->n_rows = latent->n_plain + latent->n_values;
        tensor->slices[0].order.first = latent->n_plain;
        return true;
    default:
        return false;
    }
}

static struct baton_tensor_slice half_of_up(int n_rows, enum baton_slice slice)
{
    return (struct baton_tensor_slice){.first = slice == BATON_SLICE_GATE ? 0 : n_rows / 2,
                                       .n = n_rows / 2};
}

/* Splits a tensor whose rows 0, 2, 4, .. are the gate's. */
static void split_alternating(struct baton_named_tensor *tensor)
{
    tensor->n_slices = 2;
    for (int i = 0; i < tensor->n_slices; i++) {
        tensor->slices[i] = half_of_up(tensor->n_rows, i ? BATON_SLICE_UP : BATON_SLICE_GATE);
        tensor->slices[i].order = (struct baton_row_order){.first = i, .head_dim = 1, .step = 2};
    }
}

/* The rows of its array that a row's tensor holds; a plain MLP has no gate. */
static enum baton_slice slice_in(const struct baton_spec *spec, const struct baton_tensor_row *row)
{
    return spec->mlp == BATON_MLP_PLAIN && row->slice == BATON_SLICE_UP ? BATON_SLICE_ALL
                                                                        : row->slice;
}

static struct baton_tensor_slice slice_of_router(const struct baton_spec *spec,
                                                 enum baton_slice slice)
{
    int n = spec->moe.n_experts;
    return slice == BATON_SLICE_EXPERTS ? (struct baton_tensor_slice){.n = n}
                                        : (struct baton_tensor_slice){.first = n, .n = 1};
}

struct baton_named_tensor baton_tensor_of(const struct baton_spec *spec,
                                          const struct baton_array *array,
                                          const struct baton_tensor_row *row)
{
    struct baton_named_tensor tensor = {.row = row,
                                        .layer = array->layer,
                                        .n_experts = strchr(row->name, '*') ? 0 : array->n_experts,
                                        .n_rows = array->n_rows,
                                        .n_columns = array->n_columns,
                                        .is_vector = !array->is_matrix && array->n_columns == 1,
                                        .n_slices = 1,
                                        .slices = {{.n = array->n_rows}}};
    bool is_qkv = row->kind == BATON_ARRAY_QKV || row->kind == BATON_ARRAY_QKV_BIAS;
    enum baton_slice slice = slice_in(spec, row);
    if (split_latent(spec, &tensor))
        return tensor;
    if (row->of_state && is_qkv) {
        (slice == BATON_SLICE_ALL ? split_whole_state : split_state)(spec, &tensor);
        return tensor;
    }
    if (is_qkv && slice == BATON_SLICE_ALL)
        split_qkv(spec, &tensor);
    else if (is_qkv)
        tensor.slices[0] = slice_of_qkv(spec, array->layer, row, slice);
    else if (row->kind == BATON_ARRAY_ROUTER && slice != BATON_SLICE_ALL)
        tensor.slices[0] = slice_of_router(spec, slice);
    else if (row->alternates)
        split_alternating(&tensor);
    else if (slice != BATON_SLICE_ALL)
        tensor.slices[0] = half_of_up(array->n_rows, slice);
    else if (row->kind == BATON_ARRAY_Q_NORM || row->kind == BATON_ARRAY_K_NORM)
        tensor.slices[0].order = order_in_heads(spec, array->layer);
    if (slice != BATON_SLICE_ALL)
        tensor.n_rows = tensor.slices[0].n;
    if (is_qkv && slice == BATON_SLICE_Q && spec->has_out_gate) {
        split_gated_q(spec, &tensor);
        tensor.n_rows *= 2;
    }
    return tensor;
}

int baton_tensor_shape(const struct baton_spec *spec, const struct baton_named_tensor *tensor,
                       int64_t shape[BATON_TENSOR_MAX_SHAPE])
{
    bool is_norm_of_heads =
        tensor->row->kind == BATON_ARRAY_Q_NORM || tensor->row->kind == BATON_ARRAY_K_NORM;
    int n = 0;
    if (is_norm_of_heads && spec->qk_norm == BATON_QK_NORM_OWN_HEAD) {
        shape[1] = spec->layers[tensor->layer].head_dim;
        shape[0] = tensor->n_rows / shape[1];
        return 2;
    }
    if (tensor->row->in_heads) { /* of keys, where it is as wide as all values */
        shape[0] = tensor->n_rows == spec->state.n_heads ? tensor->n_rows : spec->state.n_key_heads;
        shape[1] = tensor->n_rows / shape[0];
        return 2;
    }
    if (tensor->n_experts)
        shape[n++] = tensor->n_experts;
    if (tensor->row->transposed)
        shape[n++] = tensor->n_columns;
    if (tensor->row->has_third)
        shape[n++] = 1;
    shape[n++] = tensor->n_rows;
    if (!tensor->row->transposed && !tensor->is_vector)
        shape[n++] = tensor->n_columns;
    if (!tensor->n_experts || !tensor->row->is_flat)
        return n;
    shape[1] *= shape[0];
    memmove(shape, shape + 1, (size_t)--n * sizeof *shape);
    return n;
}
