#include "common/wire/transport/nng_error.h"

#include <nng/nng.h>

#include "common/base/os/open_files.h"

static enum baton_err map(int nng_result)
{
    switch (nng_result) {
    case NNG_ENOMEM:
        return BATON_NO_MEMORY;
    case NNG_EINVAL:
    case NNG_EADDRINVAL:
    case NNG_ENOTSUP:
        return BATON_INVALID;
    case NNG_ETIMEDOUT:
        return BATON_TIMEOUT;
    case NNG_EAGAIN:
        return BATON_AGAIN;
    case NNG_ECLOSED:
    case NNG_ECANCELED:
        return BATON_CLOSED;
    case NNG_EMSGSIZE:
        return BATON_LIMIT;
    default:
        return BATON_IO;
    }
}

enum baton_err baton_nng_fail(struct baton_why *why, int nng_result, const char *action,
                              const char *url)
{
    if (nng_result == NNG_ENOFILES)
        baton_open_files_exhausted();
    return baton_fail(why, map(nng_result), "cannot %s \"%.200s\": %s", action, url,
                      nng_strerror(nng_result));
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_LEAK_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WITH_LEAK_SANITIZER
#endif

#ifdef WITH_LEAK_SANITIZER
/* NNG up to 1.6 leaks a message that was about to leave when its connection ended
 * (nanomsg/nng#1713) and, up to 1.5.2, a connection ended while it shakes hands. NNG does not
 * allocate unpacked envelopes, so a message of ours that is never finished still shows.
 */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libnng.so\n";
}
#endif
