/* A main for fuzz drivers in builds without libFuzzer: runs every file of the directories named on
 * the command line through the driver, once. */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/base/buf.h"
#include "common/base/os/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX_BYTES = 64 << 20 };

static int replay_file(const char *path)
{
    struct baton_buf input;
    struct baton_why why;
    baton_buf_init(&input, INPUT_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &input, &why);
    if (err) {
        (void)fprintf(stderr, "%s\n", why.text);
    } else {
        /* An exact-size copy, so that a sanitizer sees a read past the end. */
        uint8_t *exact = malloc(input.len ? input.len : 1);
        for (size_t i = 0; exact && i < input.len; i++)
            exact[i] = (uint8_t)input.data[i];
        if (exact)
            (void)LLVMFuzzerTestOneInput(exact, input.len);
        free(exact);
    }
    baton_buf_fini(&input);
    return err ? 1 : 0;
}

int main(int argc, char **argv)
{
    int n_files = 0, failed = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (!dir) {
            perror(argv[i]);
            return 1;
        }
        for (const struct dirent *entry; (entry = readdir(dir));) {
            char path[PATH_MAX];
            if (entry->d_name[0] == '.')
                continue;
            (void)snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            failed |= replay_file(path);
            n_files++;
        }
        closedir(dir);
    }
    (void)printf("replayed %d inputs\n", n_files);
    return failed || !n_files;
}
