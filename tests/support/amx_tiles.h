/* The tiles of one thread in software, and what AMX does to them (Intel's Software Developer's
 * Manual, volume 2, chapter 5 and the instructions' own pages).
 *
 * Ownership: plain values.
 * Threading: one thread per struct.
 * Errors:    a sentence that says what a CPU would refuse, or NULL. Tiles are untouched then.
 */
#ifndef BATON_TESTS_SUPPORT_AMX_TILES_H
#define BATON_TESTS_SUPPORT_AMX_TILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AMX_TILES = 8, AMX_ROWS = 16, AMX_ROW_BYTES = 64, AMX_CONFIG_BYTES = 64 };

struct amx_tiles {
    _Alignas(64) uint8_t rows[AMX_TILES][AMX_ROWS][AMX_ROW_BYTES];
    uint16_t row_bytes[AMX_TILES];
    uint8_t n_rows[AMX_TILES];
    bool is_configured;
};

enum amx_product { AMX_BF16, AMX_SSD, AMX_SUD, AMX_USD, AMX_UUD };

const char *amx_configure(struct amx_tiles *tiles, const uint8_t config[AMX_CONFIG_BYTES]);
void amx_store_config(const struct amx_tiles *tiles, uint8_t config[AMX_CONFIG_BYTES]);
void amx_release(struct amx_tiles *tiles);

const char *amx_zero(struct amx_tiles *tiles, int tile);
const char *amx_load(struct amx_tiles *tiles, int tile, const char *from, ptrdiff_t stride);
const char *amx_store(const struct amx_tiles *tiles, int tile, char *to, ptrdiff_t stride);

/* to += a times b; bf16: two chains of fused multiply-adds, over even and over odd inputs, whose
 * sum is added; to nearest even, denormals are zero going in and coming out. */
const char *amx_multiply(struct amx_tiles *tiles, enum amx_product product, int to, int a, int b);

#endif
