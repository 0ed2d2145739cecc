#include "common/base/os/open_files.h"

#include <sys/resource.h>

#include "common/base/log.h"

/* A turn of an event loop may need this many. */
enum { LAST_FILES = 4 };

static struct {
    int64_t limit, needed; /* 0: unknown */
    const char *hint;
} files;

static void warn(void)
{
    static struct baton_log_limit limit;
    if (files.limit)
        baton_log_limited(&limit, BATON_LOG_WARN, "few_open_files", BATON_I("limit", files.limit),
                          BATON_I("needed", files.needed), BATON_S("hint", files.hint));
}

void baton_open_files_allow(int64_t needed, const char *hint)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    if (limit.rlim_cur < limit.rlim_max) { /* the soft limit is often 1024 */
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    files.limit = limit.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur;
    files.needed = needed;
    files.hint = hint;
    if (files.limit < needed)
        warn();
}

void baton_open_files_exhausted(void)
{
    warn();
}

void baton_open_files_opened(int fd)
{
    if (files.limit && fd >= files.limit - LAST_FILES)
        warn();
}
