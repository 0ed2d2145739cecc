#include "tests/support/scratch.h"

#include "engine/checkpoint/digest/fingerprint.h"

#define MODEL "models/tale"

TEST_ALONE(a_fingerprint_names_each_part)
{
    struct baton_fingerprint whole, light;
    struct baton_why why;
    assert_ok(baton_fingerprint_take(MODEL, NULL, true, &whole, &why));
    assert_ok(baton_fingerprint_take(MODEL, NULL, false, &light, &why));
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
    write_scratch("config.json", "{}");
    write_scratch("vocab.json", "{}");
    write_scratch("merges.txt", "x");
    write_scratch("model.safetensors", "weights");
    assert_ok(baton_fingerprint_take(scratch, NULL, true, &a, &why));
    write_scratch("model.safetensors", "weightz");
    assert_ok(baton_fingerprint_take(scratch, NULL, true, &b, &why));
    assert_string_not_equal(a.weights, b.weights);
    assert_string_equal(a.tokenizer, b.tokenizer);
}

TEST(a_part_that_is_missing_is_named)
{
    struct baton_fingerprint fingerprint = {.config = "as it was"};
    struct baton_why why;
    assert_int_equal(baton_fingerprint_take(scratch, NULL, true, &fingerprint, &why),
                     BATON_NOT_FOUND);
    assert_non_null(strstr(why.text, "config.json"));
    write_scratch("config.json", "{}");
    assert_int_equal(baton_fingerprint_take(scratch, NULL, true, &fingerprint, &why),
                     BATON_NOT_FOUND);
    assert_non_null(strstr(why.text, "vocab.json"));
    write_scratch("tokenizer.json", "{}");
    assert_int_equal(baton_fingerprint_take(scratch, NULL, true, &fingerprint, &why),
                     BATON_NOT_FOUND);
    assert_non_null(strstr(why.text, "model.safetensors"));
    assert_string_equal(fingerprint.config, "as it was");
    assert_ok(baton_fingerprint_take(scratch, NULL, false, &fingerprint, &why));
}

EACH_TEST(make_scratch, remove_scratch)
