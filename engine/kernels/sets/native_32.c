/* Products with formats whose groups have 32 inputs. */
#include "engine/kernels/sets/native_part.h"

NATIVE_PART(32, BATON_NATIVE_32, q4_0)
