#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/grammar/masks/matcher.h"
#include "engine/grammar/masks/plain_vocab.h"

/* Tokens of one byte for all texts, and longer ones that cross the borders of rules. */
static const char *const longer[] = {"\":",
                                     "\",\"",
                                     "{\"",
                                     "}]",
                                     "],",
                                     "true",
                                     "null",
                                     "12",
                                     "abc",
                                     "\\\"",
                                     "[[",
                                     "]]",
                                     "\": ",
                                     ", \"",
                                     "a\"}",
                                     "1]",
                                     "\"a\":",
                                     "{}",
                                     "}}",
                                     "}}}}",
                                     "[1,",
                                     "\xc3",
                                     "\xa9",
                                     "\xc3\xa9",
                                     "0.5",
                                     "-1",
                                     "false",
                                     "abc\",",
                                     "\xe6\x97\xa5\xf0\x9f\x98\x80",
                                     "ab\n",
                                     "\xe6\x97\xa5\xe6",
                                     "a  b",
                                     "\xed\xa0",
                                     "n the string of more than 32 characters\"",
                                     "abcdefghijklmnopqrstuvwxyz0123456789"};
enum { N_LONGER = BATON_N_OF(longer), N_VOCAB = 256 + N_LONGER + 1 };
static const uint32_t stop = N_VOCAB - 1;
static char bytes[256];

static const char *text_of(void *arg, uint32_t id, size_t *n)
{
    (void)arg;
    bytes[id < 256 ? id : 0] = (char)(id < 256 ? id : 0);
    *n = id < 256 ? 1 : id < stop ? strlen(longer[id - 256]) : 0;
    return id < 256 ? &bytes[id] : id < stop ? longer[id - 256] : NULL;
}

static const struct baton_grammar_text grammars[] = {
#define TEXT(of_kind, text)                                                                        \
    {                                                                                              \
        BATON_GRAMMAR_##of_kind, (char *)(uintptr_t)(text), sizeof(text) - 1                       \
    }
    TEXT(JSON_SCHEMA, "{\"type\":\"object\"}"),
    TEXT(JSON_SCHEMA, "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":3}}"),
    TEXT(JSON_SCHEMA, "{\"type\":\"string\",\"minLength\":2,\"maxLength\":50}"),
    TEXT(STRUCTURE, "{\"type\":\"any_text\",\"excludes\":[\"bc\",\"}}\"]}"),
    TEXT(JSON_SCHEMA, "{\"properties\":{\"a\":{},\"abc\":{\"$ref\":\"#\"}}}"),
    TEXT(JSON_SCHEMA, "{\"anyOf\":[{\"type\":\"number\",\"minimum\":0.25},{\"enum\":[\"a\",12]}]}"),
    TEXT(REGEX, "(a|ab|abc|b)*[^0-9]{0,3}"),
    TEXT(GBNF, "root ::= \"[\" root* \"]\" | \"a\" root \"a\" | \"1\""),
};

/* Whether the token may come, byte by byte. */
static bool is_allowed(struct baton_automaton *automaton, const char *path, size_t n_path,
                       uint32_t id)
{
    size_t n;
    const char *text = text_of(NULL, id, &n);
    uint32_t position = baton_automaton_start(automaton);
    for (size_t i = 0; i < n_path; i++)
        position = baton_automaton_step(automaton, position, (uint8_t)path[i]);
    if (id == stop)
        return baton_automaton_accepts(automaton, position);
    for (size_t i = 0; i < n; i++)
        position = baton_automaton_step(automaton, position, (uint8_t)text[i]);
    return position != BATON_NOWHERE;
}

static void compare(const struct baton_grammar_text *text, const struct baton_token_trie *trie,
                    unsigned seed)
{
    struct baton_grammar *grammar;
    struct baton_network *network;
    struct baton_why why = {""};
    uint64_t mask[(N_VOCAB + 63) / 64];
    char path[512];
    size_t n_path = 0, n;
    assert_ok(baton_grammar_create(text, trie, &grammar, &why));
    assert_ok(baton_grammar_read(text->kind, text->bytes, text->n, &network, &why));
    struct baton_automaton *automaton = baton_automaton_create(network);
    struct baton_matcher *matcher = baton_matcher_create(grammar);
    for (int step = 0; step < 60; step++) {
        uint32_t allowed[N_VOCAB], n_allowed = 0;
        baton_matcher_mask(matcher, &stop, 1, N_VOCAB, mask);
        for (uint32_t id = 0; id < N_VOCAB; id++) {
            bool is_set = mask[id / 64] >> (id % 64) & 1;
            if (is_set != is_allowed(automaton, path, n_path, id))
                fail_msg("%s after %.*s: token %u", text->bytes, (int)n_path, path, id);
            if (is_set && id != stop)
                allowed[n_allowed++] = id;
        }
        if (!n_allowed)
            break;
        uint32_t id = allowed[rand_r(&seed) % n_allowed];
        baton_matcher_accept(matcher, allowed[0]); /* and back */
        baton_matcher_drop(matcher);
        baton_matcher_accept(matcher, id);
        const char *bytes_of = text_of(NULL, id, &n);
        memcpy(path + n_path, bytes_of, n);
        n_path += n;
    }
    baton_matcher_destroy(matcher);
    baton_grammar_release(grammar);
    baton_automaton_destroy(automaton);
    baton_network_destroy(network);
}

static void compare_all(bool with_plain)
{
    struct baton_token_trie *trie;
    assert_ok(baton_token_trie_create(N_VOCAB, text_of, NULL, &trie));
    if (with_plain)
        assert_ok(baton_plain_vocab_add(trie));
    for (size_t i = 0; i < BATON_N_OF(grammars); i++)
        for (unsigned seed = 1; seed <= 10; seed++)
            compare(&grammars[i], trie, seed);
    baton_token_trie_destroy(trie);
}

TEST(masks_are_those_of_each_token_by_itself)
{
    compare_all(false);
}

TEST(masks_are_the_same_with_plain_characters_by_number)
{
    compare_all(true);
}

static int forced_after(const char *path, uint32_t *tokens, int n_max)
{
    static const struct baton_grammar_text text =
        TEXT(JSON_SCHEMA, "{\"properties\":{\"abc\":{\"type\":\"null\"},\"12\":{\"const\":true}},"
                          "\"required\":[\"abc\",\"12\"]}");
    struct baton_token_trie *trie;
    struct baton_grammar *grammar;
    struct baton_why why = {""};
    assert_ok(baton_token_trie_create(N_VOCAB, text_of, NULL, &trie));
    assert_ok(baton_grammar_create(&text, trie, &grammar, &why));
    struct baton_matcher *matcher = baton_matcher_create(grammar);
    for (; *path; path++)
        baton_matcher_accept(matcher, (uint8_t)*path);
    int n = baton_matcher_forced(matcher, tokens, n_max);
    baton_matcher_destroy(matcher);
    baton_grammar_release(grammar);
    baton_token_trie_destroy(trie);
    return n;
}

static uint32_t id_of(const char *text)
{
    uint32_t id = 256;
    while (strcmp(longer[id - 256], text) != 0)
        id++;
    return id;
}

TEST(forced_text_is_split_into_the_longest_tokens)
{
    uint32_t tokens[8];
    assert_int_equal(forced_after("{\"", tokens, 8), 2);
    assert_int_equal(tokens[0], id_of("abc"));
    assert_int_equal(tokens[1], id_of("\":"));
    assert_int_equal(forced_after("{\"", tokens, 1), 1);
    assert_int_equal(forced_after("{\"abc\":n", tokens, 8), 4); /* "ull,": byte by byte */
    assert_int_equal(tokens[2], 'l');
    assert_int_equal(forced_after("{", tokens, 8), 0); /* white space, or a quote */
    assert_int_equal(forced_after("{\"abc\":null,\"12\":true}", tokens, 8), 0);
    assert_int_equal(forced_after("x", tokens, 8), 0);
}
