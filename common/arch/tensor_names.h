/* What a checkpoint's tensors are called, and which array of the model each fills (arrays.h).
 *
 * An architecture's names are lists of rows. Several rows may fill the same part of an array: the
 * first whose tensor the checkpoint has is the one. A row may fill a part of an array (q, k and v
 * are one matrix), and its tensor may hold the rows in another order:
 *
 *     q_proj                [H D][C]      rows of Q of qkv; pairs side by side if rotates_pairs
 *     c_attn                [C][3 C]      all of qkv, transposed
 *     query_key_value       [H][3][D][C]  all of qkv, by heads
 *
 * Ownership: rows are constants.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ARCH_TENSOR_NAMES_H
#define BATON_ARCH_TENSOR_NAMES_H

#include <stddef.h>

#include "common/arch/arrays.h"
#include "common/checkpoint/row_order.h"

/* Which rows of its array a tensor holds. */
enum baton_part {
    BATON_PART_ALL,
    BATON_PART_Q, /* of qkv and its bias */
    BATON_PART_K,
    BATON_PART_V,
    BATON_PART_GATE, /* of up and its bias, where they are GATED */
    BATON_PART_UP
};

struct baton_tensor_row {
    const char *name; /* after the prefixes */
    enum baton_slot slot;
    enum baton_part part;
    bool transposed; /* stored as [n_columns][n_rows] */
    bool by_heads;   /* qkv: for each head its rows of q, k and v, [H][3][D] */
};

struct baton_tensor_list {
    const struct baton_tensor_row *rows;
    int n;
};

enum { BATON_MAX_TENSOR_LISTS = 6 };

struct baton_tensor_names {
    const char *prefix;       /* as saved today, of all names but the head's: "transformer." */
    const char *layer_prefix; /* after it, before a layer's number: "h." */
    bool norms_less_one;      /* norms are stored as weight - 1 */
    struct baton_tensor_list lists[BATON_MAX_TENSOR_LISTS]; /* up to the first without rows */
};

/* The rows of an array that one tensor holds, or some of them. */
struct baton_tensor_part {
    int first, n;                 /* rows of the array */
    struct baton_row_order order; /* in which the tensor holds them */
};

enum { BATON_MAX_TENSOR_PARTS = 3 };

/* What a row of names stands for in a model: its tensor's shape, and where it goes. */
struct baton_named_tensor {
    const struct baton_tensor_row *row;
    int layer;
    int n_rows, n_columns; /* of the tensor, as the array has them: before transposition */
    bool is_vector;        /* its shape is [n_rows] */
    int n_parts;
    struct baton_tensor_part parts[BATON_MAX_TENSOR_PARTS];
};

/* The tensor of a row that fills (a part of) this array. */
struct baton_named_tensor baton_tensor_of(const struct baton_spec *spec,
                                          const struct baton_array *array,
                                          const struct baton_tensor_row *row);

/* The index-th row of the names, NULL past the last. */
const struct baton_tensor_row *baton_tensor_row_at(const struct baton_tensor_names *names,
                                                   int index);

/* The prefix-th way in which checkpoints begin the names of all tensors but the head's: 0 is how
 * they are saved today. NULL past the last. */
const char *baton_tensor_prefix_at(const struct baton_tensor_names *names, int prefix);

/* The name of a row's tensor in a layer, in a checkpoint of this prefix. */
enum { BATON_TENSOR_NAME_BYTES = 192 };
const char *baton_tensor_name(const struct baton_tensor_names *names,
                              const struct baton_tensor_row *row, int layer, const char *prefix,
                              char name[BATON_TENSOR_NAME_BYTES]);

/* Whether the model does without a tensor of this name, which no row of it has: of another part of
 * a larger model, or a constant. Any other unknown tensor would change the result. */
bool baton_tensor_is_ignored(const struct baton_tensor_names *names, const char *prefix,
                             const char *name);

#endif
