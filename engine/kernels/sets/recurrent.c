/* Convolutions and scans of layers with a state. */
#include "engine/kernels/recurrent/convolve.h"
#include "engine/kernels/recurrent/scan.h"
#include "engine/kernels/variants.h"

void OF_SET(fill_recurrent)(struct baton_kernels *kernels)
{
    kernels->convolve = convolve;
    kernels->scan = scan;
}
