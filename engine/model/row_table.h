/* A table of which a forward reads one row for each token. It stays in the file, in the file's
 * type: packed it would take more memory than all layers, and a row is all that a token needs.
 *
 * Ownership: the table owns the open weights until closed.
 * Threading: immutable once set; any thread reads.
 * Errors:    none. A file that is cut short while it is mapped kills the process, as for weights.
 */
#ifndef BATON_ENGINE_MODEL_ROW_TABLE_H
#define BATON_ENGINE_MODEL_ROW_TABLE_H

#include <stdint.h>

#include "engine/checkpoint/weights/weights.h"

struct baton_row_table {
    struct baton_weights *weights; /* that keep the file mapped; NULL: rows are random */
    struct baton_weights_source source;
    uint64_t seed; /* of weight 0, where rows are random */
};

/* Reads a row as floats [source.n_in]. */
void baton_row_table_read(const struct baton_row_table *table, int row, float *floats);

void baton_row_table_close(struct baton_row_table *table);

#endif
