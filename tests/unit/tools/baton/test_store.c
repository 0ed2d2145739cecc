#include "tests/support/scratch.h"

#include <sys/stat.h>

#include "tools/baton/models/store.h"

/* Nothing of the user's own takes part. */
static int make_store(void **state)
{
    (void)state;
    int status = make_scratch(state);
    (void)setenv("XDG_DATA_HOME", in_scratch("data"), 1);
    static const char *const directories[] = {"Plain-1B", "one-gguf", "two-gguf", "notes",
                                              ".part.incomplete"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        status |= mkdir(in_scratch(directories[i]), 0700);
    static const char *const files[] = {"Plain-1B/config.json",
                                        "Plain-1B/model.safetensors",
                                        "one-gguf/a.gguf",
                                        "one-gguf/mmproj-a.gguf",
                                        "two-gguf/a.gguf",
                                        "two-gguf/b.gguf",
                                        "notes/README.md",
                                        ".part.incomplete/config.json",
                                        "file-Q8_0.gguf",
                                        "mmproj-file.gguf",
                                        "parts-00001-of-00002.gguf",
                                        "parts-00002-of-00002.gguf"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        write_scratch(files[i], "12345");
    return status;
}

static const struct bt_stored *find(const struct bt_store *store, const char *name)
{
    const struct bt_stored *model = bt_store_find(store, name);
    return model && !strncmp(model->path, scratch, strlen(scratch)) ? model : NULL;
}

TEST(models_are_directories_and_gguf_files)
{
    static const struct {
        const char *name;
        int64_t n_bytes;
        bool is_file;
    } expected[] = {{"Plain-1B", 10, false},
                    {"plain-1b", 10, false},
                    {"one-gguf", 10, false},
                    {"file-Q8_0", 5, true},
                    {"file-Q8_0.gguf", 5, true},
                    {"parts", 10, true},
                    {"parts-00001-of-00002.gguf", 10, true}};
    static const char *const none[] = {
        "two-gguf", "notes", "mmproj-file", ".part.incomplete", "parts-00002-of-00002.gguf",
        "plain",    ""};
    struct bt_store store;
    assert_int_equal(bt_store_read(scratch, &store, NULL), BATON_OK);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct bt_stored *model = find(&store, expected[i].name);
        assert_non_null(model);
        assert_int_equal(model->n_bytes, expected[i].n_bytes);
        assert_int_equal(model->is_file, expected[i].is_file);
        assert_true(model->modified > 0);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(find(&store, none[i]));
    bt_store_fini(&store);
}

TEST(a_mistyped_name_finds_the_one_that_is_meant)
{
    static const char *const cases[][2] = {{"plain1b", "Plain-1B"},  {"plain-1", "Plain-1B"},
                                           {"file-q8", "file-Q8_0"}, {"prats", "parts"},
                                           {"llama-3.2-1b", NULL},   {"x", NULL}};
    struct bt_store store;
    assert_int_equal(bt_store_read(scratch, &store, NULL), BATON_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *meant = bt_store_closest(&store, cases[i][0]);
        if (cases[i][1])
            assert_string_equal(meant, cases[i][1]);
        else
            assert_null(meant);
    }
    bt_store_fini(&store);
}

TEST(the_only_gguf_model_of_a_directory_stands_for_it)
{
    char path[PATH_MAX];
    assert_true(bt_only_gguf(in_scratch("one-gguf"), path));
    assert_string_equal(path, in_scratch("one-gguf/a.gguf"));
    assert_false(bt_only_gguf(in_scratch("two-gguf"), path));
    assert_false(bt_only_gguf(in_scratch("Plain-1B"), path));
    assert_false(bt_only_gguf(in_scratch("nowhere"), path));
}

EACH_TEST(make_store, remove_scratch)
