/* Points of grids (grids.h) as words of a native panel. Part of unpack.h, which has the types.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_NATIVE_GRID_H
#define BATON_ENGINE_KERNELS_NATIVE_GRID_H

/* ---- points ---- */

#if defined(__AVX512BW__)
/* Looking up in registers takes a third of the time of a gather (measured). */
INLINE __m512i look_up_64(const uint16_t *points, __m512i indices)
{
    return _mm512_permutex2var_epi16(_mm512_load_si512(points), indices,
                                     _mm512_load_si512(points + 32));
}

/* The points of 32 indices below 2 * half; one bit of an index chooses a half. */
#define LOOK_UP(n, half)                                                                           \
    INLINE __m512i look_up_##n(const uint16_t *points, __m512i indices)                            \
    {                                                                                              \
        return _mm512_mask_blend_epi16(_mm512_test_epi16_mask(indices, _mm512_set1_epi16(half)),   \
                                       look_up_##half(points, indices),                            \
                                       look_up_##half(points + (half), indices));                  \
    }
LOOK_UP(128, 64)
LOOK_UP(256, 128)
LOOK_UP(512, 256)
LOOK_UP(1024, 512)
LOOK_UP(2048, 1024)

INLINE __m512i look_up_points(enum baton_grid_id grid, const uint16_t *points, __m512i indices)
{
    switch (baton_grid_n_points(grid)) {
    case 256:
        return look_up_256(points, indices);
    case 512:
        return look_up_512(points, indices);
    case 1024:
        return look_up_1024(points, indices);
    default:
        return look_up_2048(points, indices);
    }
}
#else
/* The point of the index in each lane, and other bits above it. */
INLINE native_bits gather_points(const uint16_t *points, native_bits index)
{
#if defined(__AVX2__)
    return (native_bits)_mm256_i32gather_epi32((const void *)points, (__m256i)index, 2);
#else
    native_bits found;
    for (int i = 0; i < REG_LANES; i++)
        found[i] = points[index[i]];
    return found;
#endif
}
#endif

/* Bits n.. of each lane, of an index's high ones, as they are in the index. */
INLINE native_bits high_bits(struct baton_native native, native_bits high, int point)
{
    const int n_bits = baton_native_point_bits(&native),
              n_high = baton_block_grid(native.type) == BATON_GRID_IQ1 ? 3 : n_bits;
    return (high >> point * n_bits & ((1U << n_high) - 1)) << 8;
}

/* Point number `point` of a unit in each lane's low half, and other bits above it. With AVX-512 it
 * is found together with the one two places before or behind it, which the compiler finds again. */
INLINE native_bits grid_point(struct baton_native native, const uint16_t *points, const char *unit,
                              native_bits high, int point, int i)
{
    native_bits bytes = load_bits(unit + point / 4 * BATON_NATIVE_WORD + i * REG_BYTES);
#if defined(__AVX512BW__)
    const int first = point & ~2;
    native_bits indices = bytes >> first % 4 * 8 & 0x00ff00ff;
    if (baton_native_point_bits(&native))
        indices |= high_bits(native, high, first) | high_bits(native, high, first + 2) << 16;
    native_bits pair =
        (native_bits)look_up_points(baton_block_grid(native.type), points, (__m512i)indices);
    return point == first ? pair : pair >> 16;
#else
    native_bits index = bytes >> point % 4 * 8 & 255;
    if (baton_native_point_bits(&native))
        index |= high_bits(native, high, point);
    return gather_points(points, index);
#endif
}

/* The codes of a word in its bytes: word number `part` of the point. */
INLINE native_bits spread_codes(native_bits point, int n_values, int part)
{
    if (n_values == 4) {
        native_bits codes = point & 0xffff;
        codes = (codes | codes << 8) & 0x00ff00ff;
        return (codes | codes << 4) & 0x0f0f0f0f;
    }
    native_bits codes = point >> part * 8 & 0xff;
    codes = (codes | codes << 12) & 0x000f000f;
    return (codes | codes << 6) & 0x03030303;
}

/* ---- signs ---- */

/* Negates the bytes whose bits are set in signs, a bit for each byte of register i's vector. */
INLINE native_bits negate_bytes(native_bits word, const char *signs, int i)
{
#if defined(__AVX512BW__)
    uint64_t bits;
    memcpy(&bits, signs + i * 8, sizeof bits);
    return (native_bits)_mm512_mask_sub_epi8((__m512i)word, bits, _mm512_setzero_si512(),
                                             (__m512i)word);
#elif defined(__AVX2__)
    int32_t bits;
    memcpy(&bits, signs + i * 4, sizeof bits);
    const __m256i bytes =
                      _mm256_shuffle_epi8(_mm256_set1_epi32(bits),
                                          _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202,
                                                            0x0101010101010101, 0)),
                  places = _mm256_set1_epi64x((long long)0x8040201008040201ULL),
                  mask = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, places), places);
    return (native_bits)_mm256_sub_epi8(_mm256_xor_si256((__m256i)word, mask), mask);
#else
    native_bytes bytes = (native_bytes)word;
    for (int b = 0; b < REG_BYTES; b++)
        if ((uint8_t)signs[i * REG_BYTES / 8 + b / 8] >> b % 8 & 1)
            bytes[b] = (uint8_t)-bytes[b];
    return (native_bits)bytes;
#endif
}

/* The bits of each output's points that are not in the points' bytes. */
INLINE native_bits point_bits(struct baton_native native, const char *unit, int i)
{
    const int n_bytes = baton_native_point_bytes(&native);
    const char *p = unit + baton_native_point_bits_at(&native) + i * REG_LANES * n_bytes;
    return n_bytes == 1   ? (native_bits)widen_bytes(p)
           : n_bytes == 2 ? (native_bits)widen_shorts(p)
                          : load_bits(p);
}

/* Adds 1 to each byte, or subtracts it in the lanes whose lowest bit of signs is set. */
INLINE native_bits add_signs(native_bits word, native_bits signs)
{
    const native_bits ones = -(signs & 1) | 0x01010101U;
    return (native_bits)((native_bytes)word + (native_bytes)ones);
}

/* Word n of a unit: weights plus 128. grid begins with its levels. */
INLINE native_bits grid_word(struct baton_native native, const uint8_t *grid, const char *unit,
                             int n, int i)
{
    const int n_values = baton_grid_values(baton_block_grid(native.type)), point = n * 4 / n_values;
    const native_bits high =
        baton_native_point_bits(&native) ? point_bits(native, unit, i) : (native_bits){0};
    native_bits found = grid_point(native, baton_grid_points(grid), unit, high, point, i);
    native_bits word = look_up(grid, spread_codes(found, n_values, n * 4 % n_values / 4));
    return baton_block_grid(native.type) == BATON_GRID_IQ1
               ? add_signs(word, high >> (point * 4 + 3))
               : negate_bytes(word, unit + baton_native_signs_at(&native) + n * 8, i);
}

#endif
