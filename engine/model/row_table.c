#include "engine/model/row_table.h"

#include "engine/model/random_weights.h"

void baton_row_table_read(const struct baton_row_table *table, int row, float *floats)
{
    size_t n = (size_t)table->source.n_in, first = (size_t)row * n;
    if (table->weights) {
        baton_weights_read(&table->source, row, 1, floats);
        return;
    }
    for (size_t i = 0; i < n; i++)
        floats[i] = baton_random_weight(table->seed, first + i);
}

void baton_row_table_close(struct baton_row_table *table)
{
    baton_weights_close(table->weights);
    *table = (struct baton_row_table){0};
}
