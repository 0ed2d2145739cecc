#include "common/base/closest.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 96, MIN_PREFIX = 3 };

static int least(int a, int b, int c)
{
    int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

int baton_word_distance(const char *a, const char *b)
{
    int rows[3][WORD_BYTES], n = (int)strnlen(b, WORD_BYTES - 1), i = 0;
    for (int j = 0; j <= n; j++)
        rows[0][j] = j;
    for (i = 1; a[i - 1]; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            row[j] = least(row[j - 1] + 1, above[j] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1, INT_MAX);
        }
    }
    return rows[(i + 2) % 3][n];
}

/* Keeps letters and digits, in lower case. */
static int simplify(const char *word, char simple[WORD_BYTES])
{
    int n = 0;
    for (; *word && n < WORD_BYTES - 1; word++)
        if (isalnum((unsigned char)*word))
            simple[n++] = (char)tolower((unsigned char)*word);
    simple[n] = '\0';
    return n;
}

void baton_closest_try(struct baton_closest *closest, const char *candidate)
{
    char word[WORD_BYTES], other[WORD_BYTES];
    int n = simplify(closest->word, word), n_other = simplify(candidate, other);
    int distance = baton_word_distance(word, other);
    bool begins = n >= MIN_PREFIX && !strncmp(word, other, (size_t)n);
    int limit = (n < n_other ? n : n_other) / 3;
    if (!n || (distance > (limit ? limit : 1) && !begins) || (distance >= n && !begins) ||
        (closest->best && distance >= closest->distance))
        return;
    closest->best = candidate;
    closest->distance = distance;
}
