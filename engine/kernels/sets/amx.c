/* The kernels of AMX: products and some attention by tiles, everything else by AVX-512.
 *
 * A tile's rows are independent of each other and its inputs come in one order, so one row and
 * hundreds are the same arithmetic. Blocks and fetching are laid out for Sapphire Rapids (48 KiB
 * and 2 MiB of cache a core, a product of tiles every 16 cycles) and were measured there. */
#include "engine/kernels/amx/attend.h"
#include "engine/kernels/amx/bf16.h"
#include "engine/kernels/amx/f32.h"
#include "engine/kernels/amx/q8.h"
#include "engine/kernels/pack/native_panels.h"
#include "engine/kernels/variants.h"

/* Tiles are configured for the call only: the system does not save and restore 8 KiB of tiles when
 * it switches from a thread that has released them. */
#define WITH_TILES(name)                                                                           \
    static void name##_by_tiles(const struct baton_linear *job, int first_out, int end_out)        \
    {                                                                                              \
        configure_tiles(tile_height(job->n_rows), TILE_ROWS);                                      \
        name(job, first_out, end_out);                                                             \
        _tile_release();                                                                           \
    }

WITH_TILES(linear_f32)
WITH_TILES(linear_bf16)
WITH_TILES(linear_q8)

static struct baton_kernels vectors, tiles; /* filled in before any product is called */

/* One tile of rows waits for memory with tiles and with vectors, and vectors need not pass sums
 * through memory as tiles do. */
static void linear_q8_by_rows(const struct baton_linear *job, int first_out, int end_out)
{
    if (job->n_rows > TILE_ROWS)
        linear_q8_by_tiles(job, first_out, end_out);
    else
        vectors.dtypes[BATON_Q8].linear(job, first_out, end_out);
}

/* Fewer rows than a tile has wait for memory, or nearly so, and vectors need not pass sums through
 * memory. */
static void linear_native(const struct baton_linear *job, int first_out, int end_out)
{
    const struct baton_kernels *kernels = job->n_rows < TILE_ROWS ? &vectors : &tiles;
    kernels->dtypes[job->weights->dtype].linear(job, first_out, end_out);
}

static void attend_some_by_tiles(const struct baton_attend *job, int first_head, int end_head)
{
    if (!fills_tiles(job)) {
        attend(job, first_head, end_head);
        return;
    }
    configure_tiles(TILE_ROWS, TILE_ROWS);
    attend_by_tiles(job, first_head, end_head);
    _tile_release();
}

static void fill_native(struct baton_kernels *kernels)
{
    baton_fill_native_16_amx(&tiles);
    baton_fill_native_16_alone_amx(&tiles);
    baton_fill_native_128_amx(&tiles);
    baton_fill_native_16_min_amx(&tiles);
    baton_fill_native_32_amx(&tiles);
    baton_fill_native_32_min_amx(&tiles);
    baton_fill_native_128_min_amx(&tiles);
#define BY_EITHER(name, NAME, ...) kernels->dtypes[BATON_##NAME].linear = linear_native;
    BATON_NATIVE_DTYPES(BY_EITHER)
}

void baton_amx_fill(struct baton_kernels *kernels, const struct baton_kernels *avx512vnni)
{
    *kernels = vectors = *avx512vnni;
    kernels->name = "amx";
    kernels->dtypes[BATON_F32] = (struct baton_dtype_kernels){
        .row_bytes = baton_split_row_bytes, .quantize = split_rows, .linear = linear_f32_by_tiles};
    kernels->dtypes[BATON_BF16].linear = linear_bf16_by_tiles;
    kernels->dtypes[BATON_Q8].linear = linear_q8_by_rows;
    fill_native(kernels);
    kernels->attend = attend_some_by_tiles;
}
