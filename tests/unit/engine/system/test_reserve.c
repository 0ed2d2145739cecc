#include "tests/support/test.h"

#include <stdint.h>
#include <string.h>

#include "common/engine/system/reserve.h"

TEST(memory_is_zero_aligned_and_all_there)
{
    static const size_t sizes[] = {1, 4096, (16 << 20) - 1, (40 << 20) + 12345};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct baton_reserve *reserve = NULL;
        assert_int_equal(baton_reserve_create(sizes[i], &reserve), BATON_OK);
        char *memory = baton_reserve_memory(reserve);
        assert_int_equal((uintptr_t)memory % (2 << 20), 0);
        for (size_t at = 0; at < sizes[i]; at += 509)
            assert_int_equal(memory[at], 0);
        memset(memory, 7, sizes[i]);
        baton_reserve_destroy(reserve);
    }
}

TEST(it_can_go_while_it_is_being_backed)
{
    for (int i = 0; i < 20; i++) {
        struct baton_reserve *reserve = NULL;
        assert_int_equal(baton_reserve_create((size_t)256 << 20, &reserve), BATON_OK);
        ((char *)baton_reserve_memory(reserve))[(size_t)255 << 20] = 1;
        baton_reserve_destroy(reserve);
    }
    baton_reserve_destroy(NULL);
}

TEST(more_than_there_can_be_is_refused)
{
    struct baton_reserve *none = NULL;
    assert_int_equal(baton_reserve_create(SIZE_MAX - 5, &none), BATON_NO_MEMORY);
    assert_int_equal(baton_reserve_create((size_t)1 << 62, &none), BATON_NO_MEMORY);
    assert_null(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zero_aligned_and_all_there),
        cmocka_unit_test(it_can_go_while_it_is_being_backed),
        cmocka_unit_test(more_than_there_can_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
