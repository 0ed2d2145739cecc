/* Errors as TGI's clients read them.
 *
 * Ownership: writes into the caller's buffer.
 * Threading: loop thread.
 * Errors:    those of the buffer.
 */
#ifndef BATON_GATEWAY_API_TGI_ERROR_H
#define BATON_GATEWAY_API_TGI_ERROR_H

#include "gateway/http/server.h"

/* The exchange's errors have their shape: {"error":"message","error_type":"validation"}, with the
 * code and the field at fault beside. */
void gw_tgi_mark(struct gw_exchange *exchange);

#endif
