/* Products with formats whose groups have 16 inputs, each with a scale of its own. */
#include "engine/kernels/sets/native_part.h"

NATIVE_PART(16_alone, BATON_NATIVE_16_ALONE, nvfp4)
