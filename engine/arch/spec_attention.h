/* How many positions attention looks at: what it reads of the KV cache, and what it costs.
 *
 * A row at position p of a layer sees p + 1 positions, or the window's if these are fewer.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_ARCH_SPEC_ATTENTION_H
#define BATON_ENGINE_ARCH_SPEC_ATTENTION_H

#include "engine/arch/spec.h"

/* What the row that has n_positions before it and with it sees; window 0: all. */
double baton_spec_seen(int window, double n_positions);

/* The sum of that over n_rows rows that follow n_past positions. */
double baton_spec_seen_by_rows(int window, double n_past, double n_rows);

/* K and V elements of one position in all layers that hold them: 2 G D each. */
double baton_spec_kv_elements(const struct baton_spec *spec);

/* The window that most of attention's work is under, and the part of that work under it: query
 * heads of layers with a window over those of all. 0 and 0 without windows. */
int baton_spec_window(const struct baton_spec *spec);
double baton_spec_windowed_share(const struct baton_spec *spec);

#endif
