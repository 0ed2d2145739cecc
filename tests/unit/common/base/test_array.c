#include "tests/support/test.h"

#include <stdlib.h>

#include "common/base/array.h"

TEST(elements_stay_and_adding_them_one_by_one_moves_them_rarely)
{
    int *items = NULL;
    size_t cap = 0, n_moves = 0, n;
    for (n = 0; n < 10000; n++) {
        const int *before = items;
        size_t cap_before = cap;
        assert_ok(BATON_RESERVE(items, cap, n + 1));
        assert_true(cap > n);
        n_moves += cap != cap_before;
        assert_true(cap != cap_before || items == before);
        items[n] = (int)n;
    }
    assert_true(n_moves <= 11);
    while (n--)
        assert_int_equal(items[n], n);
    free(items);
}

TEST(room_for_none_is_room_all_the_same)
{
    char *items = NULL;
    size_t cap = 0;
    assert_ok(BATON_RESERVE(items, cap, 0));
    assert_non_null(items);
    free(items);
}

TEST(without_memory_the_array_is_as_before)
{
    uint64_t *items = NULL, *before;
    size_t cap = 0;
    assert_ok(BATON_RESERVE(items, cap, 3));
    items[2] = 7;
    before = items;
    size_t cap_before = cap;
    assert_int_equal(BATON_RESERVE(items, cap, SIZE_MAX / sizeof *items), BATON_NO_MEMORY);
    assert_int_equal(BATON_RESERVE(items, cap, SIZE_MAX), BATON_NO_MEMORY);
    assert_ptr_equal(items, before);
    assert_int_equal(cap, cap_before);
    assert_int_equal(items[2], 7);
    free(items);
}
