/* Points of grids (grids.h) as words of a native panel. Part of unpack.h, which has the types.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_NATIVE_GRID_H
#define BATON_ENGINE_KERNELS_NATIVE_GRID_H

/* The words at p + stride * index, for the index in each lane. */
INLINE native_bits gather_words(const uint8_t *p, native_bits index, int stride)
{
#if defined(__AVX512F__)
    return (native_bits)(stride == 4 ? _mm512_i32gather_epi32((__m512i)index, p, 4)
                                     : _mm512_i32gather_epi32((__m512i)index, p, 8));
#elif defined(__AVX2__)
    const int *words = (const void *)p;
    return (native_bits)(stride == 4 ? _mm256_i32gather_epi32(words, (__m256i)index, 4)
                                     : _mm256_i32gather_epi32(words, (__m256i)index, 8));
#else
    native_bits words;
    for (int i = 0; i < REG_LANES; i++) {
        uint32_t word;
        memcpy(&word, p + (size_t)stride * index[i], sizeof word);
        words[i] = word;
    }
    return words;
#endif
}

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

/* Word n of a unit: weights plus 128. */
INLINE native_bits grid_word(struct baton_native native, const uint8_t *words, const char *unit,
                             int n, int i)
{
    const enum baton_grid_id grid = baton_block_grid(native.type);
    const int n_values = baton_grid_values(grid), n_bits = baton_native_point_bits(&native),
              point = n * 4 / n_values, n_high = grid == BATON_GRID_IQ1 ? 3 : n_bits;
    native_bits index = load_bits(unit + point / 4 * BATON_NATIVE_WORD + i * REG_BYTES) >>
                            point % 4 * 8 &
                        255,
                high = {0};
    if (n_bits) {
        high = point_bits(native, unit, i) >> point * n_bits;
        index |= (high & ((1U << n_high) - 1)) << 8;
    }
    native_bits word = gather_words(words + n * 4 % n_values, index, n_values);
    return grid == BATON_GRID_IQ1
               ? add_signs(word, high >> 3)
               : negate_bytes(word, unit + baton_native_signs_at(&native) + n * 8, i);
}

#endif
