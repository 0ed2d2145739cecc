/* Products with bf16 and q8 panels are cut into tiles: one panel times as many rows of x as the
 * registers hold sums of while the panel goes by. Part of sets/bf16.c and sets/q8.c;
 * native/linear.h cuts native panels likewise.
 *
 * Up to MOST_ROWS rows read a panel from memory once, front to back; more rows find it in the
 * second-level cache, where the rows of a block stay while all panels go by.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_LINEAR_TILES_H
#define BATON_ENGINE_KERNELS_LINEAR_TILES_H

#include "engine/kernels/linear/epilogue.h"
#include "engine/kernels/linear/quantize.h"

#if ALL_REG_BYTES == 2048
enum { MOST_ROWS = 24 };
#elif defined(__ARM_FEATURE_MATMUL_INT8)
enum { MOST_ROWS = 6 }; /* pairs of rows: dot_pairs.h */
#elif ALL_REG_BYTES == 512
enum { MOST_ROWS = 5 };
#else
enum { MOST_ROWS = 2 };
#endif

enum {
    BLOCK_ROWS = 96, /* four full tiles, whose rows fit the second-level cache */
    LINE_BYTES = 64,
    FETCH_NEAR = 512, /* bytes by which weights are prefetched before their use */
    FETCH_FAR = 12 << 10,
    ROWS_PER_POINTER = 3,
    N_POINTERS = (MOST_ROWS + ROWS_PER_POINTER - 1) / ROWS_PER_POINTER
};

#define UNROLL _Pragma("GCC unroll 24") /* over as many rows as there can be */

struct tile {
    const char *panel, *x; /* the first row of it */
    size_t row_bytes;
    int n_in;       /* as stored */
    float *results; /* [rows][16] */
};

typedef void tile_fn(const struct tile *tile);

/* A function of its own for each number of rows: when all are inlined into one function, the
 * compiler spills registers. */
#define TILE_FUNCTION(name, n_rows)                                                                \
    static __attribute__((noinline)) void name##_##n_rows(const struct tile *tile)                 \
    {                                                                                              \
        name(tile, n_rows);                                                                        \
    }
#define TILE_ENTRY(name, n_rows) [n_rows] = name##_##n_rows,

#define TILES_1_2(X, name)   X(name, 1) X(name, 2)
#define TILES_3_5(X, name)   X(name, 3) X(name, 4) X(name, 5)
#define TILES_6_11(X, name)  X(name, 6) X(name, 7) X(name, 8) X(name, 9) X(name, 10) X(name, 11)
#define TILES_12_17(X, name) X(name, 12) X(name, 13) X(name, 14) X(name, 15) X(name, 16) X(name, 17)
#define TILES_18_23(X, name) X(name, 18) X(name, 19) X(name, 20) X(name, 21) X(name, 22) X(name, 23)
#if ALL_REG_BYTES == 2048
#define TILES(X, name)                                                                             \
    TILES_1_2(X, name)                                                                             \
    TILES_3_5(X, name)                                                                             \
    TILES_6_11(X, name) TILES_12_17(X, name) TILES_18_23(X, name) X(name, 24)
#elif defined(__ARM_FEATURE_MATMUL_INT8)
#define TILES(X, name) TILES_1_2(X, name) TILES_3_5(X, name) X(name, 6)
#elif ALL_REG_BYTES == 512
#define TILES(X, name) TILES_1_2(X, name) TILES_3_5(X, name)
#else
#define TILES(X, name) TILES_1_2(X, name)
#endif

/* Defines the function `name` for every number of rows, and `names`, the table of these functions
 * by their number of rows. */
#define TILE_TABLE(name)                                                                           \
    TILES(TILE_FUNCTION, name)                                                                     \
    static tile_fn *const name##s[MOST_ROWS + 1] = {TILES(TILE_ENTRY, name)}

/* Prefetches weights (measured on Zen 4). Few rows leave most of that to the hardware; with more
 * rows so much time passes between two lines of a panel that its own prefetching falls behind. */
INLINE void fetch_ahead(const char *words, bool few_rows)
{
    __builtin_prefetch(words + (few_rows ? FETCH_NEAR : FETCH_FAR), 0, 2);
}

/* Rows that are read side by side. x86 addresses three of them from one pointer, so that the
 * pointers to 24 fit its registers. */
struct row_cursor {
    const char *third[N_POINTERS];
    size_t row_bytes;
};

INLINE struct row_cursor cursor_at(const char *x, size_t row_bytes, int n_rows)
{
    struct row_cursor cursor = {.row_bytes = row_bytes};
    UNROLL
    for (int r = 0; r < n_rows; r += ROWS_PER_POINTER)
        cursor.third[r / ROWS_PER_POINTER] = x + (size_t)r * row_bytes;
    return cursor;
}

INLINE const char *row_of(const struct row_cursor *cursor, int r)
{
    return cursor->third[r / ROWS_PER_POINTER] + (size_t)(r % ROWS_PER_POINTER) * cursor->row_bytes;
}

INLINE void advance(struct row_cursor *cursor, size_t n_bytes, int n_rows)
{
    UNROLL
    for (int i = 0; i * ROWS_PER_POINTER < n_rows; i++) {
        cursor->third[i] += n_bytes;
        __asm__("" : "+r"(cursor->third[i])); /* keeps the compiler from a pointer for each row */
    }
}

/* Epilogues stay out of the tiles, whose registers are full of sums. */
static void finish_rows(const struct baton_linear *job, int out, int end_out, int row, int n_rows,
                        const float *results)
{
    finish_block(job, row, n_rows, out, end_out - out < LANES ? end_out : out + LANES, results,
                 LANES);
}

/* Multiplies the panel of output out with rows row..end_row-1, in as few and as equal tiles as
 * possible: a tile of one row would read the whole panel once more for little work. */
static inline void run_panel(const struct baton_linear *job, int out, int end_out, int row,
                             int end_row, tile_fn *const tiles[])
{
    _Alignas(LINE_BYTES) float results[MOST_ROWS * LANES];
    const struct baton_packed *w = job->weights;
    size_t panel_bytes = baton_packed_panel_bytes(w->dtype, w->n_in);
    struct tile tile = {.panel = (const char *)w->data + (size_t)(out / BATON_PANEL) * panel_bytes,
                        .row_bytes = baton_quantized_row_bytes(w->dtype, w->n_in),
                        .n_in = baton_packed_n_in(w->dtype, w->n_in),
                        .results = results};
    for (int n; row < end_row; row += n) {
        int n_left = end_row - row, n_tiles = (n_left + MOST_ROWS - 1) / MOST_ROWS;
        n = (n_left + n_tiles - 1) / n_tiles;
        tile.x = (const char *)job->x + (size_t)row * tile.row_bytes;
        tiles[n](&tile);
        finish_rows(job, out, end_out, row, n, results);
    }
}

/* Rows are the outer loop: a block of them stays in the second-level cache while the panels, which
 * are larger, go by once for each block. */
static inline void run_tiles(const struct baton_linear *job, int first_out, int end_out,
                             tile_fn *const tiles[])
{
    for (int row = 0; row < job->n_rows; row += BLOCK_ROWS) {
        int end_row = job->n_rows - row < BLOCK_ROWS ? job->n_rows : row + BLOCK_ROWS;
        for (int out = first_out; out < end_out; out += BATON_PANEL)
            run_panel(job, out, end_out, row, end_row, tiles);
    }
}

#endif
