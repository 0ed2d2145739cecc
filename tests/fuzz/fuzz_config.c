/* Options from a file of any bytes, and one flag of any text: refused with a reason, or every value
 * is inside its row's range.
 *
 * Input: flag 0xff file; of the flag the first byte chooses the option. */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/options/config.h"

enum { SEPARATOR = 0xff, N_OPTIONS = 5 };

struct settings {
    const char *name;
    int64_t tokens;
    double seconds;
    bool fast;
    int mode;
};

static const struct baton_option options[N_OPTIONS] = {
    BATON_ROW_TEXT(struct settings, name, "name", "nobody", "a text"),
    BATON_ROW_INT(struct settings, tokens, "kv-tokens", "16", -4, 4096, "tokens", "a count"),
    BATON_ROW_REAL(struct settings, seconds, "drain-s", "0.5", 0, 60, "s", "a time"),
    {"fast", BATON_OPTION_BOOL, offsetof(struct settings, fast), "false", 0, 0, "", "a switch"},
    BATON_ROW_CHOICE(struct settings, mode, "mode", "auto", "on|off|auto", "a choice"),
};

static void check_settings(const struct settings *settings)
{
    check(settings->name != NULL);
    check(settings->tokens >= -4 && settings->tokens <= 4096);
    check(isfinite(settings->seconds) && settings->seconds >= 0 && settings->seconds <= 60);
    check(settings->mode >= 0 && settings->mode <= 2);
}

static void load(const char *flag, const char *path)
{
    struct settings settings = {0};
    struct baton_why why = {""};
    struct baton_config config = {.process = "fuzz",
                                  .summary = "",
                                  .env_prefix = "BATON_FUZZED",
                                  .options = options,
                                  .n_options = N_OPTIONS};
    const char *const argv[] = {"fuzz", "--config", path, flag, NULL};
    bool done = true;
    if (baton_config_load(&config, &settings, flag ? 4 : 3, (char **)argv, &done, &why))
        check(*why.text);
    else
        check_settings(&settings);
    baton_config_fini(&config);
}

static void write_file(int fd, const uint8_t *data, size_t size)
{
    check(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
}

FUZZ(data, size)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("config", MFD_CLOEXEC);
        check(fd >= 0);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    const uint8_t *end = size ? memchr(data, SEPARATOR, size) : NULL;
    size_t n_flag = end ? (size_t)(end - data) : 0;
    char *flag = NULL;
    check(!n_flag || asprintf(&flag, "--%s=%.*s", options[data[0] % N_OPTIONS].name,
                              (int)n_flag - 1, (const char *)data + 1) >= 0);
    write_file(fd, end ? end + 1 : data, size - (end ? n_flag + 1 : 0));
    load(flag, path);
    free(flag);
}
