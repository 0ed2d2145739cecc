/* Selection of the item at which weights, added from the highest value down, reach a sum, for top-k
 * (every weight 1) and top-p. It does not sort: each pass adds the weights up in bins of equal
 * width over the values' bits, and continues in the bin where the sum is reached.
 *
 * Ownership: items are the caller's; a selection overwrites them and leaves those equal to the one
 *            it found in front.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_SAMPLING_SELECT_H
#define BATON_ENGINE_SAMPLING_SELECT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct baton_item {
    uint32_t key; /* baton_select_key of its value */
    float weight; /* > 0, the same for items with the same key */
};

/* Integers in the order of the floats; NaN is -infinity, -0 is 0. */
static inline uint32_t baton_select_key(float value)
{
    uint32_t bits;
    value = value >= -__builtin_inff() ? value + 0.0F : -__builtin_inff();
    memcpy(&bits, &value, sizeof bits);
    /* Flips all bits of negative values and the sign bit of others. A branch would be mispredicted,
     * since signs are random. */
    return bits ^ ((0 - (bits >> 31)) | UINT32_C(1) << 31);
}

static inline float baton_select_value(uint32_t key)
{
    float value;
    uint32_t bits = key ^ (((key >> 31) - 1) | UINT32_C(1) << 31);
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct baton_selected {
    uint32_t key;   /* of the item */
    size_t n_equal; /* items with that key, itself included */
    double above;   /* the weight of the items with greater keys */
};

/* Finds the greatest key for which the items with that key or a greater one weigh at least wanted,
 * or the least key if all together weigh less, which rounding may cause. items [n], n > 0. */
struct baton_selected baton_select(struct baton_item *items, size_t n, double wanted);

#endif
