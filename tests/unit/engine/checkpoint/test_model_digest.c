#include "tests/support/scratch.h"

#include <glob.h>

#include "engine/checkpoint/digest/model.h"

static char model[PATH_MAX];
static struct baton_cache_dirs dirs;

/* A model whose weights are a link to a file that has not changed for long. */
SETUP(make_model)
{
    char target[PATH_MAX];
    assert_false(make_scratch(NULL));
    assert_non_null(realpath("models/tale/model.safetensors", target));
    (void)snprintf(model, sizeof model, "%s", scratch);
    baton_cache_dirs_find(in_scratch("cache"), model, &dirs);
    assert_int_equal(dirs.n, 1);
    assert_false(symlink(target, in_scratch("model.safetensors")));
}

static void digest(const struct baton_cache_dirs *cache, char hex[BATON_SHA256_HEX])
{
    struct baton_why why;
    assert_ok(baton_model_digest_weights(model, cache, hex, &why));
    assert_int_equal(strlen(hex), BATON_SHA256_HEX - 1);
}

static size_t n_memories(void)
{
    glob_t found = {0};
    size_t n = glob(in_scratch("cache/*"), 0, NULL, &found) ? 0 : found.gl_pathc;
    globfree(&found);
    return n;
}

/* Overwrites the byte at offset from the end of the one memory there is. */
static void spoil_memory(long offset, char byte)
{
    glob_t found = {0};
    assert_int_equal(glob(in_scratch("cache/*.digest"), 0, NULL, &found), 0);
    FILE *file = fopen(found.gl_pathv[0], "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, -offset, SEEK_END), 0);
    assert_int_equal(fputc(byte, file), byte);
    assert_int_equal(fclose(file), 0);
    globfree(&found);
}

TEST(a_digest_is_remembered)
{
    char hashed[BATON_SHA256_HEX], first[BATON_SHA256_HEX], second[BATON_SHA256_HEX];
    digest(NULL, hashed);
    assert_int_equal(n_memories(), 0);
    digest(&dirs, first);
    assert_string_equal(first, hashed);
    assert_int_equal(n_memories(), 1);
    /* The remembered digest is returned without a look at the file. */
    char last = hashed[BATON_SHA256_HEX - 2] == '0' ? '1' : '0';
    spoil_memory(2, last);
    digest(&dirs, second);
    assert_int_equal(second[BATON_SHA256_HEX - 2], last);
}

TEST(a_memory_that_is_not_whole_is_not_believed)
{
    char hashed[BATON_SHA256_HEX], again[BATON_SHA256_HEX];
    digest(&dirs, hashed);
    spoil_memory(2, 'g');
    digest(&dirs, again);
    assert_string_equal(again, hashed);
    spoil_memory(100, '#');
    digest(&dirs, again);
    assert_string_equal(again, hashed);
}

TEST(another_file_is_hashed_again_and_a_fresh_one_is_not_remembered)
{
    char before[BATON_SHA256_HEX], after[BATON_SHA256_HEX], later[BATON_SHA256_HEX];
    digest(&dirs, before);
    assert_int_equal(unlink(in_scratch("model.safetensors")), 0);
    write_scratch("model.safetensors", "weights");
    digest(&dirs, after);
    assert_string_not_equal(after, before);
    /* The same size, perhaps within one tick of the file system's clock. */
    write_scratch("model.safetensors", "weightz");
    digest(&dirs, later);
    assert_string_not_equal(later, after);
}

TEST(a_directory_that_cannot_be_written_only_costs_time)
{
    struct baton_cache_dirs unwritable = {.n = 1, .paths = {"/proc"}};
    char hashed[BATON_SHA256_HEX], again[BATON_SHA256_HEX];
    digest(NULL, hashed);
    digest(&unwritable, again);
    assert_string_equal(again, hashed);
}

TEST(missing_weights_are_not_found)
{
    char hex[BATON_SHA256_HEX];
    assert_int_equal(unlink(in_scratch("model.safetensors")), 0);
    assert_int_equal(baton_model_digest_weights(model, &dirs, hex, NULL), BATON_NOT_FOUND);
    assert_int_equal(baton_model_digest_weights(model, NULL, hex, NULL), BATON_NOT_FOUND);
}

EACH_TEST(make_model, remove_scratch)
