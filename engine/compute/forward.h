/* The state of one forward of rows through a model, and the operations that layers are made of.
 *
 * Ownership: arrays belong to the engine and hold its maximum of rows; a forward is a view of the
 *            first n_rows of them.
 * Threading: the engine thread, which shares the work with its pool.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_COMPUTE_FORWARD_H
#define BATON_ENGINE_COMPUTE_FORWARD_H

#include <stdbool.h>

#include "engine/compute/adapted.h"
#include "engine/compute/latent.h"
#include "engine/compute/moe/moe.h"
#include "engine/compute/trial.h"
#include "engine/kernels/kernels.h"
#include "engine/kv/pool.h"
#include "engine/model/layers.h"
#include "engine/system/pool.h"

struct baton_row {
    const struct baton_seq *seq;
    int position;
    int n_text; /* the positions of its text, all of which it may see; 0: those up to its own */
    int type;   /* its row in the table of token types */
    int trial;  /* 1 + its number among rows on trial; 0: it is none */
    uint32_t token;
    const float *state; /* [C] of a head that drafts */
};

struct baton_forward {
    const struct baton_model *model;
    const struct baton_kernels *kernels;
    struct baton_pool *pool;

    int last_common; /* the last layer whose qkv all rows run; those that want no result end then */
    int n_rows;
    struct baton_row *rows; /* [n_rows] */
    int *groups;            /* [n_rows] first rows of tiles and single rows (attention.c) */
    float *x;               /* [n_rows][C] the residual stream */
    float *normed;          /* [n_rows][C] */
    float *qkv;         /* [n_rows][(H + 2 G) D]; this, as the rest, as wide as the widest layer */
    float *attn_out;    /* [n_rows][H D] the result of attention */
    float *hidden;      /* [n_rows][F] */
    float *pairs;       /* [n_rows][2 C] the input of a head that drafts */
    float *branch;      /* [n_rows][C] a part's result that is normed before it joins x */
    float *per_layer;   /* [n_rows][L][P] tokens' inputs to the layers */
    float *rotations;   /* [n_rows] cosines and sines of each of spec's ropes (qkv.c) */
    float *state_keys;  /* [key heads][n_rows][2][n_keys] queries and keys of layers with a state */
    float *state_gates; /* [n_rows][2][heads] write and decay */
    float *state_tail;  /* of a convolution that is computed again */
    float *ones;        /* [n_heads][n_values] of a state */
    struct baton_trial trial;           /* rows that states have not gone through yet */
    struct baton_latent_state latent;   /* of layers with latents */
    void *quantized;                    /* a linear's input in the forms that its kernels read */
    struct baton_moe_state moe;         /* of layers that are mixtures of experts */
    struct baton_adapted_state adapted; /* zeroed in an engine without adapters */
    float *attn_scratch;                /* [n_threads] state of the queries attended together */
    size_t attn_scratch_floats;         /* of one thread */
    float *table_rows;                  /* [n_threads][L P] a row of the model's table */
};

/* Points the arrays of rows and the threads' scratch into memory for n_rows rows, or measures them
 * when memory is NULL. Returns their bytes. model and pool must be set. */
size_t baton_forward_place(struct baton_forward *forward, char *memory, int n_rows);

/* Bytes that an input of n_rows rows needs at most, in all forms that the model's matrices read. */
size_t baton_forward_quantized_bytes(const struct baton_model *model, int n_rows);

/* Runs fn for items of up to BATON_ROWS_PER_ITEM neighbouring rows. */
enum { BATON_ROWS_PER_ITEM = 16 };
void baton_forward_share_rows(struct baton_forward *forward, baton_item_fn fn, void *arg);

/* normed = norm(x) */
void baton_forward_norm(struct baton_forward *forward, const struct baton_norm *norm);

/* out [n_rows][C] = norm(in), which may be one array; and out += norm(in). */
void baton_forward_norm_of(struct baton_forward *forward, const struct baton_norm *norm,
                           const float *in, float *out);
void baton_forward_norm_add(struct baton_forward *forward, const struct baton_norm *norm,
                            const float *in, float *out);

/* Rows [n_rows][n_in] that matrices are multiplied with, and the forms that kernels have needed so
 * far: an input is quantized once for all matrices whose dtypes read the same form. */
enum { BATON_INPUT_MAX_FORMS = 4 };

struct baton_input {
    const float *floats;
    int n_in, n_forms;
    size_t n_bytes; /* of forward->quantized that the forms take */
    struct baton_input_form {
        enum baton_dtype dtype;
        const void *rows;
    } forms[BATON_INPUT_MAX_FORMS];
};

static inline struct baton_input baton_input_of(const float *floats, int n_in)
{
    return (struct baton_input){.floats = floats, .n_in = n_in};
}

/* The input as products with weights of this dtype read it; for some dtypes it is the floats
 * themselves. It lasts until another input is quantized. */
const void *baton_forward_quantize(struct baton_forward *forward, struct baton_input *input,
                                   enum baton_dtype dtype);

/* The work of reading n_bytes of weights and multiplying them with n_rows rows, in bytes that take
 * as long to read; and the number of items that such a loop should have: one for a small loop,
 * which the caller finishes before another thread would have joined in. */
size_t baton_forward_work(size_t n_bytes, int n_rows);
int baton_forward_n_items(const struct baton_forward *forward, size_t work);

/* out [n_rows][n_out], or [n_rows][F] for a gated matrix, from an input of the matrix's width: all
 * parts of the matrix as one loop. */
void baton_forward_linear(struct baton_forward *forward, const struct baton_matrix *matrix,
                          struct baton_input *input, float *out, struct baton_epilogue epilogue);

/* The rotations of queries and keys by the rows' positions, for all layers. */
void baton_forward_rotate(struct baton_forward *forward);

/* Prepares queries and keys for attention: norms, clamps and rotates them. Then stores the rows' K
 * and V from qkv in their sequences' blocks, if the layer has any. */
void baton_forward_finish_qkv(struct baton_forward *forward, int layer);

/* attn_out = the result of a layer with a state from its projections in qkv; the sequences' states
 * go through their rows. */
void baton_forward_scan(struct baton_forward *forward, int layer);

/* The states go through the rows of one sequence, which were on trial from first_row on. */
void baton_forward_replay(struct baton_forward *forward, int layer, int first_row);

/* attn_out *= sigmoid(gate), from qkv. */
void baton_forward_gate(struct baton_forward *forward, int layer);

/* attn_out = attention of each row's queries over the positions up to its own, or those of the
 * layer's window; an encoder's row sees those after it as well. */
void baton_forward_attend(struct baton_forward *forward, int layer);

/* Continues with the rows first..first + n - 1 only. This and moving are for the layer last_common,
 * between its qkv and its attention. */
void baton_forward_narrow(struct baton_forward *forward, int first, int n);

/* Overwrites a row with the values that another one needs for its attention and after it. */
void baton_forward_move_row(struct baton_forward *forward, int from, int to);

/* Floats of a row's rotations. */
size_t baton_forward_rotation_floats(const struct baton_spec *spec);

/* Floats of attention's state that one thread needs. */
size_t baton_forward_attn_scratch_floats(const struct baton_spec *spec);

#endif
