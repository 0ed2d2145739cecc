#include "tests/support/test.h"

#include <string.h>

#include "common/base/arena.h"

TEST(pieces_are_aligned_and_do_not_overlap)
{
    struct baton_arena *arena = baton_arena_create(1 << 20);
    char *pieces[200];
    for (int i = 0; i < 200; i++) {
        size_t size = (size_t)(i * 37 % 900 + 1);
        pieces[i] = baton_arena_alloc(arena, size);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], i, size);
    }
    for (int i = 0; i < 200; i++)
        for (int k = 0; k < i * 37 % 900 + 1; k++)
            assert_int_equal((unsigned char)pieces[i][k], i);
    baton_arena_destroy(arena);
}

TEST(the_cap_counts_everything_handed_out)
{
    struct baton_arena *arena = baton_arena_create(100);
    assert_non_null(baton_arena_alloc(arena, 64));
    assert_null(baton_arena_alloc(arena, 48));
    assert_non_null(baton_arena_alloc(arena, 32));
    assert_null(baton_arena_alloc(arena, 1));
    assert_null(baton_arena_alloc(arena, (size_t)-1));
    assert_null(baton_arena_strndup(arena, "", (size_t)-1));
    baton_arena_destroy(arena);
}

TEST(a_copy_of_text_is_terminated)
{
    struct baton_arena *arena = baton_arena_create(100);
    assert_string_equal(baton_arena_strndup(arena, "textual", 4), "text");
    baton_arena_destroy(arena);
}

TEST(one_piece_may_be_larger_than_a_block)
{
    struct baton_arena *arena = baton_arena_create(1 << 20);
    char *big = baton_arena_alloc(arena, 100000);
    assert_non_null(big);
    memset(big, 1, 100000);
    assert_non_null(baton_arena_alloc(arena, 10));
    memset(baton_arena_alloc(arena, 5000), 2, 5000);
    baton_arena_destroy(arena);
    baton_arena_destroy(NULL);
}
