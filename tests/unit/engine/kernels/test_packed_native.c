/* Panels of blocks give back exactly what the blocks decode to. */
#include "common/base/array.h"
#include "tests/unit/engine/kernels/guarded.h"
#include "tests/unit/engine/unit.h"

#include <strings.h>

#include "engine/kernels/pack/encode_blocks.h"
#include "engine/kernels/pack/encode_panels.h"
#include "engine/kernels/pack/native_panels.h"
#include "tests/support/random_blocks.h"

enum { MAX_IN = 1024, N_OUT = 21, LINE = 64 };

/* A matrix of a file. */
struct matrix {
    enum baton_block_type type;
    uint8_t *blocks;
    size_t row_bytes;
    struct baton_packed packed;
};

static size_t packed_bytes(const struct matrix *m)
{
    return baton_packed_bytes(m->packed.dtype, BATON_PANELS, m->packed.n_out, m->packed.n_in);
}

static void pack(const struct matrix *m)
{
    for (int panel = 0; panel < baton_packed_n_panels(&m->packed); panel++) {
        const uint8_t *rows[BATON_PANEL] = {NULL};
        for (int o = 0; o < BATON_PANEL && panel * BATON_PANEL + o < m->packed.n_out; o++)
            rows[o] = m->blocks + (size_t)(panel * BATON_PANEL + o) * m->row_bytes;
        baton_packed_write_blocks(&m->packed, panel, rows);
    }
}

static struct matrix make(enum baton_block_type type, int n_in)
{
    size_t n = (size_t)n_in / baton_block_values(type);
    struct matrix m = {.type = type,
                       .blocks = random_blocks(type, n * N_OUT, 1 + (uint64_t)n_in),
                       .row_bytes = n * baton_block_bytes(type),
                       .packed = {.dtype = baton_dtype_of_blocks(type),
                                  .layout = BATON_PANELS,
                                  .n_out = N_OUT,
                                  .n_in = n_in}};
    m.packed.data = guarded_create(packed_bytes(&m), LINE);
    return m;
}

static void destroy(struct matrix *m)
{
    guarded_destroy(m->packed.data, packed_bytes(m));
    free(m->blocks);
}

static void assert_same_bits(const struct matrix *m)
{
    float expected[MAX_IN], row[MAX_IN];
    size_t n_in = (size_t)m->packed.n_in;
    for (int out = 0; out < m->packed.n_out; out++) {
        baton_blocks_decode(m->type, m->blocks + (size_t)out * m->row_bytes,
                            n_in / baton_block_values(m->type), expected);
        baton_packed_row(&m->packed, out, row);
        for (size_t k = 0; k < n_in; k++)
            if (!isnan(expected[k]))
                assert_memory_equal(&row[k], &expected[k], sizeof row[k]);
            else
                assert_true(isnan(row[k]));
    }
}

static void for_each_type(void (*test)(enum baton_block_type type))
{
    for (int type = 0; type < BATON_N_BLOCK_TYPES; type++)
        if (baton_block_codes_form((enum baton_block_type)type))
            test((enum baton_block_type)type);
}

static void check_every_length(enum baton_block_type type)
{
    for (int n_in = (int)baton_block_values(type); n_in <= MAX_IN;
         n_in += (int)baton_block_values(type)) {
        struct matrix m = make(type, n_in);
        pack(&m);
        assert_same_bits(&m);
        destroy(&m);
    }
}

TEST(a_row_equals_its_decoded_blocks)
{
    for_each_type(check_every_length);
}

/* Any bytes: infinite, subnormal and negative scales too. */
static void check_any_bytes(enum baton_block_type type)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct matrix m = make(type, MAX_IN);
        for (size_t i = 0; i < N_OUT * m.row_bytes; i++)
            m.blocks[i] = (uint8_t)(256 * baton_philox_uniform(seed, i));
        pack(&m);
        assert_same_bits(&m);
        destroy(&m);
    }
}

TEST(any_bytes_are_blocks)
{
    for_each_type(check_any_bytes);
}

static void check_padding(enum baton_block_type type)
{
    struct matrix m = make(type, 3 * (int)baton_block_values(type));
    float row[MAX_IN];
    pack(&m);
    struct baton_packed whole = m.packed;
    whole.n_in = baton_packed_n_in(whole.dtype, whole.n_in);
    whole.n_out = baton_packed_n_panels(&m.packed) * BATON_PANEL;
    for (int out = 0; out < whole.n_out; out++) {
        baton_packed_row(&whole, out, row);
        for (int k = out < N_OUT ? m.packed.n_in : 0; k < whole.n_in; k++)
            assert_true(row[k] == 0);
    }
    destroy(&m);
}

TEST(padding_past_the_matrix_is_zero)
{
    for_each_type(check_padding);
}

static double bits_of(enum baton_dtype dtype)
{
    return (double)baton_packed_bytes(dtype, BATON_PANELS, 64, MAX_IN) * 8 / (64 * MAX_IN);
}

static void check_size(enum baton_block_type type)
{
    double in_file = (double)baton_block_bytes(type) * 8 / (double)baton_block_values(type);
    double in_panels = bits_of(baton_dtype_of_blocks(type));
    /* Two bits for a digit to the base of 3; a scale for each 32 inputs instead of 64. */
    double more = type == BATON_BLOCK_TQ1_0 ? 0.5626 : type == BATON_BLOCK_Q2_0 ? 0.25 : 0.1876;
    assert_true(in_panels >= in_file - 1e-9 && in_panels <= in_file + more);
}

TEST(panels_are_about_as_large_as_the_file)
{
    for_each_type(check_size);
}

/* The kernels know at compile time what blocks.h says at run time. */
static void check_description(enum baton_block_type type)
{
    const struct baton_native *native = baton_dtype_ops[baton_dtype_of_blocks(type)].blocks;
    const struct baton_block_codes_form *form = baton_block_codes_form(type);
    assert_int_equal(native->type, type);
    assert_int_equal(native->n_bits, form->n_bits);
    assert_int_equal(native->group, form->n_group > 32 ? 32 : form->n_group);
    assert_int_equal(native->has_min, form->has_min);
    assert_int_equal(native->has_levels, form->levels != NULL);
    if (!form->levels && !form->has_min)
        assert_int_equal(native->zero, form->zero);
    assert_int_equal(baton_block_has_grid(type), form->has_grid);
    assert_true(native->has_spans || !form->has_grid);
}

TEST(every_dtype_is_described_as_its_blocks_are)
{
    for_each_type(check_description);
}

TEST(dtypes_bear_the_names_of_their_blocks)
{
    for (int type = 0; type < BATON_N_BLOCK_TYPES; type++) {
        enum baton_dtype dtype = baton_dtype_of_blocks((enum baton_block_type)type);
        const char *name = baton_block_type_name((enum baton_block_type)type);
        assert_int_equal(strcasecmp(baton_dtype_name(dtype), name), 0);
    }
}

/* Also rows that are no whole blocks. */
static void check_floats(enum baton_block_type type, int n_in)
{
    float *rows = random_floats(BATON_PANEL * (size_t)n_in, 3), expected[MAX_IN], row[MAX_IN];
    uint8_t blocks[MAX_IN / 32 * 34];
    struct baton_packed packed = {.dtype = baton_dtype_of_blocks(type),
                                  .layout = BATON_PANELS,
                                  .n_out = BATON_PANEL,
                                  .n_in = n_in};
    size_t n_bytes = baton_packed_read_bytes(&packed), n_values = baton_block_values(type);
    packed.data = guarded_create(n_bytes, LINE);
    baton_packed_write(&packed, 0, rows);
    for (int out = 0; out < BATON_PANEL; out++) {
        baton_encode(type, rows + out * n_in, (size_t)n_in, blocks);
        baton_blocks_decode(type, blocks, ((size_t)n_in + n_values - 1) / n_values, expected);
        baton_packed_row(&packed, out, row);
        assert_memory_equal(row, expected, (size_t)n_in * sizeof *row);
    }
    guarded_destroy(packed.data, n_bytes);
    free(rows);
}

static void check_floats_of_every_length(enum baton_block_type type)
{
    static const int ins[] = {1, 40, 64, 200, 256, 320, 576, 1024};
    for (size_t i = 0; i < BATON_N_OF(ins); i++)
        if (baton_packed_encodes(baton_dtype_of_blocks(type)))
            check_floats(type, ins[i]);
}

TEST(floats_are_packed_as_they_are_encoded)
{
    for_each_type(check_floats_of_every_length);
}
