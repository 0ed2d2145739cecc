/* The value that stands for {name} in a route's path, with its percent-escapes decoded.
 *
 * Ownership: the value goes to the caller's buffer.
 * Threading: pure.
 * Errors:    a value that does not fit, or that holds a zero byte, is "", which names nothing.
 */
#ifndef BATON_GATEWAY_API_PATH_PARAM_H
#define BATON_GATEWAY_API_PATH_PARAM_H

#include <stddef.h>

enum { GW_PATH_PARAM_BYTES = 512 };

/* Decodes the n bytes at path, in which each '%' has two hexadecimal digits. Returns value. */
const char *gw_path_param(const char *path, size_t n, char value[GW_PATH_PARAM_BYTES]);

#endif
