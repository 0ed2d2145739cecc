#include "tests/support/test.h"

#include <pthread.h>

#include "common/base/clock.h"
#include "common/base/doorbell.h"
#include "common/base/queue.h"

TEST(items_come_out_in_order_and_a_full_queue_says_so)
{
    struct baton_queue *queue = baton_queue_create(2);
    int items[3];
    void *item;
    assert_ok(baton_queue_put(queue, &items[0]));
    assert_ok(baton_queue_put(queue, &items[1]));
    assert_int_equal(baton_queue_put(queue, &items[2]), BATON_AGAIN);
    assert_ok(baton_queue_take(queue, 0, &item));
    assert_ptr_equal(item, &items[0]);
    assert_ok(baton_queue_put(queue, &items[2]));
    assert_ok(baton_queue_take(queue, -1, &item));
    assert_ok(baton_queue_take(queue, -1, &item));
    assert_ptr_equal(item, &items[2]);
    assert_int_equal(baton_queue_take(queue, 0, &item), BATON_AGAIN);
    baton_queue_destroy(queue);
}

TEST(waiting_ends_in_time)
{
    struct baton_queue *queue = baton_queue_create(1);
    int64_t begin_ns = baton_now_ns();
    void *item;
    assert_int_equal(baton_queue_take(queue, 5 * BATON_MS, &item), BATON_AGAIN);
    assert_true(baton_now_ns() - begin_ns >= 5 * BATON_MS);
    baton_queue_destroy(queue);
}

enum { N_ITEMS = 20000 };

static void *produce(void *arg)
{
    struct baton_queue *queue = arg;
    for (uintptr_t i = 1; i <= N_ITEMS; i++)
        while (baton_queue_put(queue, (void *)i))
            ;
    return NULL;
}

TEST(two_producers_lose_nothing)
{
    struct baton_queue *queue = baton_queue_create(64);
    pthread_t threads[2];
    uintptr_t sum = 0;
    void *item;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, produce, queue), 0);
    for (int i = 0; i < 2 * N_ITEMS; i++) {
        assert_ok(baton_queue_take(queue, -1, &item));
        sum += (uintptr_t)item;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(sum, (uintptr_t)N_ITEMS * (N_ITEMS + 1));
    baton_queue_destroy(queue);
}

static void *close_soon(void *arg)
{
    baton_queue_close(arg);
    return NULL;
}

TEST(closing_wakes_a_waiter_after_the_last_item)
{
    struct baton_queue *queue = baton_queue_create(1);
    pthread_t thread;
    void *item;
    assert_int_equal(pthread_create(&thread, NULL, close_soon, queue), 0);
    assert_int_equal(baton_queue_take(queue, -1, &item), BATON_CLOSED);
    assert_int_equal(baton_queue_put(queue, queue), BATON_CLOSED);
    pthread_join(thread, NULL);
    baton_queue_destroy(queue);
}

TEST(rings_coalesce_and_a_wait_without_one_times_out)
{
    struct baton_doorbell bell;
    assert_ok(baton_doorbell_init(&bell));
    baton_doorbell_ring(&bell);
    baton_doorbell_ring(&bell);
    baton_doorbell_wait(&bell, -1);
    int64_t begin_ns = baton_now_ns();
    baton_doorbell_wait(&bell, 5 * BATON_MS);
    assert_true(baton_now_ns() - begin_ns >= 4 * BATON_MS);
    baton_doorbell_fini(&bell);
}
