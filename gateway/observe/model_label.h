/* Joins the metrics of several models: each text has the same families, whose samples get the label
 * `model`. Prometheus wants all samples of a family together.
 *
 * Ownership: borrows the texts.
 * Threading: pure.
 * Errors:    stick in the output buffer.
 */
#ifndef BATON_GATEWAY_OBSERVE_MODEL_LABEL_H
#define BATON_GATEWAY_OBSERVE_MODEL_LABEL_H

#include "common/base/buf.h"

/* The metrics of a model, as Prometheus' text in the form of common/obs/prom.h. */
struct gw_model_text {
    const char *model; /* the label's value */
    const char *text;
    const char *at; /* 0 at first: where the next family is expected */
};

/* Appends the families of all n texts, in the order of the first text that has them. */
void gw_model_label_join(struct baton_buf *out, struct gw_model_text *texts, size_t n);

#endif
