/* Windows, caps and sinks. */
#include "common/base/array.h"
#include "tests/unit/engine/compute/attention_unit.h"
#include "tests/unit/engine/unit.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS, SPARE = ATTENTION_SPARE };

static const int windows[] = {1, 2, 5, 16, 33, 64, 65, 100, 500};

enum { N_WINDOWS = BATON_N_OF(windows) };

static const float sinks[] = {-1, 3, 0.5F, -30, 8, 0};

/* Form i of what scores may go through: a window, a cap, sinks, and all of it together. */
static void set_form(struct context *c, int i)
{
    c->window = windows[i % N_WINDOWS];
    c->score_cap = i / N_WINDOWS & 1 ? 2.0F : 0.0F;
    c->sinks = i / N_WINDOWS & 2 ? sinks : NULL;
}

TEST(windows_caps_and_sinks_match_the_naive_sum)
{
    enum { N = 230, HEADS = 2 };
    const int forms_dims[] = {7, 32, 64, 96, 256, 512};
    const struct baton_kernels *kernels;
    for (int i = 0; i < 4 * N_WINDOWS; i++) {
        struct context c;
        context_init(&c, (enum baton_kv_dtype)(i % BATON_N_KV_DTYPES), HEADS, 1 + i % 3,
                     forms_dims[i % (int)BATON_N_OF(forms_dims)], N);
        size_t stride = (size_t)(HEADS * c.group * c.dim + SPARE);
        float *out = context_make_out(&c, N);
        set_form(&c, i);
        for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
            context_run(kernels, &c, 3, N - 3, 0, HEADS, out);
            for (int p = 3; p < N; p += 1 + p % 7)
                context_assert_row(&c, p, out + (size_t)(p - 3) * stride);
        }
        free(out);
        context_fini(&c);
    }
}

TEST(a_row_of_any_form_has_the_same_bits_alone_and_among_others)
{
    enum { N = 230 };
    const int layouts[][2] = {{0, 16}, {3, 70}, {61, 6}, {64, 64}, {100, 130}};
    const struct baton_kernels *kernels;
    for (int i = 0; i < 4 * N_WINDOWS; i++) {
        struct context c;
        context_init(&c, (enum baton_kv_dtype)(i % BATON_N_KV_DTYPES), 2, 1 + i % 3,
                     i % 2 ? 32 : 23, N);
        float *together = context_make_out(&c, N), *alone = context_make_out(&c, 1);
        set_form(&c, i);
        for (int k = 0; (kernels = baton_kernels_at(k)); k++)
            for (size_t l = 0; l < BATON_N_OF(layouts); l++)
                context_assert_rows_are_independent(kernels, &c, layouts[l][0], layouts[l][1],
                                                    together, alone);
        free(together);
        free(alone);
        context_fini(&c);
    }
}

/* Blocks that were given back lie anywhere, here past all memory. */
TEST(blocks_before_every_window_are_not_read)
{
    enum { N = 230, WINDOW = 50, FIRST = 170 };
    const struct baton_kernels *kernels;
    struct context c;
    context_init(&c, BATON_KV_F16, 1, 2, 64, N);
    c.window = WINDOW;
    float *out = context_make_out(&c, N - FIRST);
    for (int b = 0; b < (FIRST - WINDOW + 1) / BLOCK; b++)
        c.blocks[b] = 1 << 30;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++) {
        context_run(kernels, &c, FIRST, N - FIRST, 0, 1, out);
        context_assert_row(&c, FIRST, out);
        context_assert_row(&c, N - 1, out + (N - 1 - FIRST) * (2 * 64 + SPARE));
    }
    free(out);
    context_fini(&c);
}
