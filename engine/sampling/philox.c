#include "engine/sampling/philox.h"

enum { N_ROUNDS = 10 };

static void philox_round(uint32_t c[4], uint32_t k0, uint32_t k1)
{
    uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
    uint32_t c0 = (uint32_t)(p1 >> 32) ^ c[1] ^ k0, c2 = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
    c[0] = c0;
    c[1] = (uint32_t)p1;
    c[2] = c2;
    c[3] = (uint32_t)p0;
}

void baton_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t random[4])
{
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t k0 = key[0], k1 = key[1];
    for (int i = 0; i < N_ROUNDS; i++) {
        philox_round(c, k0, k1);
        k0 += 0x9E3779B9u; /* Weyl sequence: golden ratio, square root of 3 minus 1 */
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++)
        random[i] = c[i];
}

double baton_philox_uniform(uint64_t seed, uint64_t position)
{
    const uint32_t counter[4] = {(uint32_t)position, (uint32_t)(position >> 32), 0, 0};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t random[4];
    baton_philox4x32(counter, key, random);
    /* 53 bits are exact in a double, so the result never rounds to 1. */
    uint64_t bits = (uint64_t)random[1] << 32 | random[0];
    return (double)(bits >> 11) * 0x1p-53;
}
