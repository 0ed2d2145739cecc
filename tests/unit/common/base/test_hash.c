#include "tests/support/test.h"

#include "common/base/array.h"
#include "common/base/hash.h"

struct item {
    int value;
    struct baton_hash_node in_items;
};

BATON_HASH_TABLE(item_table, struct item, in_items)

static int sum_of(const struct item_table *table, uint64_t hash)
{
    int sum = 0;
    for (const struct item *item = item_table_first(table, hash); item;
         item = item_table_next(item))
        sum += item->value;
    return sum;
}

TEST(items_are_found_by_their_hash_while_the_table_grows_and_shrinks)
{
    static struct item items[1000];
    struct item_table table = {0};
    for (int i = 0; i < 1000; i++) {
        items[i].value = 1 << (i % 2);
        item_table_put(&table, &items[i], (uint64_t)i / 2); /* two share a hash */
    }
    assert_int_equal(table.base.n, 1000);
    for (uint64_t hash = 0; hash < 500; hash++)
        assert_int_equal(sum_of(&table, hash), 1 + 2);
    assert_null(item_table_first(&table, 500));
    for (int i = 0; i < 1000; i += 2)
        item_table_remove(&table, &items[i]);
    for (uint64_t hash = 0; hash < 500; hash++)
        assert_int_equal(sum_of(&table, hash), 2);
    item_table_put(&table, &items[0], 7); /* a removed one may return, under another hash */
    assert_int_equal(sum_of(&table, 7), 2 + 1);
    assert_int_equal(table.base.n, 501);
    item_table_remove(&table, &items[0]);
    for (int i = 1; i < 1000; i += 2)
        item_table_remove(&table, &items[i]);
    assert_null(table.base.buckets); /* an empty table owns nothing */
}

TEST(a_zeroed_table_is_empty_and_its_first_bucket_needs_no_memory)
{
    struct item item = {.value = 5};
    struct item_table table = {0};
    assert_null(item_table_first(&table, 1));
    item_table_put(&table, &item, 1);
    assert_null(table.base.buckets);
    assert_ptr_equal(item_table_first(&table, 1), &item);
    assert_null(item_table_first(&table, 2));
    item_table_remove(&table, &item);
    assert_null(item_table_first(&table, 1));
}

TEST(a_reserved_table_does_not_grow)
{
    static struct item items[100];
    struct item_table table = {0};
    assert_ok(item_table_reserve(&table, BATON_N_OF(items)));
    struct baton_hash_node **buckets = table.base.buckets;
    for (size_t i = 0; i < BATON_N_OF(items); i++)
        item_table_put(&table, &items[i], i);
    for (size_t i = 0; i < BATON_N_OF(items); i++)
        item_table_remove(&table, &items[i]);
    assert_ptr_equal(table.base.buckets, buckets);
    assert_ok(item_table_reserve(&table, 1));
    assert_ptr_equal(table.base.buckets, buckets);
    item_table_fini(&table);
}

TEST(hashes_depend_on_every_byte_and_on_the_length)
{
    char text[24] = {0};
    uint64_t hashes[2 * sizeof text];
    size_t n = 0;
    for (size_t i = 0; i < sizeof text; i++) {
        hashes[n++] = baton_hash_bytes(text, i); /* i zero bytes */
        text[i] = 1;
        hashes[n++] = baton_hash_bytes(text, sizeof text);
        text[i] = 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(hashes[i] != hashes[k]);
}
