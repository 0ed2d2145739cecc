#include "tests/support/scratch.h"

#include "common/checkpoint/facts.h"

TEST(the_story_models_facts)
{
    struct baton_model_facts facts;
    struct baton_why why;
    assert_int_equal(baton_facts_read("models/tale", &facts, &why), BATON_OK);
    assert_string_equal(facts.name, "tale");
    assert_int_equal(facts.n_vocab, 2560);
    assert_int_equal(facts.n_context_tokens, 512);
    assert_int_equal(facts.n_eos, 1);
    assert_int_equal(facts.eos_ids[0], 2559);
    assert_int_equal(facts.bos_id, 2559);
}

TEST(what_is_missing_is_named)
{
    struct baton_model_facts facts;
    struct baton_why why;
    assert_int_equal(baton_facts_read(scratch, &facts, &why), BATON_NOT_FOUND);
    assert_non_null(strstr(why.text, "config.json"));
    write_scratch("config.json", "{\"vocab_size\":10}");
    assert_int_equal(baton_facts_read(scratch, &facts, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "n_positions"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_story_models_facts),
        IN_SCRATCH(what_is_missing_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
