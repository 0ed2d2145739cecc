/* Element types of weight files, and the way from three of them to float.
 *
 * Ownership: nothing.
 * Threading: pure functions.
 * Errors:    a dtype outside the table parses as false.
 */
#ifndef BATON_ENGINE_FORMATS_CONVERT_H
#define BATON_ENGINE_FORMATS_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* safetensors' names; bytes of one element. */
#define BATON_DTYPES(X)                                                                            \
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

enum baton_dtype {
#define X(name, bytes) BATON_DTYPE_##name,
    BATON_DTYPES(X)
#undef X
};

bool baton_dtype_parse(const char *name, enum baton_dtype *dtype);
const char *baton_dtype_name(enum baton_dtype dtype);
size_t baton_dtype_bytes(enum baton_dtype dtype);

/* F32, F16 and BF16 have a way to float. */
bool baton_dtype_converts(enum baton_dtype dtype);

/* n elements at source (any alignment, little-endian) as float, exactly. */
void baton_convert(enum baton_dtype dtype, const uint8_t *source, size_t n, float *floats);

#endif
