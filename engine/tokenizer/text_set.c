#include "engine/tokenizer/text_set.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

void baton_text_set_fini(struct baton_text_set *set)
{
    free(set->entries);
    *set = (struct baton_text_set){0};
}

enum baton_err baton_text_set_add(struct baton_text_set *set, struct baton_text_entry entry)
{
    if (BATON_RESERVE(set->entries, set->cap, set->n + 1))
        return BATON_NO_MEMORY;
    set->entries[set->n++] = entry;
    return BATON_OK;
}

/* Orders by bytes, then by value; a text precedes the longer ones that begin with it. */
static int by_text(const void *a, const void *b)
{
    const struct baton_text_entry *x = a, *y = b;
    size_t n = x->n_bytes < y->n_bytes ? x->n_bytes : y->n_bytes;
    int order = memcmp(x->text, y->text, n);
    if (!order)
        order = (x->n_bytes > y->n_bytes) - (x->n_bytes < y->n_bytes);
    return order ? order : (x->value > y->value) - (x->value < y->value);
}

void baton_text_set_seal(struct baton_text_set *set)
{
    if (set->n)
        qsort(set->entries, set->n, sizeof *set->entries, by_text);
    /* Count the texts of each first byte, then sum: a search starts in the right range at once. */
    for (size_t i = 0; i < set->n; i++)
        set->begins[(unsigned char)set->entries[i].text[0] + 1]++;
    for (size_t c = 0; c < 256; c++)
        set->begins[c + 1] += set->begins[c];
}

bool baton_text_set_begin(const struct baton_text_set *set, char c, struct baton_text_range *range)
{
    const size_t *begins = &set->begins[(unsigned char)c];
    *range = (struct baton_text_range){.low = begins[0], .high = begins[1], .depth = 1};
    return range->low < range->high;
}

/* Returns the first entry of the range whose next byte is at least c. An entry that ends at the
 * range's depth counts as less than every byte. */
static size_t lower_bound(const struct baton_text_set *set, struct baton_text_range range,
                          unsigned c)
{
    while (range.low < range.high) {
        size_t middle = range.low + (range.high - range.low) / 2;
        const struct baton_text_entry *entry = &set->entries[middle];
        if (entry->n_bytes == range.depth || (unsigned char)entry->text[range.depth] < c)
            range.low = middle + 1;
        else
            range.high = middle;
    }
    return range.low;
}

bool baton_text_set_narrow(const struct baton_text_set *set, char c, struct baton_text_range *range)
{
    unsigned byte = (unsigned char)c;
    range->low = lower_bound(set, *range, byte);
    range->high = lower_bound(set, *range, byte + 1);
    range->depth++;
    return range->low < range->high;
}

const struct baton_text_entry *baton_text_set_complete(const struct baton_text_set *set,
                                                       const struct baton_text_range *range)
{
    const struct baton_text_entry *entry = &set->entries[range->low];
    return entry->n_bytes == range->depth ? entry : NULL;
}
