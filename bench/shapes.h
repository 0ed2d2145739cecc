/* Shapes of published models by name, for random weights.
 *
 * Ownership: constants.
 * Threading: any thread.
 * Errors:    INVALID with the names there are.
 */
#ifndef BATON_BENCH_SHAPES_H
#define BATON_BENCH_SHAPES_H

#include "common/arch/arch.h"

enum { BENCH_SHAPE_SEED = 1 }; /* of the weights of "shape:NAME" */

/* The NAME of "shape:NAME"; NULL for anything else, which is a directory. */
const char *bench_shape_name(const char *model);

/* Its config.json without the last brace, so that more can be said; NULL: no such shape. */
const char *bench_shape_config(const char *name);

/* option is what the name was given with, for the message. */
enum baton_err bench_shape_find(const char *option, const char *name,
                                const struct baton_arch **arch, struct baton_spec *spec,
                                struct baton_why *why) BATON_MUST_CHECK;

#endif
