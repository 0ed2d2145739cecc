#include "common/wire/transport/own_fds.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static struct {
    pthread_mutex_t lock;
    DIR *fds;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* With the lock. A failure is not for good: a descriptor may be free later. */
static DIR *open_fds(void)
{
    if (!own.fds)
        own.fds = opendir("/proc/self/fd");
    return own.fds;
}

enum baton_err baton_own_fds_open(void)
{
    pthread_mutex_lock(&own.lock);
    bool opened = open_fds() != NULL;
    pthread_mutex_unlock(&own.lock);
    return opened ? BATON_OK : BATON_IO;
}

int baton_own_fds_any(void)
{
    pthread_mutex_lock(&own.lock);
    int fd = own.fds ? dirfd(own.fds) : -1;
    pthread_mutex_unlock(&own.lock);
    return fd;
}

bool baton_own_fds_each(bool (*look)(void *arg, int fd), void *arg)
{
    pthread_mutex_lock(&own.lock);
    DIR *fds = open_fds();
    if (fds)
        rewinddir(fds);
    bool goes_on = true, is_whole = false;
    while (goes_on && fds && !is_whole) {
        errno = 0;
        const struct dirent *entry = readdir(fds);
        if (entry && entry->d_name[0] != '.')
            goes_on = look(arg, (int)strtol(entry->d_name, NULL, 10));
        is_whole = !entry && !errno;
        goes_on &= entry || is_whole;
    }
    pthread_mutex_unlock(&own.lock);
    return is_whole;
}
