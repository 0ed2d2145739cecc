/* A JSON Schema, a regular expression or a GBNF grammar is refused with a reason, or masks tell of
 * every token what a walk over its bytes tells.
 *
 * Input: the first byte chooses the notation, the second which tokens are taken, the rest is the
 * text. */
#include "tests/fuzz/fuzz.h"

#include "common/base/array.h"
#include "engine/grammar/masks/matcher.h"
#include "engine/grammar/masks/plain_vocab.h"

static const char *const longer[] = {"\":", "\",\"", "{\"",  "}]", "true",     "12",
                                     "abc", "[[",    "\": ", "{}", "\xc3\xa9", "0.5"};
enum { N_LONGER = BATON_N_OF(longer), STOP = 256 + N_LONGER, N_VOCAB, N_STEPS = 6 };

static char bytes[256];

static const char *text_of(void *arg, uint32_t id, size_t *n)
{
    (void)arg;
    if (id >= STOP)
        return NULL;
    bytes[id < 256 ? id : 0] = (char)(id < 256 ? id : 0);
    *n = id < 256 ? 1 : strlen(longer[id - 256]);
    return id < 256 ? &bytes[id] : longer[id - 256];
}

static uint32_t after(struct baton_automaton *automaton, uint32_t position, uint32_t id)
{
    size_t n = 0;
    const char *text = text_of(NULL, id, &n);
    for (size_t i = 0; i < n; i++)
        position = baton_automaton_step(automaton, position, (uint8_t)text[i]);
    return position;
}

/* Compares the mask with the walk; returns the allowed token that the choice falls on, or STOP. */
static uint32_t compare(struct baton_matcher *matcher, struct baton_automaton *automaton,
                        uint32_t position, uint8_t choice)
{
    static const uint32_t stop = STOP;
    uint64_t mask[(N_VOCAB + 63) / 64];
    uint32_t allowed[N_VOCAB], n_allowed = 0;
    baton_matcher_mask(matcher, &stop, 1, N_VOCAB, mask);
    for (uint32_t id = 0; id < STOP; id++) {
        bool is_set = mask[id / 64] >> (id % 64) & 1;
        check(is_set == (after(automaton, position, id) != BATON_NOWHERE));
        if (is_set)
            allowed[n_allowed++] = id;
    }
    bool may_stop = mask[STOP / 64] >> (STOP % 64) & 1;
    check(may_stop == (!n_allowed || baton_automaton_accepts(automaton, position)));
    return n_allowed ? allowed[choice % n_allowed] : STOP;
}

static void walk(struct baton_grammar *grammar, const struct baton_network *network, uint8_t choice)
{
    struct baton_automaton *automaton = baton_automaton_create(network);
    struct baton_matcher *matcher = baton_matcher_create(grammar);
    uint32_t position = baton_automaton_start(automaton);
    for (int i = 0; i < N_STEPS; i++) {
        uint32_t id = compare(matcher, automaton, position, (uint8_t)(choice * (i + 1)));
        if (id == STOP)
            break;
        baton_matcher_accept(matcher, id);
        position = after(automaton, position, id);
    }
    baton_matcher_destroy(matcher);
    baton_automaton_destroy(automaton);
}

FUZZ(data, size)
{
    static struct baton_token_trie *trie;
    struct baton_network *network;
    struct baton_grammar *grammar;
    struct baton_why why = {""};
    if (size < 2)
        return;
    if (!trie)
        check(!baton_token_trie_create(N_VOCAB, text_of, NULL, &trie) &&
              !baton_plain_vocab_add(trie));
    struct baton_grammar_text text = {.kind = (enum baton_grammar_kind)(1 + data[0] % 4),
                                      .bytes = calloc(1, size - 1),
                                      .n = size - 2};
    check(text.bytes != NULL);
    memcpy(text.bytes, data + 2, text.n);
    if (baton_grammar_read(text.kind, text.bytes, text.n, &network, &why)) {
        check(*why.text);
    } else {
        check(!baton_grammar_create(&text, trie, &grammar, &why));
        walk(grammar, network, data[1]);
        baton_grammar_release(grammar);
        baton_network_destroy(network);
    }
    free(text.bytes);
}
