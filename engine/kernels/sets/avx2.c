#include "engine/kernels/variants.h"

#define KERNELS        baton_kernels_avx2
#define ROW_KERNELS    baton_row_kernels_avx2
#define KERNELS_NAME   "avx2"
#define DENSE_MIN_ROWS 32
#define FASTEST        BATON_Q8
#define REG_BYTES      32
#define N_REGISTERS    16
#define TILE_OUTS      2
#define TILE_ROWS      2
#include "engine/kernels/sets/body.h"
