/* The models on disk that have names, in the folders where `baton up --model NAME` looks:
 *
 *     --models DIR                    (BATON_MODELS)
 *     $XDG_DATA_HOME/baton/models     where `baton pull` puts them
 *     /var/lib/baton/models           of the package's services
 *     models/ of the source tree
 *
 * A model is a directory with a config.json, or a GGUF file. Of a split GGUF the first file stands
 * for all; projectors for images (mmproj) are no models.
 *
 * Ownership: the caller frees a store with bt_store_fini.
 * Threading: any thread.
 * Errors:    NO_MEMORY. Folders that cannot be read hold nothing.
 */
#ifndef BATON_TOOLS_BATON_MODELS_STORE_H
#define BATON_TOOLS_BATON_MODELS_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/base/error.h"

struct bt_stored {
    char name[NAME_MAX + 1]; /* the entry's, of a GGUF file without what names its format */
    char path[PATH_MAX];
    int64_t n_bytes;
    time_t modified; /* the latest of its files */
    bool is_file;    /* a GGUF file, or the first of a split one */
    bool is_gguf;    /* that, or a directory of one */
};

struct bt_store {
    struct bt_stored *models; /* in the order of the folders, then of names */
    size_t n;
};

/* models is the option --models; NULL or "": not given. */
enum baton_err bt_store_read(const char *models, struct bt_store *store,
                             struct baton_why *why) BATON_MUST_CHECK;
void bt_store_fini(struct bt_store *store);

/* Finds a model by its name or its file's; upper and lower case are one. NULL: there is none. */
const struct bt_stored *bt_store_find(const struct bt_store *store, const char *name);
/* Returns the name that is most like a mistyped one; NULL when none is. */
const char *bt_store_closest(const struct bt_store *store, const char *name);

/* NOT_FOUND names what may be meant, and the command that downloads a model. */
enum baton_err bt_store_refuse(const struct bt_store *store, const char *name,
                               struct baton_why *why) BATON_MUST_CHECK;

/* Finds the file or directory of a model by its path or its name. A directory with one GGUF model
 * stands for that. NOT_FOUND as above. */
enum baton_err bt_store_resolve(const char *models, const char *name, char path[PATH_MAX],
                                struct baton_why *why) BATON_MUST_CHECK;

/* Finds the one GGUF model of a directory without weights of its own. False when there is none, or
 * more than one. */
bool bt_only_gguf(const char *dir, char path[PATH_MAX]);

#endif
