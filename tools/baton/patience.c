#include "tools/baton/patience.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define GIB (1024.0 * 1024 * 1024)

static double bytes_of(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISREG(info.st_mode) ? (double)info.st_size : 0;
}

static double bytes_of_all(const char *pattern)
{
    glob_t found;
    double bytes = 0;
    if (glob(pattern, GLOB_NOSORT, NULL, &found))
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
        bytes += bytes_of(found.gl_pathv[i]);
    globfree(&found);
    return bytes;
}

double bt_patience_s(const char *model)
{
    char pattern[PATH_MAX];
    /* The first file of a split GGUF model stands for all of them. */
    const char *part = strstr(model, "-00001-of-");
    double bytes = bytes_of(model);
    (void)snprintf(pattern, sizeof pattern, "%s/*.safetensors", model);
    bytes += bytes_of_all(pattern);
    if (part) {
        (void)snprintf(pattern, sizeof pattern, "%.*s-*-of-*.gguf", (int)(part - model), model);
        bytes += bytes_of_all(pattern);
    }
    return 120 + 60 * (bytes / GIB);
}
