/* The tensor types of ggml: blocks of values that share scales, and their exact decoding to float.
 *
 * A block is its bytes below in this order; f16 and u16 are little-endian, nothing is aligned.
 * "nibbles" are bytes whose low halves are the first half of the codes and whose high halves are
 * the second half; of a block of 256, each run of 64 codes has its own 32 such bytes (Q4_K, Q5_K),
 * each run of 32 its own 16 (IQ4_XS). All products below are exact in a float; the subtraction of a
 * minimum is the only rounding, so neither the order nor a fused multiply-add matters.
 *
 *     type    values bytes  block                                             value
 *     Q4_0     32     18    f16 d, 16 nibbles                                 d (q - 8)
 *     Q4_1     32     20    f16 d, f16 m, 16 nibbles                          d q + m
 *     Q5_0     32     22    f16 d, u32 fifth bits (bit i of code i), 16       d (q - 16)
 *     Q5_1     32     24    f16 d, f16 m, u32 fifth bits, 16 nibbles          d q + m
 *     Q8_0     32     34    f16 d, 32 int8                                    d q
 *     Q2_K    256     84    16 (scale | min << 4), 64 pairs, f16 d, dmin      d s q - dmin m
 *     Q3_K    256    110    32 third bits, 64 pairs, 12 scales, f16 d         d (s - 32)(q - 4)
 *     Q4_K    256    144    f16 d, dmin, 12 scales and mins, 128 nibbles      d s q - dmin m
 *     Q5_K    256    176    f16 d, dmin, 12, 32 fifth bits, 128 nibbles       d s q - dmin m
 *     Q6_K    256    210    128 low nibbles, 64 high pairs, 16 int8 s, f16 d  d s (q - 32)
 *     IQ4_NL   32     18    f16 d, 16 nibbles                                 d T[q]
 *     IQ4_XS  256    136    f16 d, u16, 4 (s: 6 bits), 128 nibbles            d (s - 32) T[q]
 *     MXFP4    32     17    u8 e, 16 nibbles                                  2^(e - 128) T[q]
 *     NVFP4    64     36    4 E4M3 s, 4 runs of 8 nibbles                     s T[q] / 2
 *     Q1_0    128     18    f16 d, 128 bits                                   d (2 q - 1)
 *     Q2_0     64     18    f16 d, 64 pairs                                   d (q - 1)
 *     TQ1_0   256     54    52 bytes of five or four digits to base 3, f16 d  d (q - 1)
 *     TQ2_0   256     66    64 pairs, f16 d                                   d (q - 1)
 *     IQ3_XXS 256     98    f16 d, 64 indices, 8 words                        d/4 (2s + 1) +-G
 *     IQ3_S   256    110    f16 d, 64 indices, 64 ninth bits, 256 signs, 4 s  d (2s + 1) +-G
 *     IQ2_XXS 256     66    f16 d, 8 (4 indices, word)                        d/8 (2s + 1) +-G
 *     IQ2_XS  256     74    f16 d, 32 (u16: index, 7 signs), 8 s              d/8 (2s + 1) +-G
 *     IQ2_S   256     82    f16 d, 32 indices, 256 signs, 32 high bits, 8 s   d/8 (2s + 1) +-G
 *     IQ1_S   256     50    f16 d, 32 indices, 8 (u16: 3 high bits, s, sign)  d/8 (2s + 1)(G +- 1)
 *     IQ1_M   256     56    32 indices, 32 (3 high bits, sign), 4 (s, d)      d/8 (2s + 1)(G +- 1)
 *
 * A word of IQ2_XXS and IQ3_XXS is four times seven signs and s. G is a point of a grid (grids.h)
 * of four values (IQ3) or eight; the signs of eight values whose eighth sign is not stored make an
 * even number of negative ones.
 *
 * Source: ggml's ggml-common.h and ggml-quants.c (the blocks); OCP Microscaling Formats
 * Specification 1.0 (MXFP4; in ggml its scale 255 is not NaN, and its code 8 is +0).
 *
 * Ownership: nothing is kept.
 * Threading: pure.
 * Errors:    INVALID for a type that is not in the table.
 */
#ifndef BATON_ENGINE_CHECKPOINT_WEIGHTS_BLOCKS_H
#define BATON_ENGINE_CHECKPOINT_WEIGHTS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "engine/checkpoint/weights/grids.h"

/* ggml's name and id; values and bytes of a block. */
#define BATON_BLOCK_TYPES(X)                                                                       \
    X(F32, 0, 1, 4)                                                                                \
    X(F16, 1, 1, 2)                                                                                \
    X(BF16, 30, 1, 2)                                                                              \
    X(Q8_0, 8, 32, 34)                                                                             \
    X(Q4_0, 2, 32, 18)                                                                             \
    X(Q4_1, 3, 32, 20)                                                                             \
    X(Q5_0, 6, 32, 22)                                                                             \
    X(Q5_1, 7, 32, 24)                                                                             \
    X(Q2_K, 10, 256, 84)                                                                           \
    X(Q3_K, 11, 256, 110)                                                                          \
    X(Q4_K, 12, 256, 144)                                                                          \
    X(Q5_K, 13, 256, 176)                                                                          \
    X(Q6_K, 14, 256, 210)                                                                          \
    X(IQ4_NL, 20, 32, 18)                                                                          \
    X(IQ4_XS, 23, 256, 136)                                                                        \
    X(MXFP4, 39, 32, 17)                                                                           \
    X(NVFP4, 40, 64, 36)                                                                           \
    X(Q1_0, 41, 128, 18)                                                                           \
    X(Q2_0, 42, 64, 18)                                                                            \
    X(TQ1_0, 34, 256, 54)                                                                          \
    X(TQ2_0, 35, 256, 66)                                                                          \
    X(IQ3_XXS, 18, 256, 98)                                                                        \
    X(IQ3_S, 21, 256, 110)                                                                         \
    X(IQ2_XXS, 16, 256, 66)                                                                        \
    X(IQ2_XS, 17, 256, 74)                                                                         \
    X(IQ2_S, 22, 256, 82)                                                                          \
    X(IQ1_S, 19, 256, 50)                                                                          \
    X(IQ1_M, 29, 256, 56)

enum baton_block_type {
#define X(name, id, values, bytes) BATON_BLOCK_##name,
    BATON_BLOCK_TYPES(X)
#undef X
        BATON_N_BLOCK_TYPES
};

enum {
    BATON_BLOCK_MAX_VALUES = 256,
    BATON_BLOCK_MAX_BYTES = 210,
    BATON_BLOCK_MAX_GROUPS = 16,
    BATON_BLOCK_MAX_POINTS = 64
};

/* Returns ggml's name: "Q4_K". */
const char *baton_block_type_name(enum baton_block_type type);
/* Returns false for a name that is not in the table; names are upper case, as above. */
bool baton_block_type_parse(const char *name, enum baton_block_type *type);
/* Returns the type of ggml's number; INVALID with the name of an unsupported type, or with an
 * unknown number. The caller adds file and tensor. */
enum baton_err baton_block_type_of_id(uint32_t id, enum baton_block_type *type,
                                      struct baton_why *why) BATON_MUST_CHECK;

/* Return the number of values and bytes of one block. */
size_t baton_block_values(enum baton_block_type type);
size_t baton_block_bytes(enum baton_block_type type);

/* Decodes n_blocks blocks (any alignment) to float [n_blocks][values], bit for bit as ggml does,
 * except for a NaN's bits. */
void baton_blocks_decode(enum baton_block_type type, const uint8_t *blocks, size_t n_blocks,
                         float *floats);

/* How a type of codes (all but F32, F16, BF16) makes values of them: value i of a block is
 *     d scales[g] (levels ? levels[codes[i]] : codes[i] - zero) - min mins[g],   g = i / n_group
 */
struct baton_block_codes_form {
    int n_bits;               /* of a code: 1 .. 6, 8 */
    int n_group;              /* values that share a scale and a min: 16 or more */
    int zero;                 /* the code of value 0, where there are no levels */
    const int8_t *levels;     /* [16]; NULL: values are evenly spaced */
    bool has_min;             /* otherwise min and mins are 0 */
    int min_scale, max_scale; /* of a group; mins are in 0..max_scale. 0, 0: always 1 */
    bool has_e4m3;            /* scales stand for numbers: see baton_e4m3 */
    bool has_grid;            /* codes follow from points and signs; scales are odd */
};

/* Returns NULL for F32, F16, BF16. */
const struct baton_block_codes_form *baton_block_codes_form(enum baton_block_type type);

/* One block, unpacked. Types of 32 values have one group, whose scale is 1; Q4_1 and Q5_1 have min
 * = -m and mins 1. */
struct baton_block_codes {
    float d, min; /* f16 numbers; MXFP4's d is a power of two */
    int8_t scales[BATON_BLOCK_MAX_GROUPS];
    uint8_t mins[BATON_BLOCK_MAX_GROUPS];
    uint8_t codes[BATON_BLOCK_MAX_VALUES];     /* in the order of the values */
    uint16_t points[BATON_BLOCK_MAX_POINTS];   /* has_grid only: indices of points of the grid, */
    uint8_t signs[BATON_BLOCK_MAX_VALUES / 8]; /* and a bit for each value that is negative (IQ1: */
};                                             /* from which 1 is subtracted) */

/* Decodes n codes of a group to float. scale is d scales[g], min is min mins[g]. */
void baton_block_decode_group(const struct baton_block_codes_form *form, float scale, float min,
                              const uint8_t *codes, size_t n, float *floats);

/* Unpack a block of a type with codes, and pack one. pack needs codes, scales and mins in their
 * ranges and finite d and min, which it rounds to f16. MXFP4's d must be a power of two. */
void baton_block_unpack(enum baton_block_type type, const uint8_t *block,
                        struct baton_block_codes *codes);
void baton_block_pack(enum baton_block_type type, const struct baton_block_codes *codes,
                      uint8_t *block);

/* The number of a scale of NVFP4: E4M3 without a sign, of which 127 is no NaN. */
static inline float baton_e4m3(int code)
{
    int exponent = code >> 3, mantissa = code & 7;
    return exponent ? (float)(8 + mantissa) * (float)(1 << exponent) * 0x1p-10F
                    : (float)mantissa * 0x1p-9F;
}

static inline bool baton_block_has_grid(enum baton_block_type type)
{
    return type >= BATON_BLOCK_IQ3_XXS && type <= BATON_BLOCK_IQ1_M;
}

/* The grid of such a type. */
static inline enum baton_grid_id baton_block_grid(enum baton_block_type type)
{
    return type == BATON_BLOCK_IQ1_M ? BATON_GRID_IQ1
                                     : (enum baton_grid_id)(type - BATON_BLOCK_IQ3_XXS);
}

/* The codes of a point, of whose values the i-th is negative if bit i of signs is set. */
void baton_grid_codes(enum baton_block_type type, int point, uint8_t signs, uint8_t *codes);

/* Convert half of an MXFP4 block's scale, 2^(exponent - 128), from its exponent and back. Half,
 * because the levels are doubled. */
float baton_mxfp4_half_scale(uint8_t exponent);
uint8_t baton_mxfp4_exponent(float half_scale);

/* MXFP4 in gpt-oss checkpoints has the values of ggml's MXFP4 in another order: 4-bit floats
 * (E2M1), 32 of which share a scale.
 *
 *     blocks   16 bytes a block: values 2i and 2i + 1 are the low and the high half of byte i
 *     scales   one byte a block, E8M0: 2^(byte - 127); 255 is NaN
 *
 *     nibble   0  1   2  3   4  5  6  7  8..15
 *     value    0  .5  1  1.5 2  3  4  6  the same, negative (0: positive)
 *
 * Source: OCP Microscaling Formats (MX) Specification 1.0, sections 5.3 and 5.4. */
enum { BATON_MXFP4_BLOCK = 32, BATON_MXFP4_BLOCK_BYTES = 16 };

/* Decodes n_blocks blocks and their scales to float [n_blocks][32], exactly. */
void baton_mxfp4_decode(const uint8_t *blocks, const uint8_t *scales, size_t n_blocks,
                        float *floats);

#endif
