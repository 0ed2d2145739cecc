/* A certificate's file and its key's, changed as the input says, are refused with a reason or used.
 *
 * Input: which file, then pairs of how far the next change is and what is changed there; a change
 * of 0 is the file's end. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/os/file.h"
#include "gateway/http/tls.h"
#include "tests/support/tls_peer.h"

struct kept { /* what a file holds, and the file that the changed bytes are written to */
    struct baton_buf bytes;
    int fd;
    char path[64];
};

static void keep(struct kept *kept, const char *path)
{
    baton_buf_init(&kept->bytes, 1 << 20);
    check(!baton_file_read(path, &kept->bytes, NULL));
    kept->fd = memfd_create("pem", MFD_CLOEXEC);
    check(kept->fd >= 0);
    (void)snprintf(kept->path, sizeof kept->path, "/proc/self/fd/%d", kept->fd);
}

static void write_changed(const struct kept *kept, const uint8_t *data, size_t size)
{
    size_t n = kept->bytes.len, at = 0;
    char *bytes = malloc(n);
    check(bytes != NULL);
    memcpy(bytes, kept->bytes.data, n);
    for (; size >= 2; data += 2, size -= 2) {
        at += data[0] * 4U + 1;
        if (at >= n)
            break;
        if (!data[1])
            n = at;
        else
            bytes[at] ^= (char)data[1];
    }
    check(!ftruncate(kept->fd, 0) && pwrite(kept->fd, bytes, n, 0) == (ssize_t)n);
    free(bytes);
}

static void keep_both(struct kept files[2])
{
    struct tls_files made;
    tls_files_make(&made);
    keep(&files[0], made.certfile);
    keep(&files[1], made.keyfile);
    tls_files_remove(&made);
}

FUZZ(data, size)
{
    static struct kept files[2];
    struct gw_tls_context *context = NULL;
    struct baton_why why = {""};
    if (!files[0].bytes.len)
        keep_both(files);
    int which = size ? data[0] & 1 : 0;
    write_changed(&files[which], data + !!size, size - !!size);
    write_changed(&files[!which], NULL, 0);
    if (gw_tls_context_open(files[0].path, files[1].path, &context, &why))
        check(!context && *why.text);
    else
        check(size >= 1 || context != NULL);
    gw_tls_context_close(context);
}
