/* One sequence's K and V, and what attention makes of them by the formula.
 *
 * Ownership: context_fini gives back what context_init made; the caller frees what make_out and
 *            allocate return.
 * Threading: one thread.
 * Errors:    failed assertions.
 */
#ifndef BATON_TESTS_UNIT_ENGINE_COMPUTE_ATTENTION_UNIT_H
#define BATON_TESTS_UNIT_ENGINE_COMPUTE_ATTENTION_UNIT_H

#include "engine/kernels/kernels.h"

enum { ATTENTION_SPARE = 16 };

/* One sequence's K and V of one layer, each position twice: as plain numbers, rounded as they are
 * stored, and in scattered blocks. Slots past the last position hold NaN. */
struct context {
    enum baton_kv_dtype dtype;
    int n_heads, group, dim, n_positions, n_blocks;
    float *k, *v; /* [positions][G][D] */
    char *layer;  /* [2 n_blocks] blocks */
    int *blocks;  /* [n_blocks] */
    float *q;     /* [positions][H][D] */
    float *state;
    double *weights; /* [positions], of the naive sum */
    int window;      /* what init leaves out: 0 */
    float score_cap;
    const float *sinks;
};

/* NaN in every dtype. */
void *attention_allocate(size_t n_bytes);

void context_init(struct context *c, enum baton_kv_dtype dtype, int n_heads, int group, int dim,
                  int n_positions);
void context_fini(struct context *c);

size_t context_block_bytes(const struct context *c);
char *context_block(const struct context *c, int position);

/* Element d of a slot's K or V of a head, as the number that it stands for. */
float context_get(const struct context *c, const void *block, int head, bool is_key, int d,
                  int slot);
/* K and V of a position become NaN. */
void context_poison(const struct context *c, int position, int head);

float *context_make_out(const struct context *c, int n_rows);
/* Rows first..first + n - 1 into out [n][H][D], ATTENTION_SPARE floats behind each row. */
void context_run(const struct baton_kernels *kernels, const struct context *c, int first, int n,
                 int first_head, int end_head, float *out);

/* Against the naive sum in double. */
void context_assert_row(const struct context *c, int position, const float *row);

/* A row by itself, and head by head, against the same among its neighbours. */
void context_assert_rows_are_independent(const struct baton_kernels *kernels,
                                         const struct context *c, int first, int n, float *together,
                                         float *alone);

#endif
