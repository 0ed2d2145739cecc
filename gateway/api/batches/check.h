/* Checks a file of requests before the first one is sent.
 *
 * Ownership: *errors is the caller's.
 * Threading: any thread.
 * Errors:    IO, NO_MEMORY; what is wrong with the requests is in *errors.
 */
#ifndef BATON_GATEWAY_API_BATCHES_CHECK_H
#define BATON_GATEWAY_API_BATCHES_CHECK_H

#include "common/base/json.h"
#include "common/batch/lines.h"

/* Reads all lines. *total is the number of the last one with a request; *errors an array of {code,
 * line, message, param}, or NULL if all are valid requests to the endpoint with custom_ids of their
 * own. */
enum baton_err gw_batch_check(struct baton_lines *lines, const char *endpoint, uint64_t *total,
                              struct baton_json **errors) BATON_MUST_CHECK;

/* The custom_ids of a batch. A zeroed set is empty. */
struct gw_id_set {
    uint64_t *hashes;
};
/* False: it is in the set already, or *no_memory. */
bool gw_id_set_add(struct gw_id_set *set, const char *id, size_t n, bool *no_memory);
void gw_id_set_fini(struct gw_id_set *set);

/* Whether the line has no request. */
bool gw_batch_is_blank(const struct baton_buf *line);

/* An array of one such error; line 0: of the whole. NULL: no memory. */
struct baton_json *gw_batch_error(const char *code, uint64_t line, const char *message);

#endif
