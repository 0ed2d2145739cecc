#include "tests/support/test.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "engine/grammar/set.h"

/* A set whose vocabulary comes when the test says so. */
struct stand {
    struct baton_grammar_set set;
    sem_t may_load, made;
    enum baton_err load_err;
    int n_loads, n_made;
};

enum { N_VOCAB = 256 };

static const char *text_of(void *arg, uint32_t id, size_t *n)
{
    static char bytes[N_VOCAB];
    (void)arg;
    bytes[id] = (char)id;
    *n = 1;
    return &bytes[id];
}

static enum baton_err load(void *arg, struct baton_token_trie **trie, struct baton_why *why)
{
    struct stand *stand = arg;
    (void)sem_wait(&stand->may_load);
    stand->n_loads++;
    if (stand->load_err)
        return baton_fail(why, stand->load_err, "no vocabulary");
    return baton_token_trie_create(N_VOCAB, text_of, NULL, trie);
}

static void made(void *arg, enum baton_err err, const struct baton_why *why, double made_s)
{
    struct stand *stand = arg;
    assert_true(!err == !*why->text && made_s >= 0);
    stand->n_made++;
    (void)sem_post(&stand->made);
}

static void begin(struct stand *stand)
{
    *stand = (struct stand){0};
    assert_int_equal(sem_init(&stand->may_load, 0, 0), 0);
    assert_int_equal(sem_init(&stand->made, 0, 0), 0);
    baton_grammar_set_init(&stand->set,
                           &(struct baton_grammar_hooks){.arg = stand, .load = load, .made = made});
}

static void end(struct stand *stand)
{
    baton_grammar_set_fini(&stand->set);
    (void)sem_destroy(&stand->may_load);
    (void)sem_destroy(&stand->made);
}

static struct baton_matcher *match(struct stand *stand, const char *regex)
{
    struct baton_matcher *matcher = NULL;
    const struct baton_grammar_text text = {
        .kind = BATON_GRAMMAR_REGEX, .bytes = (char *)(uintptr_t)regex, .n = strlen(regex)};
    assert_ok(baton_grammar_set_match(&stand->set, &text, &matcher));
    return matcher;
}

static void assert_only(struct baton_matcher *matcher, char allowed)
{
    uint64_t mask[N_VOCAB / 64], wanted[N_VOCAB / 64] = {0};
    wanted[allowed / 64] = (uint64_t)1 << (allowed % 64);
    baton_matcher_mask(matcher, NULL, 0, N_VOCAB, mask);
    assert_memory_equal(mask, wanted, sizeof mask);
}

TEST(matchers_replay_tokens_accepted_before_their_grammar_is_compiled)
{
    struct stand stand;
    begin(&stand);
    struct baton_matcher *first = match(&stand, "a{99}b"), *other = match(&stand, "cd");
    struct baton_matcher *leaves = match(&stand, "a{99}b");
    for (int i = 0; i < 99; i++)
        baton_matcher_accept(first, 'a');
    assert_int_equal(baton_matcher_state(first), BATON_AGAIN);
    assert_int_equal(baton_matcher_state(other), BATON_AGAIN);
    baton_matcher_destroy(leaves);
    (void)sem_post(&stand.may_load);
    (void)sem_wait(&stand.made);
    (void)sem_wait(&stand.made);
    assert_ok(baton_matcher_state(first));
    assert_ok(baton_matcher_state(other));
    assert_only(first, 'b');
    assert_only(other, 'c');
    struct baton_matcher *later = match(&stand, "cd");
    assert_ok(baton_matcher_state(later));
    baton_matcher_accept(later, 'c');
    assert_only(later, 'd');
    assert_int_equal(stand.n_loads, 1);
    assert_int_equal(stand.n_made, 2);
    baton_matcher_destroy(first);
    baton_matcher_destroy(other);
    baton_matcher_destroy(later);
    end(&stand);
}

TEST(a_failed_grammar_is_compiled_again_for_the_next_matcher)
{
    struct stand stand;
    begin(&stand);
    stand.load_err = BATON_IO;
    struct baton_matcher *early = match(&stand, "ab");
    (void)sem_post(&stand.may_load);
    (void)sem_wait(&stand.made);
    assert_int_equal(baton_matcher_state(early), BATON_IO);
    stand.load_err = BATON_OK;
    (void)sem_post(&stand.may_load);
    struct baton_matcher *late = match(&stand, "ab"), *wrong = match(&stand, "(");
    (void)sem_wait(&stand.made);
    (void)sem_wait(&stand.made);
    assert_int_equal(baton_matcher_state(early), BATON_IO);
    assert_ok(baton_matcher_state(late));
    assert_int_equal(baton_matcher_state(wrong), BATON_INVALID);
    assert_only(late, 'a');
    baton_matcher_destroy(early);
    baton_matcher_destroy(late);
    baton_matcher_destroy(wrong);
    end(&stand);
}

TEST(a_set_ends_with_grammars_that_were_never_made)
{
    struct stand stand;
    begin(&stand);
    (void)sem_post(&stand.may_load);
    for (int i = 0; i < BATON_MAX_GRAMMARS * 2; i++) {
        const char regex[] = {(char)('a' + i % 26), i < 26 ? '?' : '*', 0};
        baton_matcher_destroy(match(&stand, regex));
    }
    end(&stand);
}
