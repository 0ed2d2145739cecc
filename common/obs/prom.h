/* Writes the Prometheus text format, version 0.0.4, into a buffer.
 *
 *     baton_prom_family(out, "baton_requests_total", "counter", "Requests by outcome.");
 *     baton_prom_sample(out, "baton_requests_total", 3, "outcome", "ok", NULL);
 *
 * Ownership: the caller's buffer.
 * Threading: one owner at a time.
 * Errors:    stay in the buffer.
 */
#ifndef BATON_COMMON_OBS_PROM_H
#define BATON_COMMON_OBS_PROM_H

#include "common/base/buf.h"
#include "common/obs/hist.h"

/* Begins a family. type is "counter", "gauge" or "histogram". */
void baton_prom_family(struct baton_buf *out, const char *name, const char *type, const char *help);

/* Writes one sample. Names and values of labels alternate, and NULL ends them. */
void baton_prom_sample(struct baton_buf *out, const char *name, double value, ...)
    __attribute__((sentinel));

/* Writes the _bucket, _sum and _count samples of a histogram, with at most one label (NULL:
 * none). */
void baton_prom_hist(struct baton_buf *out, const char *name, const struct baton_hist *hist,
                     const char *label, const char *label_value);

#endif
