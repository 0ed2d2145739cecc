/* Shapes by name, for random weights: those of published models, and a tiny one of every family.
 *
 * Ownership: constants.
 * Threading: any thread.
 * Errors:    INVALID with the names that exist.
 */
#ifndef BATON_TOOLS_SUPPORT_MACHINE_SHAPES_H
#define BATON_TOOLS_SUPPORT_MACHINE_SHAPES_H

#include "engine/arch/arch.h"

enum { BENCH_SHAPE_SEED = 1 }; /* seed of the weights of "shape:NAME" */

/* Returns the NAME of "shape:NAME"; NULL for any other text, which is a directory. */
const char *bench_shape_name(const char *model);

/* Writes the config.json without its last brace, so that members can be added. False when there is
 * no such shape. */
enum { BENCH_CONFIG_BYTES = 2048 };
bool bench_shape_config(const char *name, char text[BENCH_CONFIG_BYTES]);

/* Finds the architecture and the spec of a shape. option is named in the error. */
enum baton_err bench_shape_find(const char *option, const char *name,
                                const struct baton_arch **arch, struct baton_spec *spec,
                                struct baton_why *why) BATON_MUST_CHECK;

/* Reads the config that bench_shape_find evaluates. */
enum baton_err bench_shape_read(const char *option, const char *name,
                                struct baton_model_config *config,
                                struct baton_why *why) BATON_MUST_CHECK;

#endif
