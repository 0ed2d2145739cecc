/* Shapes by name, for random weights: of published models, and a tiny one of every family.
 *
 * Ownership: constants.
 * Threading: any thread.
 * Errors:    INVALID with the names there are.
 */
#ifndef BATON_TOOLS_SUPPORT_MACHINE_SHAPES_H
#define BATON_TOOLS_SUPPORT_MACHINE_SHAPES_H

#include "engine/arch/arch.h"

enum { BENCH_SHAPE_SEED = 1 }; /* of the weights of "shape:NAME" */

/* The NAME of "shape:NAME"; NULL for anything else, which is a directory. */
const char *bench_shape_name(const char *model);

/* Its config.json without the last brace, so that more can be said. false: no such shape. */
enum { BENCH_CONFIG_BYTES = 2048 };
bool bench_shape_config(const char *name, char text[BENCH_CONFIG_BYTES]);

/* option is what the name was given with, for the message. */
enum baton_err bench_shape_find(const char *option, const char *name,
                                const struct baton_arch **arch, struct baton_spec *spec,
                                struct baton_why *why) BATON_MUST_CHECK;

/* What find reads. */
enum baton_err bench_shape_read(const char *option, const char *name,
                                struct baton_model_config *config,
                                struct baton_why *why) BATON_MUST_CHECK;

#endif
