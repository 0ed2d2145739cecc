/* The header of the engine's tests. */
#ifndef BATON_TESTS_UNIT_ENGINE_UNIT_H
#define BATON_TESTS_UNIT_ENGINE_UNIT_H

#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random_floats.h"

#endif
