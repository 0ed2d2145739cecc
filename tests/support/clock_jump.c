/* Preloaded into a program, this adds the nanoseconds in the file BATON_CLOCK_JUMP to its wall
 * clock, as if somebody set the clock. A test changes the file while the program runs. The
 * monotonic clock, which nobody can set, stays.
 *
 * Ownership: the mapping lives as long as the process.
 * Threading: any.
 * Errors:    without the file the wall clock is the true one.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { SECOND_NS = 1000000000 };

static const _Atomic int64_t no_jump;
static const _Atomic int64_t *jump_ns = &no_jump;

__attribute__((constructor)) static void map_file(void)
{
    const char *path = getenv("BATON_CLOCK_JUMP");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *jump_ns, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (mapped != MAP_FAILED)
        jump_ns = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (!status && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ns = now->tv_sec * (int64_t)SECOND_NS + now->tv_nsec + atomic_load(jump_ns);
        *now = (struct timespec){.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
    }
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;
    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &precise);
    *now = (struct timeval){.tv_sec = precise.tv_sec, .tv_usec = precise.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *now)
{
    struct timespec precise;
    (void)clock_gettime(CLOCK_REALTIME, &precise);
    if (now)
        *now = precise.tv_sec;
    return precise.tv_sec;
}
