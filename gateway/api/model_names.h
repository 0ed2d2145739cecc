/* The names by which clients may request the model.
 *
 * Ownership: the list's texts belong to it.
 * Threading: loop thread; gw_model_names_gives: any.
 * Errors:    gw_model_names_parse: INVALID with the name's number; NO_MEMORY. gw_model_names_add:
 *            LIMIT, NO_MEMORY.
 */
#ifndef BATON_GATEWAY_API_MODEL_NAMES_H
#define BATON_GATEWAY_API_MODEL_NAMES_H

#include <stdbool.h>

#include "common/base/error.h"

enum { GW_MAX_MODEL_NAMES = 16, GW_MAX_MODEL_NAME_BYTES = 128 };

struct gw_model_names {
    int n, n_given; /* the others were added, and belong to the list one by one */
    const char *list[GW_MAX_MODEL_NAMES]; /* answers show the first */
    bool is_any;                          /* clients may use any name */
    char *text;
};

/* list: names separated by commas, "*" for any; "" or "*" alone for the model's own, which is
 * borrowed. */
enum baton_err gw_model_names_parse(struct gw_model_names *names, const char *list, const char *own,
                                    struct baton_why *why) BATON_MUST_CHECK;
/* Whether the list has the name, and whether clients may use it. */
bool gw_model_names_lists(const struct gw_model_names *names, const char *name);
bool gw_model_names_has(const struct gw_model_names *names, const char *name);
/* Whether it is one of the names that the list was made with. */
bool gw_model_names_gives(const struct gw_model_names *names, const char *name);
/* Adds a copy of the name at the end, unless the list has it. */
enum baton_err gw_model_names_add(struct gw_model_names *names, const char *name) BATON_MUST_CHECK;
/* Removes a name that was added. False: there is no such name. */
bool gw_model_names_remove(struct gw_model_names *names, const char *name);
/* Zeroed names are allowed. */
void gw_model_names_fini(struct gw_model_names *names);

#endif
