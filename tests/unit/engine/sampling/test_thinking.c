#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "engine/sampling/sampled_token.h"

/* A vocabulary of all bytes, and of tokens with more of them. */
enum { THINK = 256, END_THINK, END_AND_BREAK, CHANNEL, N_VOCAB };

static const char *text_of(void *arg, uint32_t id, size_t *n)
{
    static char bytes[256];
    static const char *const longer[] = {"\xff<think>", "\xff</think>", "</think>\n\n",
                                         "\xff<|channel|>"};
    (void)arg;
    if (id >= 256) {
        *n = strlen(longer[id - 256]);
        return longer[id - 256];
    }
    bytes[id] = (char)id;
    *n = 1;
    return id == BATON_SPECIAL_MARK ? NULL : &bytes[id];
}

static struct baton_token_trie *trie;
static struct baton_grammar *grammar;

SETUP(set_up)
{
    static char any[] = "a";
    const struct baton_grammar_text text = {.kind = BATON_GRAMMAR_REGEX, .bytes = any, .n = 1};
    struct baton_why why;
    assert_ok(baton_token_trie_create(N_VOCAB, text_of, NULL, &trie));
    assert_ok(baton_grammar_create(&text, trie, &grammar, &why));
}

TEARDOWN(tear_down)
{
    baton_grammar_release(grammar);
    baton_token_trie_destroy(trie);
}

static uint32_t close_ids[] = {END_THINK, '\n', '!'};

static struct baton_thinking_budget budget_of(uint32_t max_tokens, bool is_open)
{
    return (struct baton_thinking_budget){.begin = "<think>",
                                          .end = "</think>",
                                          .is_open = is_open,
                                          .max_tokens = max_tokens,
                                          .close = close_ids,
                                          .n_close = 3,
                                          .n_first = 2};
}

static struct baton_thinking *thinking_of(const struct baton_thinking_budget *budget)
{
    struct baton_thinking *thinking;
    assert_ok(baton_thinking_create(budget, baton_matcher_create(grammar), &thinking));
    assert_ok(baton_thinking_state(thinking));
    return thinking;
}

/* Returns the token that is forced; 0: none. */
static uint32_t forced(struct baton_thinking *thinking)
{
    uint32_t token = 0;
    return baton_thinking_forces(thinking, &token) ? token : 0;
}

/* Writes a text of the model's: T is <think>, E is </think>, and the forced tokens where any are.
 * Returns the text that came out. */
static const char *write_out(const struct baton_thinking_budget *budget, const char *wanted)
{
    static char out[128];
    struct baton_thinking *thinking = thinking_of(budget);
    size_t n = 0;
    for (; *wanted && n + 1 < sizeof out; n++) {
        uint32_t token = forced(thinking);
        if (!token) {
            token = *wanted == 'T' ? THINK : *wanted == 'E' ? END_THINK : (uint32_t)*wanted;
            wanted++;
        }
        out[n] = token == THINK ? 'T' : token == END_THINK ? 'E' : (char)token;
        baton_thinking_accept(thinking, token);
    }
    for (uint32_t token; (token = forced(thinking)) && n + 1 < sizeof out; n++) {
        out[n] = token == END_THINK ? 'E' : (char)token;
        baton_thinking_accept(thinking, token);
    }
    out[n] = 0;
    baton_thinking_destroy(thinking);
    return out;
}

TEST(a_thought_is_closed_after_its_tokens)
{
    static const struct {
        uint32_t max_tokens;
        bool is_open;
        const char *wanted, *got;
    } cases[] = {
        {3, true, "abcdefgh", "abcE\ndefgh"},
        {3, true, "abEcdefgh", "abEcdefgh"},
        {3, true, "abcEdefgh", "abcE\nEdefgh"}, /* the model's own end comes too late */
        {2, false, "Tabcdef", "TabE\ncdef"},
        {2, false, " \nTabcdef", " \nTabE\ncdef"},
        {2, false, "<think>abcdef", "<think>abE\ncdef"},
        {2, false, "<thinker>abcdef", "<thinker>abcdef"},
        {2, false, "abcTdef", "abcTdef"}, /* a later marker is text */
        {9, true, "a</think>bcdefghijk", "a</think>bcdefghijk"},
        {10, true, "a<</think>bcdefghijk", "a<</think>bcdefghijk"},
        {5, true, "</think", "</thiE\nnk"},
        {0, true, "abc", "E\nabc"},
        {0, false, "Tabc", "TE\nabc"},
        {0, false, "abc", "abc"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct baton_thinking_budget budget =
            budget_of(cases[i].max_tokens, cases[i].is_open);
        assert_string_equal(write_out(&budget, cases[i].wanted), cases[i].got);
    }
}

TEST(a_token_may_hold_the_end_and_more)
{
    const struct baton_thinking_budget budget = budget_of(2, true);
    struct baton_thinking *thinking = thinking_of(&budget);
    baton_thinking_accept(thinking, 'a');
    baton_thinking_accept(thinking, END_AND_BREAK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(forced(thinking), 0);
        baton_thinking_accept(thinking, 'b');
    }
    baton_thinking_destroy(thinking);
}

TEST(thoughts_that_may_come_again_share_one_budget)
{
    struct baton_thinking_budget budget = budget_of(3, false);
    budget.repeats = true;
    assert_string_equal(write_out(&budget, "xTabEyTcdefT"), "xTabEyTcE\ndefTE\n!");
}

TEST(dropped_tokens_were_never_written)
{
    const struct baton_thinking_budget budget = budget_of(2, false);
    struct baton_thinking *thinking = thinking_of(&budget);
    const uint32_t tokens[] = {THINK, 'a', 'b', END_THINK, '\n', 'c'};
    const uint32_t wanted[] = {0, 0, 0, END_THINK, '\n', 0};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(forced(thinking), wanted[i]);
        for (size_t j = i; j < 6; j++)
            baton_thinking_accept(thinking, tokens[j]);
        for (size_t j = i; j < 6; j++)
            baton_thinking_drop(thinking);
        assert_int_equal(forced(thinking), wanted[i]);
        baton_thinking_accept(thinking, tokens[i]);
    }
    baton_thinking_destroy(thinking);
}

TEST(tokens_that_come_before_the_vocabulary_count)
{
    static char any[] = "a";
    const struct baton_grammar_text text = {.kind = BATON_GRAMMAR_REGEX, .bytes = any, .n = 1};
    const struct baton_thinking_budget budget = budget_of(2, true);
    struct baton_grammar *late = baton_grammar_begin();
    struct baton_thinking *thinking;
    struct baton_why why;
    assert_ok(baton_thinking_create(&budget, baton_matcher_create(late), &thinking));
    baton_thinking_accept(thinking, 'a');
    baton_thinking_accept(thinking, 'b');
    assert_int_equal(baton_thinking_state(thinking), BATON_AGAIN);
    assert_ok(baton_grammar_make(late, &text, trie, &why));
    assert_ok(baton_thinking_state(thinking));
    assert_int_equal(forced(thinking), END_THINK);
    baton_thinking_destroy(thinking);
    baton_grammar_release(late);
}

/* ---- in a sequence ---- */

static uint32_t sample(struct baton_sampler *sampler, const struct baton_sampling_state *state)
{
    float logits[N_VOCAB] = {0};
    struct baton_sampled_token sampled;
    logits['z'] = 50;
    baton_sampled_token_make(&sampled, sampler, state, logits, 0);
    return sampled.token;
}

TEST(a_sequence_gets_the_forced_token_whatever_its_logit)
{
    const struct baton_thinking_budget budget = budget_of(1, true);
    struct baton_sampler *sampler = baton_sampler_create(N_VOCAB);
    for (int temperature = 0; temperature < 2; temperature++) {
        struct baton_sampling_state state = {.params = {BATON_SAMPLING_DEFAULTS, .min_tokens = 9},
                                             .thinking = thinking_of(&budget)};
        state.params.temperature = temperature;
        state.params.stop_ids[0] = END_THINK;
        state.params.n_stop_ids = 1;
        assert_int_equal(sample(sampler, &state), 'z');
        baton_sampling_state_accept(&state, 'z');
        assert_int_equal(sample(sampler, &state), END_THINK);
        baton_sampling_state_accept(&state, END_THINK);
        assert_int_equal(sample(sampler, &state), '\n');
        baton_sampling_state_drop(&state, END_THINK);
        baton_sampling_state_drop(&state, 'z');
        assert_int_equal(sample(sampler, &state), 'z');
        baton_sampling_state_fini(&state);
    }
    baton_sampler_destroy(sampler);
}

TEST(a_grammar_outweighs_the_budget)
{
    const struct baton_thinking_budget budget = budget_of(1, true);
    struct baton_sampler *sampler = baton_sampler_create(N_VOCAB);
    struct baton_sampling_state state = {.params = {BATON_SAMPLING_DEFAULTS},
                                         .matcher = baton_matcher_create(grammar),
                                         .thinking = thinking_of(&budget)};
    baton_sampling_state_accept(&state, 'z');
    baton_matcher_drop(state.matcher);
    assert_int_equal(sample(sampler, &state), 'a');
    baton_sampling_state_fini(&state);
    baton_sampler_destroy(sampler);
}

EACH_TEST(set_up, tear_down)
