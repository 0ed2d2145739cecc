/* The results of one of Anthropic's batches: the lines of its files in Anthropic's form.
 *
 * Ownership: the source owns its files.
 * Threading: made on the loop, read on libuv's pool.
 * Errors:    arg NULL: a file cannot be opened, or no memory.
 */
#ifndef BATON_GATEWAY_API_BATCHES_RESULTS_H
#define BATON_GATEWAY_API_BATCHES_RESULTS_H

#include "gateway/api/batches/batch.h"
#include "gateway/api/files/download.h"

struct gw_download_source gw_batch_results(const struct gw_disk *disk,
                                           const struct gw_batch *batch);

#endif
