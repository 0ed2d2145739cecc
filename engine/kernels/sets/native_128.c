/* Products with formats whose groups have 32 inputs and odd scales, in spans of 128. */
#include "engine/kernels/sets/native_part.h"

NATIVE_PART(128, BATON_NATIVE_128, iq3_xxs)
