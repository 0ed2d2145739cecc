/* Finds the parts of Baton: beside this program, or in the source tree that it was built in.
 *
 * Ownership: paths are written to the caller's arrays.
 * Threading: any thread.
 * Errors:    NOT_FOUND with the places that were searched.
 */
#ifndef BATON_TOOLS_BATON_FLEET_INSTALL_H
#define BATON_TOOLS_BATON_FLEET_INSTALL_H

#include <limits.h>

#include <stdbool.h>

#include "common/base/error.h"

/* Writes the directory of this program. */
enum baton_err bt_own_directory(char path[PATH_MAX], struct baton_why *why) BATON_MUST_CHECK;

/* Finds a program of Baton: in bin or, if bin is NULL, in our own directory or by PATH. */
enum baton_err bt_find_program(const char *bin, const char *name, char path[PATH_MAX],
                               struct baton_why *why) BATON_MUST_CHECK;

/* Finds a file or directory of Baton's data: `installed` under share/baton, or `source` in the
 * tree. */
enum baton_err bt_find_data(const char *installed, const char *source, char path[PATH_MAX],
                            struct baton_why *why) BATON_MUST_CHECK;

#endif
