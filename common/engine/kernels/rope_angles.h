/* The angles by which a position turns the pairs of a head: what the kernels' rope is given.
 *
 * Ownership: arguments are borrowed for the call.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_ROPE_ANGLES_H
#define BATON_ENGINE_ROPE_ANGLES_H

#include "common/arch/spec.h"

/* Cosines and sines [n_rotated / 2] of position * inverse[i], in double and then rounded, times the
 * attention factor. */
void baton_rope_angles(const struct baton_rope_spec *rope, int position, float *cosines,
                       float *sines);

#endif
