/* The grids of ggml's types IQ1 to IQ3: lists of the points that four or eight neighbouring values
 * may have together, up to their signs.
 *
 * A point is one or two words of four bytes, of which byte i is 128 plus the i-th value, so that
 * negating the byte negates the value. The values of IQ1 are -8, 0 and 8; a block adds or subtracts
 * 1 (blocks.h).
 *
 * Source: ggml's ggml-common.h (iq3xxs_grid, iq3s_grid, iq2xxs_grid, iq2xs_grid, iq2s_grid,
 * iq1s_grid). The points are part of the format.
 *
 * Ownership: constants.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_CHECKPOINT_WEIGHTS_GRIDS_H
#define BATON_ENGINE_CHECKPOINT_WEIGHTS_GRIDS_H

#include <stdint.h>

enum baton_grid_id {
    BATON_GRID_IQ3_XXS,
    BATON_GRID_IQ3_S,
    BATON_GRID_IQ2_XXS,
    BATON_GRID_IQ2_XS,
    BATON_GRID_IQ2_S,
    BATON_GRID_IQ1,
    BATON_N_GRIDS
};

struct baton_grid {
    const uint32_t *words; /* [n_points], or [n_points][2] from IQ2_XXS on */
    int n_points;
};

extern const struct baton_grid baton_grids[BATON_N_GRIDS];

/* Values of a point. */
static inline int baton_grid_values(enum baton_grid_id grid)
{
    return grid < BATON_GRID_IQ2_XXS ? 4 : 8;
}

#endif
