#include "engine/kernels/variants.h"

#define KERNELS        baton_kernels_portable
#define ROW_KERNELS    baton_row_kernels_portable
#define KERNELS_NAME   "portable"
#define DENSE_MIN_ROWS 16
#define FASTEST        BATON_BF16
#define REG_BYTES      16
#define N_REGISTERS    16
#define TILE_OUTS      1
#define TILE_ROWS      2
#include "engine/kernels/sets/body.h"
