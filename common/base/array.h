/* Arrays of a size known here.
 *
 * Pure.
 */
#ifndef BATON_COMMON_BASE_ARRAY_H
#define BATON_COMMON_BASE_ARRAY_H

/* How many elements an array has; not for pointers. */
#define BATON_N_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
