#include "gateway/http/fair_queue.h"

#include <string.h>

#include "tests/support/test.h"

enum { N_CLIENTS = 3, N_ITEMS = 8 };

static struct gw_fair_queue queue;
static struct gw_payers clients[N_CLIENTS];
static struct gw_fair_item items[N_ITEMS];

static int open_queue(void **state)
{
    static const struct gw_limits none;
    (void)state;
    gw_fair_queue_init(&queue);
    memset(items, 0, sizeof items);
    for (int i = 0; i < N_CLIENTS; i++)
        clients[i] = (struct gw_payers){.address = gw_account_create(GW_OF_ADDRESS, &none)};
    return 0;
}

static int close_queue(void **state)
{
    (void)state;
    for (struct gw_fair_item *item; (item = gw_fair_queue_first(&queue));)
        gw_fair_queue_take(&queue, item);
    assert_int_equal(queue.n_bytes, 0);
    for (int i = 0; i < N_CLIENTS; i++) {
        assert_int_equal(clients[i].address->n_holders, 1);
        gw_payers_put(&clients[i]);
    }
    return 0;
}

static void add(int item, int client, size_t n_bytes)
{
    assert_ok(gw_fair_queue_add(&queue, &items[item], n_bytes, &clients[client]));
}

static void comes(int item)
{
    assert_ptr_equal(gw_fair_queue_first(&queue), &items[item]);
    gw_fair_queue_take(&queue, &items[item]);
    assert_null(items[item].client);
}

TEST(an_empty_queue_has_nothing)
{
    assert_null(gw_fair_queue_first(&queue));
    assert_null(gw_fair_queue_who_gives_way(&queue, 1, &clients[0]));
}

TEST(who_sends_one_waits_for_one_of_each_client)
{
    for (int i = 0; i < 5; i++)
        add(i, 0, 10);
    add(5, 1, 1000);
    add(6, 2, 1);
    comes(0);
    comes(5);
    comes(6);
    for (int i = 1; i < 5; i++)
        comes(i);
}

TEST(a_client_that_comes_back_stands_behind_the_others)
{
    add(0, 0, 1);
    add(1, 1, 1);
    add(2, 1, 1);
    comes(0);
    add(3, 0, 1);
    comes(1);
    comes(3);
    comes(2);
}

TEST(who_leaves_gives_up_a_turn)
{
    add(0, 0, 1);
    add(1, 0, 2);
    add(2, 1, 4);
    gw_fair_queue_remove(&queue, &items[0]);
    assert_int_equal(queue.n_bytes, 6);
    comes(1);
    comes(2);
}

TEST(the_last_item_of_who_holds_most_gives_way)
{
    add(0, 0, 50);
    add(1, 0, 50);
    add(2, 1, 60);
    assert_ptr_equal(gw_fair_queue_who_gives_way(&queue, 10, &clients[2]), &items[1]);
    assert_ptr_equal(gw_fair_queue_who_gives_way(&queue, 39, &clients[1]), &items[1]);
    assert_null(gw_fair_queue_who_gives_way(&queue, 40, &clients[1]));
    assert_null(gw_fair_queue_who_gives_way(&queue, 1, &clients[0]));
    assert_null(gw_fair_queue_who_gives_way(&queue, 100, &clients[2]));
}

TEST(keys_are_clients_wherever_they_come_from)
{
    static const struct gw_limits none;
    struct gw_account *key = gw_account_create(GW_OF_KEY, &none);
    clients[0].key = gw_account_hold(key);
    clients[1].key = key;
    add(0, 0, 1);
    add(1, 1, 1);
    add(2, 2, 1);
    comes(0);
    comes(2);
    comes(1);
}

EACH_TEST(open_queue, close_queue)
