/* Small models of every form that a spec can ask for, of sizes that fill neither vectors nor tiles.
 *
 * Ownership: specs are the caller's.
 */
#ifndef BATON_TESTS_UNIT_ENGINE_COMPUTE_FORMS_H
#define BATON_TESTS_UNIT_ENGINE_COMPUTE_FORMS_H

#include "engine/arch/spec.h"

/* The index-th form's name, and its spec; NULL past the last. */
const char *forms_at(int index, int n_vocab, int n_context, struct baton_spec *spec);

#endif
