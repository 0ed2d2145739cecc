#include "engine/arch/spec_attention.h"

double baton_spec_seen(int window, double n_positions)
{
    return window && window < n_positions ? window : n_positions;
}

/* Rows see one position more each until the window is full. */
double baton_spec_seen_by_rows(int window, double n_past, double n_rows)
{
    double n_growing = n_rows;
    if (window && n_past + n_rows > window)
        n_growing = n_past < window ? window - n_past : 0;
    return n_growing * n_past + n_growing * (n_growing + 1) / 2 + (n_rows - n_growing) * window;
}

double baton_spec_kv_elements(const struct baton_spec *spec)
{
    double n = 0;
    for (int i = 0; i < spec->n_layers; i++)
        if (baton_spec_stores_kv(spec, i))
            n += 2.0 * baton_spec_kv_width(spec, i);
    return n;
}

/* Query heads' width of the layers with this window; of all when it is negative. */
static double width_under(const struct baton_spec *spec, int window)
{
    double n = 0;
    for (int i = 0; i < spec->n_layers; i++)
        if (window < 0 || spec->layers[i].window == window)
            n += baton_spec_q_width(spec, i);
    return n;
}

int baton_spec_window(const struct baton_spec *spec)
{
    int most = 0;
    for (int i = 0; i < spec->n_layers; i++) {
        int window = spec->layers[i].window;
        if (window && (!most || width_under(spec, window) > width_under(spec, most)))
            most = window;
    }
    return most;
}

double baton_spec_windowed_share(const struct baton_spec *spec)
{
    int window = baton_spec_window(spec);
    return window ? width_under(spec, window) / width_under(spec, -1) : 0;
}
