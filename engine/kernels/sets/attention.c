/* Attention, and the storage of K and V. */
#include "engine/kernels/attend/attend.h"
#include "engine/kernels/attend/store_kv.h"
#include "engine/kernels/variants.h"

void OF_SET(fill_attention)(struct baton_kernels *kernels)
{
    kernels->store_kv = store_kv;
    kernels->attend = attend;
}
