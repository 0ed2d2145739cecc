/* Products with formats whose groups have 32 inputs and mins. */
#include "engine/kernels/sets/native_part.h"

NATIVE_PART(32_min, BATON_NATIVE_32_MIN, q4_1)
