#include "engine/kernels/variants.h"

#define KERNELS        baton_kernels_i8mm
#define ROW_KERNELS    baton_row_kernels_i8mm
#define KERNELS_NAME   "i8mm"
#define DENSE_MIN_ROWS 32
#define FASTEST        BATON_Q8
#define REG_BYTES      16
#define N_REGISTERS    32
#define TILE_OUTS      2
#define TILE_ROWS      2
#define USES_NEON
#include "engine/kernels/sets/body.h"
