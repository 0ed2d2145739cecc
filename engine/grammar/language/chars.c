#include "engine/grammar/language/chars.h"

#include <string.h>

static void insert(struct baton_chars *chars, uint32_t at, uint32_t low, uint32_t high)
{
    if (chars->n == BATON_CHARS_MAX_RANGES) {
        chars->full = true;
        return;
    }
    memmove(chars->ranges + at + 1, chars->ranges + at, (chars->n - at) * sizeof chars->ranges[0]);
    chars->ranges[at] = (struct baton_char_range){low, high};
    chars->n++;
}

static void erase(struct baton_chars *chars, uint32_t at, uint32_t n)
{
    memmove(chars->ranges + at, chars->ranges + at + n,
            (chars->n - at - n) * sizeof chars->ranges[0]);
    chars->n -= n;
}

void baton_chars_add(struct baton_chars *chars, uint32_t low, uint32_t high)
{
    uint32_t at = 0, n = 0;
    while (at < chars->n && chars->ranges[at].high + 1 < low)
        at++;
    /* high + 1 does not overflow: the last code point is far below. */
    for (; at + n < chars->n && chars->ranges[at + n].low <= high + 1; n++) {
        low = chars->ranges[at + n].low < low ? chars->ranges[at + n].low : low;
        high = chars->ranges[at + n].high > high ? chars->ranges[at + n].high : high;
    }
    erase(chars, at, n);
    insert(chars, at, low, high);
}

void baton_chars_remove(struct baton_chars *chars, uint32_t low, uint32_t high)
{
    for (uint32_t i = 0; i < chars->n;) {
        struct baton_char_range range = chars->ranges[i];
        if (range.high < low || range.low > high) {
            i++;
            continue;
        }
        erase(chars, i, 1);
        if (range.low < low)
            insert(chars, i++, range.low, low - 1);
        if (range.high > high)
            insert(chars, i++, high + 1, range.high);
    }
}

void baton_chars_add_all(struct baton_chars *chars, const struct baton_chars *others)
{
    chars->full |= others->full;
    for (uint32_t i = 0; i < others->n; i++)
        baton_chars_add(chars, others->ranges[i].low, others->ranges[i].high);
}

void baton_chars_negate(struct baton_chars *chars)
{
    struct baton_chars removed = *chars;
    chars->n = 0;
    baton_chars_add(chars, 0, BATON_LAST_CHAR);
    for (uint32_t i = 0; i < removed.n; i++)
        baton_chars_remove(chars, removed.ranges[i].low, removed.ranges[i].high);
}

bool baton_chars_has(const struct baton_chars *chars, uint32_t c)
{
    for (uint32_t i = 0; i < chars->n; i++)
        if (chars->ranges[i].low <= c && c <= chars->ranges[i].high)
            return true;
    return false;
}
