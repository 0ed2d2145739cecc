#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/checkpoint/model_dir.h"

#define MODEL "models/tale"

static char dir[64];

static void write_file(const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

SETUP(make_dir)
{
    (void)strcpy(dir, "/tmp/baton-model-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

TEARDOWN(remove_dir)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command); /* NOLINT(cert-env33-c): a path of our own */
}

TEST(the_story_models_facts)
{
    struct baton_model_facts facts;
    struct baton_why why;
    assert_int_equal(baton_model_dir_facts(MODEL, &facts, &why), BATON_OK);
    assert_string_equal(facts.name, "tale");
    assert_int_equal(facts.n_vocab, 2560);
    assert_int_equal(facts.n_context_tokens, 512);
    assert_int_equal(facts.n_eos, 1);
    assert_int_equal(facts.eos_ids[0], 2559);
    assert_int_equal(facts.bos_id, 2559);
}

TEST(a_fingerprint_names_each_part)
{
    struct baton_fingerprint whole, light;
    struct baton_why why;
    assert_int_equal(baton_model_dir_fingerprint(MODEL, NULL, true, &whole, &why), BATON_OK);
    assert_int_equal(baton_model_dir_fingerprint(MODEL, NULL, false, &light, &why), BATON_OK);
    assert_int_equal(strlen(whole.weights), 64);
    assert_string_equal(light.weights, "");
    assert_string_equal(light.config, whole.config);
    assert_string_equal(light.tokenizer, whole.tokenizer);
    assert_string_not_equal(whole.config, whole.tokenizer);
}

TEST(every_byte_counts)
{
    struct baton_fingerprint a, b;
    struct baton_why why;
    write_file("config.json", "{}");
    write_file("vocab.json", "{}");
    write_file("merges.txt", "x");
    write_file("model.safetensors", "weights");
    assert_int_equal(baton_model_dir_fingerprint(dir, NULL, true, &a, &why), BATON_OK);
    write_file("model.safetensors", "weightz");
    assert_int_equal(baton_model_dir_fingerprint(dir, NULL, true, &b, &why), BATON_OK);
    assert_string_not_equal(a.weights, b.weights);
    assert_string_equal(a.tokenizer, b.tokenizer);
}

static enum baton_err count(void *arg, const char *path, struct baton_why *why)
{
    (void)path;
    (void)why;
    ++*(int *)arg;
    return BATON_OK;
}

TEST(shards_are_visited_once_each_and_may_not_point_elsewhere)
{
    struct baton_why why;
    int n = 0;
    write_file("model.safetensors.index.json", "{\"weight_map\":{\"a\":\"2.safetensors\",\"b\":\"1."
                                               "safetensors\",\"c\":\"1.safetensors\"}}");
    assert_int_equal(baton_model_dir_weights(dir, count, &n, &why), BATON_OK);
    assert_int_equal(n, 2);
    write_file("model.safetensors.index.json", "{\"weight_map\":{\"a\":\"../secret\"}}");
    assert_int_equal(baton_model_dir_weights(dir, count, &n, &why), BATON_INVALID);
}

TEST(what_is_missing_is_named)
{
    struct baton_model_facts facts;
    struct baton_fingerprint fingerprint;
    struct baton_why why;
    assert_int_equal(baton_model_dir_facts(dir, &facts, &why), BATON_NOT_FOUND);
    assert_non_null(strstr(why.text, "config.json"));
    write_file("config.json", "{\"vocab_size\":10}");
    assert_int_equal(baton_model_dir_facts(dir, &facts, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "n_positions"));
    write_file("tokenizer.json", "{}");
    assert_int_equal(baton_model_dir_fingerprint(dir, NULL, true, &fingerprint, &why),
                     BATON_NOT_FOUND);
    assert_non_null(strstr(why.text, "model.safetensors"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_story_models_facts),
        cmocka_unit_test(a_fingerprint_names_each_part),
        cmocka_unit_test_setup_teardown(every_byte_counts, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(shards_are_visited_once_each_and_may_not_point_elsewhere,
                                        make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_missing_is_named, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
