#include "tests/support/test.h"

#include "common/base/list.h"

struct item {
    int value;
    struct baton_node in_items;
};

BATON_LIST(item_list, struct item, in_items)

TEST(members_come_in_order_and_can_leave_from_the_middle)
{
    struct item items[3] = {{.value = 0}, {.value = 1}, {.value = 2}};
    struct item_list list;
    item_list_init(&list);
    assert_null(item_list_first(&list));
    for (int i = 0; i < 3; i++)
        item_list_push_back(&list, &items[i]);
    assert_int_equal(list.n, 3);
    item_list_remove(&list, &items[1]);
    assert_ptr_equal(item_list_first(&list), &items[0]);
    assert_ptr_equal(item_list_next(&list, &items[0]), &items[2]);
    assert_null(item_list_next(&list, &items[2]));
    item_list_push_back(&list, &items[1]);
    assert_ptr_equal(item_list_pop_front(&list), &items[0]);
    assert_ptr_equal(item_list_pop_front(&list), &items[2]);
    assert_ptr_equal(item_list_pop_front(&list), &items[1]);
    assert_null(item_list_pop_front(&list));
    assert_int_equal(list.n, 0);
}
