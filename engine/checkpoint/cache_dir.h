/* The directories for results derived from a model's files: packed weights, digests.
 *
 * Any of them may be deleted at any time; it is made again.
 *
 * Ownership: plain data in the caller's struct.
 * Threading: any thread.
 * Errors:    none: having no directory is a valid answer.
 */
#ifndef BATON_ENGINE_CHECKPOINT_CACHE_DIR_H
#define BATON_ENGINE_CHECKPOINT_CACHE_DIR_H

#include <limits.h>
#include <sys/types.h>

enum { BATON_CACHE_MAX_DIRS = 2 };

/* A reader looks in all of them, in this order; a writer takes the first that it can write to. A
 * file there is believed only if nobody but this user, root and the owner may have written it
 * (common/base/os/file.h): whoever owns the model, or a directory that the operator named, is
 * trusted anyway. */
struct baton_cache_dirs {
    int n;
    uid_t owners[BATON_CACHE_MAX_DIRS];
    char paths[BATON_CACHE_MAX_DIRS][PATH_MAX];
};

/* Finds the directories for a model. option is a directory (created when its parent exists), "" or
 * NULL for none, or "auto": .baton in the model's directory, or in that of its file, then
 * $XDG_CACHE_HOME/baton or ~/.cache/baton. A directory that cannot be created is left out; a
 * read-only one is kept. */
void baton_cache_dirs_find(const char *option, const char *model_path,
                           struct baton_cache_dirs *dirs);

#endif
