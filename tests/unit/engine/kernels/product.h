/* One product to be computed: random weights or blocks packed, random rows quantized, in guarded
 * memory of just the size, and both once more as the kernels see them. The last block of a row may
 * go on past n_in, as those of encoded weights do.
 *
 * Ownership: product_fini gives back what product_init made.
 * Threading: one thread.
 * Errors:    failed assertions.
 */
#ifndef BATON_TESTS_UNIT_ENGINE_KERNELS_PRODUCT_H
#define BATON_TESTS_UNIT_ENGINE_KERNELS_PRODUCT_H

#include "engine/kernels/kernels.h"

enum { PRODUCT_ALIGNMENT = 64 };

struct product {
    const struct baton_kernels *kernels;
    struct baton_packed packed;
    int n_rows, n_in, n_out;
    float *rows;     /* [n_out][n_in] the weights that are packed; NULL: */
    uint8_t *blocks; /* they are of blocks */
    float *weights;  /* [n_out][n_in] as the kernels see them */
    float *x;        /* [n_rows][n_in] */
    float *inputs;   /* [n_rows][n_in] as the kernels see them */
    void *quantized;
    float *bias, *before, *y;
};

void product_init(struct product *p, const struct baton_kernels *kernels, int dtype, int n_rows,
                  int n_in, int n_out);
void product_fini(struct product *p);

/* Packs rows again, after a change. */
void product_pack(const struct product *p);

/* Packs zeros. */
void product_clear(const struct product *p);

size_t product_quantized_bytes(const struct product *p);
size_t product_y_bytes(const struct product *p);

/* For the kernels' linear, into y; a scale of 1, and gelu's tanh form where it activates. */
struct baton_linear product_job(const struct product *p, int kind, bool with_bias);

#endif
