/* Products with formats whose groups have 32 inputs and mins, in spans of 128. */
#include "engine/kernels/sets/native_part.h"

NATIVE_PART(128_min, BATON_NATIVE_128_MIN, q4_k)
