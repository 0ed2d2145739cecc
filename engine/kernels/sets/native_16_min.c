/* Products with formats whose groups have 16 inputs and mins, in spans of 64. */
#include "engine/kernels/sets/native_part.h"

NATIVE_PART(16_min, BATON_NATIVE_16_MIN, q2_k)
