/* The parts of a body of multipart/form-data (RFC 7578).
 *
 * Ownership: parts are views into the body and the header.
 * Threading: any thread.
 * Errors:    a body that is not well-formed ends early; ended says whether its last line came.
 */
#ifndef BATON_GATEWAY_API_FILES_FORM_H
#define BATON_GATEWAY_API_FILES_FORM_H

#include "gateway/http/reader.h"

struct gw_form {
    struct gw_view boundary, rest;
    bool has_ended;
};

struct gw_form_part {
    struct gw_view name, filename, contents;
    bool is_file; /* it has a file name */
};

/* content_type is the header's value. False: it is not that of a form. */
bool gw_form_begin(struct gw_form *form, const char *content_type, struct gw_view body);
/* The next part; false: there is none. */
bool gw_form_next(struct gw_form *form, struct gw_form_part *part);

#endif
