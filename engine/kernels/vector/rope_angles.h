/* The angles by which a position rotates the pairs of a head, as arguments of the kernels' rope.
 *
 * Ownership: arguments are borrowed for the call.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_KERNELS_VECTOR_ROPE_ANGLES_H
#define BATON_ENGINE_KERNELS_VECTOR_ROPE_ANGLES_H

#include "engine/arch/spec.h"

/* Cosines and sines [n_rotated / 2] of position * inverse[i], times the attention factor. They are
 * computed in double and rounded last: a float holds the angles of far positions to 0.01 only. */
void baton_rope_angles(const struct baton_rope_spec *rope, int position, float *cosines,
                       float *sines);

#endif
