#include "engine/sampling/select.h"

/* Neighbours in memory go to different sets of bins: of two consecutive additions to one bin, the
 * second would wait for the first. */
enum { BIN_BITS = 9, N_BINS = 1 << BIN_BITS, N_SETS = 4 };

struct range {
    uint32_t least, most;
};

static struct range range_of(const struct baton_item *items, size_t n)
{
    struct range range = {UINT32_MAX, 0};
    for (size_t i = 0; i < n; i++) {
        range.least = items[i].key < range.least ? items[i].key : range.least;
        range.most = items[i].key > range.most ? items[i].key : range.most;
    }
    return range;
}

/* The shift of keys by which the whole range fits the bins. */
static int shift_for(struct range range)
{
    uint32_t span = range.most - range.least;
    int n_bits = span ? 32 - __builtin_clz(span) : 0;
    return n_bits > BIN_BITS ? n_bits - BIN_BITS : 0;
}

static void fill_bins(const struct baton_item *items, size_t n, uint32_t least, int shift,
                      double sets[N_SETS][N_BINS])
{
    memset(sets, 0, N_SETS * sizeof sets[0]);
    for (size_t i = 0; i < n; i++)
        sets[i % N_SETS][(items[i].key - least) >> shift] += items[i].weight;
}

/* The bin, from the highest down, in which *above reaches wanted, or the last bin with weight when
 * rounding keeps the sum below wanted. On return *above is the weight of all higher bins. */
static uint32_t crossing(const double sets[N_SETS][N_BINS], double wanted, double *above)
{
    double sum = *above;
    uint32_t found = 0;
    for (int bin = N_BINS - 1; bin >= 0; bin--) {
        double weight = (sets[0][bin] + sets[1][bin]) + (sets[2][bin] + sets[3][bin]);
        if (!(weight > 0))
            continue;
        found = (uint32_t)bin;
        *above = sum;
        sum += weight;
        if (sum >= wanted)
            break;
    }
    return found;
}

static size_t keep_bin(struct baton_item *items, size_t n, uint32_t least, int shift, uint32_t bin)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct baton_item item = items[i];
        items[n_kept] = item; /* always: no branch on the key */
        n_kept += (item.key - least) >> shift == bin;
    }
    return n_kept;
}

struct baton_selected baton_select(struct baton_item *items, size_t n, double wanted)
{
    double sets[N_SETS][N_BINS], above = 0;
    struct range range = range_of(items, n);
    /* A round leaves the keys of one bin, which differ in 9 bits fewer: at most four rounds. */
    while (range.least < range.most) {
        int shift = shift_for(range);
        fill_bins(items, n, range.least, shift, sets);
        n = keep_bin(items, n, range.least, shift, crossing(sets, wanted, &above));
        range = range_of(items, n);
    }
    return (struct baton_selected){.key = range.least, .n_equal = n, .above = above};
}
