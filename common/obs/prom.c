#include "common/obs/prom.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void baton_prom_family(struct baton_buf *out, const char *name, const char *type, const char *help)
{
    baton_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_label(struct baton_buf *out, char separator, const char *label, const char *value)
{
    baton_buf_printf(out, "%c%s=\"", separator, label);
    for (; *value; value++) {
        if (*value == '\n')
            baton_buf_puts(out, "\\n");
        else if (*value == '"' || *value == '\\')
            baton_buf_printf(out, "\\%c", *value);
        else
            baton_buf_putc(out, *value);
    }
    baton_buf_putc(out, '"');
}

/* Prometheus does not read printf's "-nan" as a number. */
static void put_value(struct baton_buf *out, double value)
{
    if (isnan(value))
        baton_buf_puts(out, "NaN\n");
    else if (isinf(value))
        baton_buf_puts(out, value > 0 ? "+Inf\n" : "-Inf\n");
    else
        baton_buf_printf(out, "%.15g\n", value);
}

void baton_prom_sample(struct baton_buf *out, const char *name, double value, ...)
{
    va_list labels;
    char separator = '{';
    va_start(labels, value);
    baton_buf_puts(out, name);
    for (const char *label; (label = va_arg(labels, const char *)); separator = ',')
        put_label(out, separator, label, va_arg(labels, const char *));
    va_end(labels);
    baton_buf_puts(out, separator == ',' ? "} " : " ");
    put_value(out, value);
}

static void put_series(struct baton_buf *out, const char *name, const char *suffix,
                       const char *label, const char *label_value, const char *bound)
{
    char separator = '{';
    baton_buf_printf(out, "%s%s", name, suffix);
    if (label) {
        put_label(out, separator, label, label_value);
        separator = ',';
    }
    if (bound) {
        put_label(out, separator, "le", bound);
        separator = ',';
    }
    baton_buf_puts(out, separator == ',' ? "} " : " ");
}

void baton_prom_hist(struct baton_buf *out, const char *name, const struct baton_hist *hist,
                     const char *label, const char *label_value)
{
    uint64_t below = 0;
    for (int i = 0; i <= BATON_HIST_BUCKETS; i++) {
        char bound[32] = "+Inf";
        if (i < BATON_HIST_BUCKETS)
            (void)snprintf(bound, sizeof bound, "%g", baton_hist_bounds_s[i]);
        /* Buckets are cumulative: each counts all durations up to its bound. */
        below += hist->counts[i];
        put_series(out, name, "_bucket", label, label_value, bound);
        baton_buf_printf(out, "%" PRIu64 "\n", below);
    }
    put_series(out, name, "_sum", label, label_value, NULL);
    baton_buf_printf(out, "%.9g\n", hist->sum_s);
    put_series(out, name, "_count", label, label_value, NULL);
    baton_buf_printf(out, "%" PRIu64 "\n", hist->n);
}
