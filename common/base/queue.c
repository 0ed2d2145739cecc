#include "common/base/queue.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/cond.h"

struct baton_queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    size_t capacity, head, n;
    bool closed;
    void *items[];
};

struct baton_queue *baton_queue_create(size_t capacity)
{
    struct baton_queue *queue = calloc(1, sizeof *queue + capacity * sizeof queue->items[0]);
    if (!queue)
        return NULL;
    pthread_mutex_init(&queue->lock, NULL);
    baton_cond_init(&queue->filled);
    queue->capacity = capacity;
    return queue;
}

void baton_queue_destroy(struct baton_queue *queue)
{
    if (!queue)
        return;
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

enum baton_err baton_queue_put(struct baton_queue *queue, void *item)
{
    enum baton_err err = BATON_OK;
    pthread_mutex_lock(&queue->lock);
    if (queue->closed) {
        err = BATON_CLOSED;
    } else if (queue->n == queue->capacity) {
        err = BATON_AGAIN;
    } else {
        queue->items[(queue->head + queue->n++) % queue->capacity] = item;
        pthread_cond_signal(&queue->filled);
    }
    pthread_mutex_unlock(&queue->lock);
    return err;
}

/* Waits with the lock held until there is an item, the queue is closed or the time is over. */
static void wait_filled(struct baton_queue *queue, int64_t timeout_ns)
{
    int64_t until_ns = timeout_ns > 0 ? baton_now_ns() + timeout_ns : 0;
    while (!queue->n && !queue->closed) {
        if (timeout_ns < 0)
            pthread_cond_wait(&queue->filled, &queue->lock);
        else if (!timeout_ns || !baton_cond_wait_until(&queue->filled, &queue->lock, until_ns))
            return;
    }
}

enum baton_err baton_queue_take(struct baton_queue *queue, int64_t timeout_ns, void **item)
{
    enum baton_err err = BATON_OK;
    pthread_mutex_lock(&queue->lock);
    wait_filled(queue, timeout_ns);
    if (queue->n) {
        *item = queue->items[queue->head];
        queue->head = (queue->head + 1) % queue->capacity;
        queue->n--;
    } else {
        err = queue->closed ? BATON_CLOSED : BATON_AGAIN;
    }
    pthread_mutex_unlock(&queue->lock);
    return err;
}

void baton_queue_close(struct baton_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}
