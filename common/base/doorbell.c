#include "common/base/doorbell.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"

enum baton_err baton_doorbell_init(struct baton_doorbell *bell)
{
    bell->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return bell->fd < 0 ? BATON_IO : BATON_OK;
}

void baton_doorbell_fini(struct baton_doorbell *bell)
{
    if (bell->fd >= 0)
        close(bell->fd);
    bell->fd = -1;
}

void baton_doorbell_ring(void *arg)
{
    const struct baton_doorbell *bell = arg;
    uint64_t one = 1;
    ssize_t n = write(bell->fd, &one, sizeof one); /* a full counter has already been rung */
    (void)n;
}

void baton_doorbell_wait(struct baton_doorbell *bell, int64_t timeout_ns)
{
    struct pollfd ready = {.fd = bell->fd, .events = POLLIN};
    struct timespec timeout = {.tv_sec = timeout_ns / BATON_SECOND,
                               .tv_nsec = timeout_ns % BATON_SECOND};
    /* One read resets the counter: all rings so far are one wake-up. */
    if (ppoll(&ready, 1, timeout_ns < 0 ? NULL : &timeout, NULL) > 0) {
        uint64_t rings;
        ssize_t n = read(bell->fd, &rings, sizeof rings);
        (void)n;
    }
}
