/* What a step costs by how many rows it has: seconds = base + rows x per_row, fitted to the steps
 * of the last seconds of work.
 *
 * Steps that were all of one size do not tell the two apart. Until others come, the fit assumes a
 * fixed ratio of base to per_row (prior_base_rows in step_line.c).
 *
 * Ownership: plain data; zeroed it knows nothing.
 * Threading: one thread.
 * Errors:    none.
 */
#ifndef BATON_WORKER_STEP_LINE_H
#define BATON_WORKER_STEP_LINE_H

struct baton_step_line {
    double n, rows, seconds, rows_squared, products; /* sums, which all fade alike */
};

/* A step of so many rows took so long. */
void baton_step_line_note(struct baton_step_line *line, double rows, double seconds);

/* Both 0: nothing is known yet. Never negative. */
void baton_step_line_fit(const struct baton_step_line *line, double *base_s, double *per_row_s);

#endif
