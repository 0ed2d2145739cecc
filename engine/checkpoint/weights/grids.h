/* The grids of ggml's types IQ1 to IQ3: lists of the points that four or eight neighbouring values
 * may have together, up to their signs.
 *
 * A point is 16 bits: the codes of four values in nibbles, or of eight in pairs of bits, the first
 * value's the lowest. A code is the number of a level. Levels are bytes, 128 plus a value, so that
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

/* A grid begins with its levels [16] and has its points from byte BATON_GRID_POINTS_AT on. Two
 * bytes past the last point may be read. */
enum { BATON_GRID_POINTS_AT = 64 };

extern const uint8_t *const baton_grids[BATON_N_GRIDS];

static inline const uint16_t *baton_grid_points(const uint8_t *grid)
{
    return (const uint16_t *)(const void *)(grid + BATON_GRID_POINTS_AT);
}

/* Values of a point. */
static inline int baton_grid_values(enum baton_grid_id grid)
{
    return grid < BATON_GRID_IQ2_XXS ? 4 : 8;
}

static inline int baton_grid_n_points(enum baton_grid_id grid)
{
    switch (grid) {
    case BATON_GRID_IQ3_S:
    case BATON_GRID_IQ2_XS:
        return 512;
    case BATON_GRID_IQ2_S:
        return 1024;
    case BATON_GRID_IQ1:
        return 2048;
    default:
        return 256;
    }
}

#endif
