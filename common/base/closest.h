/* Finds the word that somebody meant who mistyped it.
 *
 * Ownership: the caller's; candidates must outlive it.
 * Threading: pure.
 * Errors:    none; best stays NULL when no candidate is near.
 */
#ifndef BATON_COMMON_BASE_CLOSEST_H
#define BATON_COMMON_BASE_CLOSEST_H

/* Returns the number of letters to insert, delete, replace or swap (Levenshtein, Damerau); letters
 * beyond the 95th of b do not count. */
int baton_word_distance(const char *a, const char *b);

/* Begins with {.word = ...}. */
struct baton_closest {
    const char *word, *best;
    int distance; /* of best */
};

/* Takes the candidate if it is near, nearer than those before it: at most one letter in three
 * differs, signs and case aside, or it begins with the word. */
void baton_closest_try(struct baton_closest *closest, const char *candidate);

#endif
