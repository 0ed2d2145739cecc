/* Products with formats whose groups have 16 inputs, which are summed up in spans of 64. */
#include "engine/kernels/sets/native_part.h"

NATIVE_PART(16, BATON_NATIVE_16, q6_k)
