/* The kernels of AMX: products by tiles, everything else as AVX-512 does it.
 *
 * A tile's rows are independent of each other and its inputs come in one order, so one row and
 * hundreds are the same arithmetic. Blocks and fetching are laid out for Sapphire Rapids (48 KiB
 * and 2 MiB of cache a core, a product of tiles every 16 cycles); none of it was measured there. */
#define REG_BYTES 64
#include "common/engine/kernels/amx_bf16.h"
#include "common/engine/kernels/amx_f32.h"
#include "common/engine/kernels/amx_q8.h"
#include "common/engine/kernels/variants.h"

static void quantize(enum baton_dtype dtype, const float *x, int n_in, int first_row, int end_row,
                     void *quantized)
{
    if (dtype == BATON_F32)
        split_rows(x, n_in, first_row, end_row, quantized);
    else
        baton_kernels_avx512vnni.quantize(dtype, x, n_in, first_row, end_row, quantized);
}

/* Tiles are configured for the call only: a thread without them is switched at less cost. */
static void linear(const struct baton_linear *job, int first_out, int end_out)
{
    configure_tiles(tile_height(job->n_rows));
    if (job->weights->dtype == BATON_BF16)
        linear_bf16(job, first_out, end_out);
    else if (job->weights->dtype == BATON_Q8)
        linear_q8(job, first_out, end_out);
    else
        linear_f32(job, first_out, end_out);
    _tile_release();
}

void baton_amx_fill(struct baton_kernels *kernels)
{
    *kernels = baton_kernels_avx512vnni;
    kernels->name = "amx";
    kernels->splits_f32 = true;
    kernels->quantize = quantize;
    kernels->linear = linear;
}
