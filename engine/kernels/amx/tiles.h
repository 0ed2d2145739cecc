/* Configuration, loads and products of AMX's tiles; part of sets/amx.c and sets/native_*.c.
 *
 * A tile of rows is up to 16 rows of x; a panel's tile is one step of 16 outputs' weights. One
 * configuration serves a whole call.
 *
 * Pure but for the tiles of the calling thread, which the caller has configured.
 */
#ifndef BATON_ENGINE_KERNELS_AMX_TILES_H
#define BATON_ENGINE_KERNELS_AMX_TILES_H

#include "engine/kernels/linear/epilogue.h"
#include "engine/kernels/pack/quantized.h"

enum {
    LINE_BYTES = 64,
    TILE_ROWS = 16,
    TILE_BYTES = TILE_ROWS * LINE_BYTES,
    TILE_FLOATS = TILE_ROWS * LANES,
    PAIR = 2, /* tiles of rows, and panels, that are multiplied with each other at a time */
    FETCH_AHEAD = 2 << 10 /* bytes by which one tile of rows prefetches weights before their use */
};

/* The intrinsics paste these into the instructions' text, so an enum would not do. SUMS_ij has the
 * sums of tile of rows i and panel j. */
#define SUMS_00 0
#define SUMS_01 1
#define SUMS_10 2
#define SUMS_11 3
#define ROWS_0  4
#define ROWS_1  5
#define PANEL_0 6
#define PANEL_1 7

/* The 64 bytes of memory that LDTILECFG reads. */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* GCC 12's intrinsics do not declare the memory that they read and write: without this barrier the
 * compiler may drop stores before a load of a tile, or move later stores before it. */
#define KEEP_STORES(at) __asm__ volatile("" : : "r"(at) : "memory")

#define LOAD_TILE(tile, from, stride)                                                              \
    do {                                                                                           \
        KEEP_STORES(from);                                                                         \
        _tile_loadd(tile, from, stride);                                                           \
        KEEP_STORES(from);                                                                         \
    } while (0)

/* height is that of tiles of rows, 1..16. n_words are the words of four bytes that a step reads of
 * a row, 1..16. */
static void configure_tiles(int height, int n_words)
{
    struct tile_config config = {.palette = 1};
    for (int i = 0; i <= PANEL_1; i++) {
        bool is_of_rows = i == ROWS_0 || i == ROWS_1;
        config.row_bytes[i] = (uint16_t)(is_of_rows ? n_words * 4 : LINE_BYTES);
        config.rows[i] = (uint8_t)(i < PANEL_0 ? height : n_words);
    }
    KEEP_STORES(&config);
    _tile_loadconfig(&config);
}

/* ---- prefetches of weights ---- */

/* The lines of one or two panels that a pass prefetches: n_lines of each panel at every step. */
struct fetch {
    const char *at[PAIR];
    int n_lines;
};

INLINE void fetch_step(struct fetch *fetch, int n_panels)
{
    for (int p = 0; p < n_panels; p++)
        for (int i = 0; i < fetch->n_lines; i++, fetch->at[p] += LINE_BYTES)
            __builtin_prefetch(fetch->at[p], 0, 2);
}

/* The share of pass number `pass` of n_passes with n_steps each, which together prefetch n_bytes of
 * either panel. */
INLINE struct fetch fetch_share(const char *first, const char *second, size_t n_bytes, int pass,
                                int n_passes, int n_steps)
{
    size_t n_asking = (size_t)n_passes * (size_t)n_steps;
    size_t n_lines = (n_bytes / LINE_BYTES + n_asking - 1) / n_asking;
    size_t skip = (size_t)pass * (size_t)n_steps * n_lines * LINE_BYTES;
    return (struct fetch){{first + skip, second + skip}, (int)n_lines};
}

/* ---- one or two tiles of rows times one or two panels ---- */

struct pass {
    const char *rows[PAIR], *panels[PAIR];
    size_t row_bytes; /* from one row to the next */
    int n_tiles, n_panels, n_steps;
    struct fetch fetch;
    float (*sums)[PAIR][TILE_FLOATS]; /* [n_tiles], each [panels][rows][16 outputs] */
};

/* at is in bytes from the pass's beginning. */
INLINE void load_rows(const struct pass *pass, size_t at)
{
    LOAD_TILE(ROWS_0, pass->rows[0] + at, pass->row_bytes);
    if (pass->n_tiles > 1)
        LOAD_TILE(ROWS_1, pass->rows[1] + at, pass->row_bytes);
}

INLINE void load_panels(const struct pass *pass, size_t at)
{
    LOAD_TILE(PANEL_0, pass->panels[0] + at, LINE_BYTES);
    if (pass->n_panels > 1)
        LOAD_TILE(PANEL_1, pass->panels[1] + at, LINE_BYTES);
}

INLINE void add_products(const struct pass *pass)
{
    _tile_dpbf16ps(SUMS_00, ROWS_0, PANEL_0);
    if (pass->n_panels > 1)
        _tile_dpbf16ps(SUMS_01, ROWS_0, PANEL_1);
    if (pass->n_tiles > 1)
        _tile_dpbf16ps(SUMS_10, ROWS_1, PANEL_0);
    if (pass->n_tiles > 1 && pass->n_panels > 1)
        _tile_dpbf16ps(SUMS_11, ROWS_1, PANEL_1);
}

INLINE void zero_sums(void)
{
    _tile_zero(SUMS_00);
    _tile_zero(SUMS_01);
    _tile_zero(SUMS_10);
    _tile_zero(SUMS_11);
}

INLINE void load_sums(const struct pass *pass)
{
    LOAD_TILE(SUMS_00, pass->sums[0][0], LINE_BYTES);
    if (pass->n_panels > 1)
        LOAD_TILE(SUMS_01, pass->sums[0][1], LINE_BYTES);
    if (pass->n_tiles > 1)
        LOAD_TILE(SUMS_10, pass->sums[1][0], LINE_BYTES);
    if (pass->n_tiles > 1 && pass->n_panels > 1)
        LOAD_TILE(SUMS_11, pass->sums[1][1], LINE_BYTES);
}

INLINE void store_sums(const struct pass *pass)
{
    _tile_stored(SUMS_00, pass->sums[0][0], LINE_BYTES);
    if (pass->n_panels > 1)
        _tile_stored(SUMS_01, pass->sums[0][1], LINE_BYTES);
    if (pass->n_tiles > 1)
        _tile_stored(SUMS_10, pass->sums[1][0], LINE_BYTES);
    if (pass->n_tiles > 1 && pass->n_panels > 1)
        _tile_stored(SUMS_11, pass->sums[1][1], LINE_BYTES);
}

#endif
