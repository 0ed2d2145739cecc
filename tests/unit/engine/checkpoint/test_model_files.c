#include "tests/support/scratch.h"

#include "engine/checkpoint/model_files.h"

#define INDEX "model.safetensors.index.json"

/* The base names that were visited, each followed by a space. */
struct visited {
    char names[128];
};

static enum baton_err note(void *arg, const char *path, struct baton_why *why)
{
    struct visited *visited = arg;
    size_t n = strlen(visited->names);
    (void)why;
    (void)snprintf(visited->names + n, sizeof visited->names - n, "%s ", strrchr(path, '/') + 1);
    return BATON_OK;
}

static void assert_visited(enum baton_model_part part, const char *names)
{
    struct visited visited = {.names = ""};
    struct baton_why why = {.text = ""};
    if (baton_model_files_visit(scratch, part, note, &visited, &why))
        fail_msg("%s", why.text);
    assert_string_equal(visited.names, names);
}

static void assert_refused(const char *index, enum baton_err expected)
{
    struct visited visited = {.names = ""};
    struct baton_why why = {.text = ""};
    write_scratch(INDEX, index);
    assert_int_equal(baton_model_files_visit(scratch, BATON_PART_WEIGHTS, note, &visited, &why),
                     expected);
    assert_string_equal(visited.names, "");
    assert_string_not_equal(why.text, "");
}

TEST(a_part_that_is_missing_is_visited_so_that_opening_it_names_it)
{
    assert_visited(BATON_PART_CONFIG, "config.json ");
    assert_visited(BATON_PART_TOKENIZER, "vocab.json merges.txt ");
    assert_visited(BATON_PART_WEIGHTS, "model.safetensors ");
}

TEST(one_file_goes_before_several)
{
    write_scratch("vocab.json", "{}");
    write_scratch("merges.txt", "");
    write_scratch(INDEX, "{\"weight_map\":{\"a\":\"1.safetensors\"}}");
    assert_visited(BATON_PART_TOKENIZER, "vocab.json merges.txt ");
    assert_visited(BATON_PART_WEIGHTS, "1.safetensors ");
    write_scratch("tokenizer.json", "{}");
    write_scratch("model.safetensors", "");
    assert_visited(BATON_PART_TOKENIZER, "tokenizer.json ");
    assert_visited(BATON_PART_WEIGHTS, "model.safetensors ");
}

TEST(shards_are_visited_once_each_and_in_order_of_name)
{
    write_scratch(INDEX, "{\"weight_map\":{\"a\":\"2.safetensors\",\"b\":\"1.safetensors\","
                         "\"c\":\"1.safetensors\"}}");
    assert_visited(BATON_PART_WEIGHTS, "1.safetensors 2.safetensors ");
}

TEST(an_index_may_not_point_elsewhere)
{
    assert_refused("{\"weight_map\":{\"a\":\"../secret\"}}", BATON_INVALID);
    assert_refused("{\"weight_map\":{\"a\":\".secret\"}}", BATON_INVALID);
    assert_refused("{\"weight_map\":{\"a\":\"\"}}", BATON_INVALID);
    assert_refused("{\"weight_map\":{\"a\":7}}", BATON_INVALID);
    assert_refused("[]", BATON_INVALID);
    assert_refused("{", BATON_INVALID);
}

EACH_TEST(make_scratch, remove_scratch)
