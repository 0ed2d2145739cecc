#include "common/grammar/grammar_set.h"

#include <string.h>

void baton_grammar_set_init(struct baton_grammar_set *set, baton_load_trie_fn load, void *arg)
{
    *set = (struct baton_grammar_set){.load = load, .arg = arg};
}

void baton_grammar_set_fini(struct baton_grammar_set *set)
{
    for (int i = 0; i < BATON_MAX_GRAMMARS; i++)
        baton_grammar_release(set->kept[i].grammar);
    baton_token_trie_destroy(set->trie);
    *set = (struct baton_grammar_set){0};
}

/* The grammar of that digest, or the place of the one used longest ago. */
static struct baton_kept_grammar *place_for(struct baton_grammar_set *set,
                                            enum baton_grammar_kind kind, const uint8_t *digest)
{
    struct baton_kept_grammar *oldest = set->kept;
    for (int i = 0; i < BATON_MAX_GRAMMARS; i++) {
        struct baton_kept_grammar *kept = &set->kept[i];
        if (kept->grammar && kept->kind == kind &&
            !memcmp(kept->digest, digest, sizeof kept->digest))
            return kept;
        if (kept->used < oldest->used)
            oldest = kept;
    }
    return oldest;
}

static enum baton_err find(struct baton_grammar_set *set, const struct baton_grammar_text *text,
                           struct baton_grammar **grammar, struct baton_why *why)
{
    uint8_t digest[BATON_SHA256_BYTES];
    enum baton_err err = baton_sha256_of(text->bytes, text->n, digest);
    if (err)
        return err;
    struct baton_kept_grammar *place = place_for(set, text->kind, digest);
    bool is_kept = place->grammar && place->kind == text->kind &&
                   !memcmp(place->digest, digest, sizeof digest);
    if (!is_kept) {
        struct baton_grammar *made;
        err = baton_grammar_create(text, set->trie, &made, why);
        if (err)
            return err;
        baton_grammar_release(place->grammar);
        *place = (struct baton_kept_grammar){.kind = text->kind, .grammar = made};
        memcpy(place->digest, digest, sizeof digest);
    }
    place->used = ++set->now;
    *grammar = place->grammar;
    return BATON_OK;
}

enum baton_err baton_grammar_set_match(struct baton_grammar_set *set,
                                       const struct baton_grammar_text *text,
                                       struct baton_matcher **matcher, struct baton_why *why)
{
    struct baton_grammar *grammar = NULL;
    enum baton_err err = set->trie ? BATON_OK : set->load(set->arg, &set->trie, why);
    if (!err)
        err = find(set, text, &grammar, why);
    if (err)
        return err;
    struct baton_matcher *made = baton_matcher_create(grammar);
    if (!made)
        return BATON_NO_MEMORY;
    *matcher = made;
    return BATON_OK;
}
