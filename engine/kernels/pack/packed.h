/* Weights of a matrix [n_out][n_in] as the kernels read them: panels of 16 outputs, so that one
 * vector holds the same input's weights of 16 outputs and a panel is read from front to back.
 *
 *     f32    panel = [n_in] { 16 float }
 *     bf16   panel = [K/2] { 16 x 2 bf16 }                 K = n_in rounded up to 32; the order of
 *                                                          VDPBF16PS and of AMX's bf16 tiles
 *     q8     panel = [K/64] { 16 float scale, [16] { 16 x 4 uint8 } }
 *                                                          K = n_in rounded up to 64; weight =
 *                                                          (byte - 128) * scale of its group of 64;
 *                                                          the order of VPDPBUSD and of AMX's int8
 *                                                          tiles
 *     f16    panel = [K] { 16 f16 }                        K = n_in rounded up to 2
 *     other native dtypes: see pack/native_panels.h
 *
 * The native dtypes are what GGUF files hold: a matrix keeps its file's format, and the blocks of
 * 16 outputs are laid out as a panel without being rounded again.
 *
 * Outputs past n_out and inputs past n_in are zero. BATON_ROWS is f32 as [n_out][n_in], row-major,
 * for OpenBLAS; nothing else reads it.
 *
 * Ownership: data is borrowed: a piece of the model's memory or of a mapped file.
 * Threading: pure functions; different panels may be written by different threads.
 * Errors:    none; shapes are the caller's promise.
 */
#ifndef BATON_ENGINE_KERNELS_PACK_PACKED_H
#define BATON_ENGINE_KERNELS_PACK_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/checkpoint/weights/blocks.h"

/* A gate and an up projection of F outputs each are multiplied together as one matrix, whose panels
 * alternate: 16 outputs of the gate, the same 16 of up, and so on, so that the thread that computes
 * an output of up has that of the gate. Outputs past F are zero. */
static inline int baton_gated_n_out(int n_ff)
{
    return (n_ff + 15) / 16 * 32;
}

/* Whether row `out` of such a matrix belongs to up, and which of the F outputs it is. */
static inline bool baton_is_up_row(int out)
{
    return out & 16;
}

static inline int baton_gated_output(int out)
{
    return out / 32 * 16 + out % 16;
}

enum baton_dtype {
    BATON_F32,
    BATON_BF16,
    BATON_Q8,
    BATON_F16, /* this and the following are native */
    BATON_Q8_0,
    BATON_Q4_0,
    BATON_Q4_1,
    BATON_Q5_0,
    BATON_Q5_1,
    BATON_Q2_K,
    BATON_Q3_K,
    BATON_Q4_K,
    BATON_Q5_K,
    BATON_Q6_K,
    BATON_IQ4_NL,
    BATON_IQ4_XS,
    BATON_MXFP4,
    BATON_NVFP4,
    BATON_Q1_0,
    BATON_Q2_0,
    BATON_TQ1_0,
    BATON_TQ2_0,
    BATON_IQ3_XXS,
    BATON_IQ3_S,
    BATON_IQ2_XXS,
    BATON_IQ2_XS,
    BATON_IQ2_S,
    BATON_IQ1_S,
    BATON_IQ1_M,
    BATON_N_DTYPES
};
enum baton_layout { BATON_PANELS, BATON_ROWS };

enum {
    BATON_PANEL = 16,     /* outputs */
    BATON_BF16_STEP = 32, /* inputs that bf16 rows are padded to */
    BATON_Q8_GROUP = 64,  /* inputs that share a scale */
    BATON_F16_STEP = 2    /* inputs that f16 panels are padded to */
};

/* A dtype's sizes and functions; a row of the table in packed.c. */
struct baton_dtype_ops {
    const char *name;        /* "f32", "bf16", "q8", "q4_k" */
    int step;                /* inputs that are stored together; rows are padded to a multiple */
    size_t panel_step_bytes; /* of one step of a panel; 0 with blocks: see native_panels.h */
    size_t row_step_bytes;   /* of one step of a quantized row; 0: see quantized.h */
    bool rows_are_spread;    /* quantized rows take an odd number of cache lines, else no padding */

    /* Packs a panel from rows [16][n_in]; NULL with blocks. */
    void (*write)(void *panel, const float *rows, size_t n_in);
    /* One output's weights as float [n_in]; NULL with blocks. */
    void (*read)(const void *panel, size_t out, float *row, size_t n_in);
    const struct baton_native *blocks; /* the format of its blocks (native_panels.h); or NULL */
};

extern const struct baton_dtype_ops baton_dtype_ops[BATON_N_DTYPES];

struct baton_packed {
    enum baton_dtype dtype;
    enum baton_layout layout;
    int n_out, n_in;
    void *data; /* aligned to 64 bytes */
};

/* "f32", "bf16", "q8", "f16", "q4_k". */
const char *baton_dtype_name(enum baton_dtype dtype);
bool baton_dtype_parse(const char *name, enum baton_dtype *dtype);

static inline bool baton_dtype_is_native(enum baton_dtype dtype)
{
    return dtype >= BATON_F16;
}

/* Whether the dtype's panels hold blocks: baton_packed_write_blocks makes them from a file's
 * blocks, baton_packed_write from floats if baton_packed_encodes says so. */
static inline bool baton_dtype_has_blocks(enum baton_dtype dtype)
{
    return dtype > BATON_F16;
}

/* The dtype that stores a file's tensors of this type unchanged; and the type of the blocks of a
 * dtype that has them. */
enum baton_dtype baton_dtype_of_blocks(enum baton_block_type type);
enum baton_block_type baton_dtype_block_type(enum baton_dtype dtype);

static inline int baton_packed_n_panels(const struct baton_packed *packed)
{
    return (packed->n_out + BATON_PANEL - 1) / BATON_PANEL;
}

/* The values of a block, of which n_in of a file's rows is a multiple; 1 without blocks. */
int baton_packed_block_values(enum baton_dtype dtype);

/* Inputs as stored: n_in with its padding. */
int baton_packed_n_in(enum baton_dtype dtype, int n_in);

/* Bytes of one panel, and of the whole matrix: a multiple of 64 (ROWS: rounded up to one). */
size_t baton_packed_panel_bytes(enum baton_dtype dtype, int n_in);
size_t baton_packed_bytes(enum baton_dtype dtype, enum baton_layout layout, int n_out, int n_in);

/* Packs one panel from rows [16][n_in]; rows past n_out are zero. bf16 and f16 round to nearest
 * even; f16 limits finite numbers to its range. q8 scales a group by its largest magnitude; blocks
 * are those that encode_blocks.h finds. */
void baton_packed_write(const struct baton_packed *packed, int panel, const float *rows);

/* Packs one panel from blocks: rows[o] is output o's whole row of n_in values, of any alignment;
 * NULL stands for zeros. The last block may extend past n_in. */
void baton_packed_write_blocks(const struct baton_packed *packed, int panel,
                               const uint8_t *const rows[BATON_PANEL]);

/* One output's weights as float [n_in], as the kernels see them. */
void baton_packed_row(const struct baton_packed *packed, int out, float *row);

/* Bytes that one pass over the matrix reads. */
static inline size_t baton_packed_read_bytes(const struct baton_packed *packed)
{
    return baton_packed_bytes(packed->dtype, packed->layout, packed->n_out, packed->n_in);
}

#endif
