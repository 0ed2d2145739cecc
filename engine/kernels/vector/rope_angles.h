/* The angles by which a position turns the pairs of a head: what the kernels' rope is given.
 *
 * Ownership: arguments are borrowed for the call.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_KERNELS_VECTOR_ROPE_ANGLES_H
#define BATON_ENGINE_KERNELS_VECTOR_ROPE_ANGLES_H

#include "engine/arch/spec.h"

/* Cosines and sines [n_rotated / 2] of position * inverse[i], times the attention factor. All of it
 * is in double and rounded last: a float holds the angles of far positions to 0.01 only. */
void baton_rope_angles(const struct baton_rope_spec *rope, int position, float *cosines,
                       float *sines);

#endif
