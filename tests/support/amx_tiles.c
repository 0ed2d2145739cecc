#include "tests/support/amx_tiles.h"

#include <immintrin.h>
#include <string.h>

enum { LANES = 16, FLUSH_DENORMALS = 1 << 15 | 1 << 6, MASK_ALL = 0x3f << 7 };

typedef float vec __attribute__((vector_size(AMX_ROW_BYTES)));
typedef uint32_t words __attribute__((vector_size(AMX_ROW_BYTES)));
typedef int32_t ints __attribute__((vector_size(AMX_ROW_BYTES)));

#define WIDE __attribute__((target("avx512f"), noinline))

/* The operand of LDTILECFG. */
struct config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

_Static_assert(sizeof(struct config) == AMX_CONFIG_BYTES, "no padding");

static const char *check_config(const struct config *config)
{
    if (config->palette > 1)
        return "the palette is neither 0 nor 1";
    if (config->start_row)
        return "a start row is not emulated";
    for (size_t i = 0; i < sizeof config->reserved; i++)
        if (config->reserved[i])
            return "a reserved byte of the configuration is not 0";
    for (int i = 0; i < 16; i++) {
        if (config->row_bytes[i] > AMX_ROW_BYTES || config->rows[i] > AMX_ROWS)
            return "a tile is configured larger than it is";
        if (!config->row_bytes[i] != !config->rows[i])
            return "a tile is configured by half";
        if (i >= AMX_TILES && config->rows[i])
            return "a tile is configured that does not exist";
    }
    return NULL;
}

const char *amx_configure(struct amx_tiles *tiles, const uint8_t from[AMX_CONFIG_BYTES])
{
    struct config config;
    memcpy(&config, from, sizeof config);
    const char *problem = check_config(&config);
    if (problem)
        return problem;
    memset(tiles, 0, sizeof *tiles);
    if (config.palette) {
        memcpy(tiles->row_bytes, config.row_bytes, sizeof tiles->row_bytes);
        memcpy(tiles->n_rows, config.rows, sizeof tiles->n_rows);
        tiles->is_configured = true;
    }
    return NULL;
}

void amx_store_config(const struct amx_tiles *tiles, uint8_t to[AMX_CONFIG_BYTES])
{
    struct config config = {.palette = tiles->is_configured};
    memcpy(config.row_bytes, tiles->row_bytes, sizeof tiles->row_bytes);
    memcpy(config.rows, tiles->n_rows, sizeof tiles->n_rows);
    memcpy(to, &config, sizeof config);
}

void amx_release(struct amx_tiles *tiles)
{
    memset(tiles, 0, sizeof *tiles);
}

static bool has_tile(const struct amx_tiles *tiles, int tile)
{
    return tiles->is_configured && tiles->n_rows[tile];
}

static const char *const not_configured = "the tile is not configured";

const char *amx_zero(struct amx_tiles *tiles, int tile)
{
    if (!has_tile(tiles, tile))
        return not_configured;
    memset(tiles->rows[tile], 0, sizeof tiles->rows[tile]);
    return NULL;
}

const char *amx_load(struct amx_tiles *tiles, int tile, const char *from, ptrdiff_t stride)
{
    if (!has_tile(tiles, tile))
        return not_configured;
    memset(tiles->rows[tile], 0, sizeof tiles->rows[tile]);
    for (int r = 0; r < tiles->n_rows[tile]; r++)
        memcpy(tiles->rows[tile][r], from + r * stride, tiles->row_bytes[tile]);
    return NULL;
}

const char *amx_store(const struct amx_tiles *tiles, int tile, char *to, ptrdiff_t stride)
{
    if (!has_tile(tiles, tile))
        return not_configured;
    for (int r = 0; r < tiles->n_rows[tile]; r++)
        memcpy(to + r * stride, tiles->rows[tile][r], tiles->row_bytes[tile]);
    return NULL;
}

/* ---- products ---- */

static const char *check_shapes(const struct amx_tiles *tiles, int to, int a, int b)
{
    if (!has_tile(tiles, to) || !has_tile(tiles, a) || !has_tile(tiles, b))
        return not_configured;
    if (to == a || to == b || a == b)
        return "a product needs three different tiles";
    if (tiles->n_rows[a] != tiles->n_rows[to] || tiles->row_bytes[b] != tiles->row_bytes[to] ||
        tiles->row_bytes[a] != 4 * tiles->n_rows[b] || tiles->row_bytes[to] % 4)
        return "the tiles' shapes do not fit";
    return NULL;
}

/* One row of a times b is added to a row of sums. */
struct row_product {
    const uint8_t *a;
    const uint8_t (*b)[AMX_ROW_BYTES];
    uint8_t *sums;
    int n_words; /* of a, which is the rows of b */
};

static uint32_t word_of(const struct row_product *row, int k)
{
    uint32_t word;
    memcpy(&word, row->a + sizeof word * (size_t)k, sizeof word);
    return word;
}

WIDE static void multiply_bf16(const struct row_product *row)
{
    vec even = {0}, odd = {0}, sums;
    for (int k = 0; k < row->n_words; k++) {
        words a = word_of(row, k) - (words){0}, b;
        memcpy(&b, row->b[k], sizeof b);
        even = (vec)_mm512_fmadd_ps((__m512)(a << 16), (__m512)(b << 16), (__m512)even);
        odd =
            (vec)_mm512_fmadd_ps((__m512)(a & 0xffff0000u), (__m512)(b & 0xffff0000u), (__m512)odd);
    }
    memcpy(&sums, row->sums, sizeof sums);
    sums += even + odd;
    memcpy(row->sums, &sums, sizeof sums);
}

/* MXCSR makes the CPU round as AMX does, whatever the program's own setting. */
static void multiply_bf16_flushing(const struct row_product *row)
{
    unsigned own = _mm_getcsr();
    _mm_setcsr(MASK_ALL | FLUSH_DENORMALS);
    multiply_bf16(row);
    _mm_setcsr(own);
}

WIDE static void multiply_bytes(const struct row_product *row, bool a_is_signed, bool b_is_signed)
{
    words sums;
    memcpy(&sums, row->sums, sizeof sums);
    for (int k = 0; k < row->n_words; k++) {
        words a = word_of(row, k) - (words){0}, b;
        memcpy(&b, row->b[k], sizeof b);
        for (int i = 0; i < 4; i++, a >>= 8, b >>= 8) {
            words byte_of_a = a_is_signed ? (words)((ints)(a << 24) >> 24) : a & 255;
            words byte_of_b = b_is_signed ? (words)((ints)(b << 24) >> 24) : b & 255;
            sums += byte_of_a * byte_of_b;
        }
    }
    memcpy(row->sums, &sums, sizeof sums);
}

const char *amx_multiply(struct amx_tiles *tiles, enum amx_product product, int to, int a, int b)
{
    const char *problem = check_shapes(tiles, to, a, b);
    if (problem)
        return problem;
    for (int r = 0; r < tiles->n_rows[to]; r++) {
        struct row_product row = {.a = tiles->rows[a][r],
                                  .b = (const uint8_t(*)[AMX_ROW_BYTES])tiles->rows[b],
                                  .sums = tiles->rows[to][r],
                                  .n_words = tiles->n_rows[b]};
        if (product == AMX_BF16)
            multiply_bf16_flushing(&row);
        else
            multiply_bytes(&row, product == AMX_SSD || product == AMX_SUD,
                           product == AMX_SSD || product == AMX_USD);
    }
    return NULL;
}
