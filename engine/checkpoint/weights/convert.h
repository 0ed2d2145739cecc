/* Element types of weight files, and the conversion of three of them to float.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_CHECKPOINT_WEIGHTS_CONVERT_H
#define BATON_ENGINE_CHECKPOINT_WEIGHTS_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/checkpoint/weights/blocks.h"

/* safetensors' names, and the bytes of one element. */
#define BATON_ELEMENTS(X)                                                                          \
    X(BOOL, 1)                                                                                     \
    X(U8, 1)                                                                                       \
    X(I8, 1)                                                                                       \
    X(F8_E4M3, 1)                                                                                  \
    X(F8_E5M2, 1)                                                                                  \
    X(I16, 2)                                                                                      \
    X(U16, 2)                                                                                      \
    X(F16, 2)                                                                                      \
    X(BF16, 2)                                                                                     \
    X(I32, 4)                                                                                      \
    X(U32, 4)                                                                                      \
    X(F32, 4)                                                                                      \
    X(F64, 8)                                                                                      \
    X(I64, 8)                                                                                      \
    X(U64, 8)

enum baton_element {
#define X(name, bytes) BATON_ELEMENT_##name,
    BATON_ELEMENTS(X)
#undef X
        BATON_ELEMENT_BLOCKS, /* blocks of values instead of single elements (blocks.h) */
    BATON_ELEMENT_CODED       /* codes and scales in several tensors (coded.h) */
};

/* Returns false for a name that is not in the table. */
bool baton_element_parse(const char *name, enum baton_element *dtype);
/* Return the name and the size of one element; "blocks" or "codes" and 0 without. */
const char *baton_element_name(enum baton_element dtype);
size_t baton_element_bytes(enum baton_element dtype);

/* Returns the element type of tensors of a block type: F32, F16, BF16 or BLOCKS. */
enum baton_element baton_element_of_block(enum baton_block_type type);

/* True for the types that baton_convert accepts: F32, F16 and BF16. */
bool baton_element_converts(enum baton_element dtype);

/* Converts n elements at source (any alignment, little-endian) to float, exactly. */
void baton_convert(enum baton_element dtype, const uint8_t *source, size_t n, float *floats);

#endif
