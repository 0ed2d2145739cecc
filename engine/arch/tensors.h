/* The names of a checkpoint's tensors, and the array of the model that each fills (arrays.h).
 *
 * An architecture's names are lists of rows. Several rows may fill the same part of an array: the
 * first one whose tensor the checkpoint has counts. A row may fill a part of an array (q, k and v
 * are one matrix), and its tensor may hold the rows in another order:
 *
 *     q_proj                [H D][C]      rows of Q of qkv; pairs side by side if rotates_pairs
 *     c_attn                [C][3 C]      all of qkv, transposed
 *     query_key_value       [H][3][D][C]  all of qkv, by heads
 *     experts.*.up_proj     [F][C]        up's rows of the expert whose number stands for *
 *     experts.gate_up_proj  [E][2 F][C]   all of up, of all experts
 *
 * Ownership: rows are constants.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_ARCH_TENSORS_H
#define BATON_ENGINE_ARCH_TENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/arch/arrays.h"
#include "engine/checkpoint/weights/row_order.h"

/* The rows of its array that a tensor holds. */
enum baton_slice {
    BATON_SLICE_ALL,
    BATON_SLICE_Q, /* of qkv and its bias */
    BATON_SLICE_K,
    BATON_SLICE_V,
    BATON_SLICE_CHANNELS, /* of a layer with a state: q, k and v; the others */
    BATON_SLICE_Z,
    BATON_SLICE_B,
    BATON_SLICE_A,
    BATON_SLICE_CHANNELS_Z, /* channels and z, and b and a, by key heads */
    BATON_SLICE_BA,
    BATON_SLICE_HEADS_Q, /* of layers with latents: by heads, plain and turned queries */
    BATON_SLICE_Q_RANK,
    BATON_SLICE_LATENT,  /* the latent, and the turned part of keys */
    BATON_SLICE_KEYS_UP, /* of one matrix for keys and values, head by head */
    BATON_SLICE_VALUES_UP,
    BATON_SLICE_GATE, /* of up and its bias, where they are GATED */
    BATON_SLICE_UP,
    BATON_SLICE_EXPERTS, /* of the router */
    BATON_SLICE_SHARED_GATE
};

struct baton_tensor_row {
    const char *name; /* after the prefixes; * is an expert's number */
    enum baton_array_kind kind;
    enum baton_slice slice;
    bool transposed; /* stored as [n_columns][n_rows] */
    bool by_heads;   /* qkv: for each head its rows of q, k and v, [H][3][D] */
    bool paired;     /* q, k: a head's rows i and i + D / 2 stand side by side */
    bool of_experts; /* of a mixture's experts, or of heads: one's where the name has a *, else all
                        of theirs */
    bool alternates; /* up: rows of gate and up alternate */
    bool is_flat;    /* experts: stored with no dimension of their own, [E n_rows][n_columns] */
    bool of_state;   /* QKV and OUT of a layer with a state; else of attention */
    bool has_third;  /* stored with a dimension of 1 between the others */
    bool in_heads;   /* a vector that is stored head by head, with two dimensions */
    bool is_bare;    /* outside of the layers: its name has no prefix */
    const char *scales; /* of a tensor of MXFP4 blocks [..][32 columns][16 bytes], the tensor with
                           their scales [..][32 columns]; NULL: the tensor holds plain numbers */
};

struct baton_tensor_list {
    const struct baton_tensor_row *rows;
    int n;
};

enum { BATON_MAX_TENSOR_LISTS = 8 };

struct baton_tensor_names {
    const char *prefix;       /* of all names but the head's in current files: "transformer." */
    const char *layer_prefix; /* after it, before a layer's number: "h." */
    bool is_part;             /* of a checkpoint, whose other tensors nobody judges */
    int first_layer;          /* the number of layer 0; a * in a bare name is it as well */
    bool has_late_layers;     /* those after the last draft tokens, and are not computed */
    bool norms_less_one;      /* norms are stored as weight - 1 */
    /* Tensors that are read elsewhere, up to a NULL; any other unknown one is an error. NULL: see
     * baton_tensor_is_ignored. */
    const char *const *elsewhere;
    struct baton_tensor_list lists[BATON_MAX_TENSOR_LISTS]; /* up to the first without rows */
};

/* The rows of an array that one tensor holds, or some of them. */
struct baton_tensor_slice {
    int first, n;                 /* rows of the array */
    struct baton_row_order order; /* in which the tensor holds them */
};

enum { BATON_MAX_TENSOR_SLICES = 4 };

/* The meaning of a row of names in a model: its tensor's shape, and its place in the array. */
struct baton_named_tensor {
    const struct baton_tensor_row *row;
    int layer;
    int n_experts;         /* the tensor holds the arrays of so many experts; 0: one array */
    int n_rows, n_columns; /* of the tensor, as the array has them: before transposition */
    bool is_vector;        /* its shape is [n_rows] */
    int n_slices;
    struct baton_tensor_slice slices[BATON_MAX_TENSOR_SLICES];
};

/* Whether a row's tensor fills (a part of) this array. */
static inline bool baton_tensor_row_fills(const struct baton_tensor_row *row,
                                          const struct baton_array *array)
{
    return row->kind == array->kind && row->of_experts == (array->n_experts > 0) &&
           row->of_state == array->has_state;
}

/* The tensor of a row that fills (a part of) this array. */
struct baton_named_tensor baton_tensor_of(const struct baton_spec *spec,
                                          const struct baton_array *array,
                                          const struct baton_tensor_row *row);

/* The shape of a tensor as it is stored, for MXFP4 that of its values. Returns the number of
 * dimensions. */
enum { BATON_TENSOR_MAX_SHAPE = 3 };
int baton_tensor_shape(const struct baton_spec *spec, const struct baton_named_tensor *tensor,
                       int64_t shape[BATON_TENSOR_MAX_SHAPE]);

/* The index-th row of the names, NULL past the last. */
const struct baton_tensor_row *baton_tensor_row_at(const struct baton_tensor_names *names,
                                                   int index);

/* The prefix-th prefix with which checkpoints begin the names of all tensors but the head's; 0 is
 * that of current files. NULL past the last. */
const char *baton_tensor_prefix_at(const struct baton_tensor_names *names, int prefix);

/* The name of a row's tensor in a layer, of an expert, in a checkpoint of this prefix. */
enum { BATON_TENSOR_NAME_BYTES = 192 };
const char *baton_tensor_name(const struct baton_tensor_names *names,
                              const struct baton_tensor_row *row, int layer, int expert,
                              const char *prefix, char name[BATON_TENSOR_NAME_BYTES]);

/* Whether name, without the prefixes before a row's name, is this row's for one of n_experts, or
 * that of its scales. */
bool baton_tensor_row_has_name(const struct baton_tensor_row *row, const char *name, int n_experts);

/* Whether the model does not need a tensor of this name, which none of its rows has: it belongs to
 * another part of a larger model, or is a constant. Any other unknown tensor would change the
 * result. */
bool baton_tensor_is_ignored(const struct baton_tensor_names *names, const char *prefix,
                             const char *name);

#endif
