/* A body in TGI's words as the other routes' readers take it.
 *
 *     parameters: {temperature, ...}   members of the body itself; what stands there already stays
 *
 * Ownership: the tree is the caller's; it shares what it can with the body.
 * Threading: loop thread.
 * Errors:    NULL without memory. What is wrong in a body stays in it, for its readers.
 */
#ifndef BATON_GATEWAY_API_TGI_BODY_H
#define BATON_GATEWAY_API_TGI_BODY_H

#include "gateway/api/api.h"

struct baton_json *gw_tgi_body(const struct baton_json *body);

/* The field "parameters" of such a body: an object would have become members of the body. */
void gw_tgi_read_parameters(struct gw_fields *fields);

#endif
