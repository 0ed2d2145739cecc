#include "engine/kernels/vector/rope_angles.h"

#include <math.h>

void baton_rope_angles(const struct baton_rope_spec *rope, int position, float *cosines,
                       float *sines)
{
    for (int i = 0; i < rope->n_rotated / 2; i++) {
        double angle = position * rope->inverse[i];
        cosines[i] = (float)(cos(angle) * rope->attention_factor);
        sines[i] = (float)(sin(angle) * rope->attention_factor);
    }
}
