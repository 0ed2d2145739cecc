#include "common/worker/step_line.h"

#include <math.h>

/* The guess weighs as much as so many steps of which half have no rows and half have twice the
 * mean; how many rows the base is worth by it. */
static const double guess_steps = 16, guess_rows = 10;
static const double memory_s = 20;

void baton_step_line_note(struct baton_step_line *line, double rows, double seconds)
{
    double kept = seconds < memory_s ? 1 - seconds / memory_s : 0;
    line->n = line->n * kept + 1;
    line->rows = line->rows * kept + rows;
    line->seconds = line->seconds * kept + seconds;
    line->rows_squared = line->rows_squared * kept + rows * rows;
    line->products = line->products * kept + rows * seconds;
}

void baton_step_line_fit(const struct baton_step_line *line, double *base_s, double *per_row_s)
{
    *base_s = *per_row_s = 0;
    if (!(line->n > 0) || !(line->rows > 0))
        return;
    double rows = line->rows / line->n, seconds = line->seconds / line->n;
    double variance = fmax(line->rows_squared / line->n - rows * rows, 0);
    double covariance = line->products / line->n - rows * seconds;
    double guess = seconds / (guess_rows + rows);
    double weight = guess_steps * rows * rows;
    double slope = (line->n * covariance + weight * guess) / (line->n * variance + weight);
    *per_row_s = fmin(fmax(slope, 0), seconds / rows);
    *base_s = fmax(seconds - *per_row_s * rows, 0); /* a rounding error may be on either side */
}
