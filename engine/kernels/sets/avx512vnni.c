#include "engine/kernels/variants.h"

#define KERNELS        baton_kernels_avx512vnni
#define ROW_KERNELS    baton_row_kernels_avx512vnni
#define KERNELS_NAME   "avx512vnni"
#define DENSE_MIN_ROWS 128
#define FASTEST        BATON_Q8
#define REG_BYTES      64
#define N_REGISTERS    32
#define TILE_OUTS      4
#define TILE_ROWS      4
#include "engine/kernels/sets/body.h"
