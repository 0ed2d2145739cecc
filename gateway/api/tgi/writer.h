/* The answers of TGI's routes, whole or as server-sent events.
 *
 *     {"generated_text", "details"?}                                  whole
 *     {"index", "token", "generated_text": null, "details": null}     for every token
 *     {"index", "token", "generated_text", "details"}                 for the last one
 *
 * Ownership: see gateway/api/completion/writer.h.
 * Threading: loop thread.
 * Errors:    an answer that does not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_TGI_WRITER_H
#define BATON_GATEWAY_API_TGI_WRITER_H

#include "gateway/api/completion/writer.h"
#include "gateway/api/route.h"

struct gw_tgi_options {
    bool details; /* the answer has details of the tokens */
};

extern const struct gw_answer_writer gw_tgi_writer;

/* {"error":"message","error_type":"validation"}, also with the code and the field at fault. */
extern const struct gw_error_shape gw_tgi_errors;

#endif
