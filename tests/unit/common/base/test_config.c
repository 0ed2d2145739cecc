#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/options/config.h"
#include "common/base/options/config_env.h"

struct options {
    const char *name, *unset;
    int64_t port, kept_bytes;
    double beat_s, read_bytes;
    bool on;
    int overlap;
};

static const struct baton_option table[] = {
    {"name", BATON_OPTION_TEXT, offsetof(struct options, name), "a", 0, 0, "", "a name"},
    {"unset", BATON_OPTION_TEXT, offsetof(struct options, unset), NULL, 0, 0, "", "may stay unset"},
    {"the-port", BATON_OPTION_INT, offsetof(struct options, port), "80", 0, 65535, "", "a port"},
    {"beat-s", BATON_OPTION_REAL, offsetof(struct options, beat_s), "0.25", 0, 60, "s", "a pause"},
    BATON_ROW_INT(struct options, kept_bytes, "kept-bytes", "0", 0, 1LL << 40, "bytes", "a size"),
    BATON_ROW_REAL(struct options, read_bytes, "read-bytes", "0", 0, 1e12, "bytes", "a rate"),
    {"on", BATON_OPTION_BOOL, offsetof(struct options, on), "false", 0, 0, "", "a switch"},
    BATON_ROW_CHOICE(struct options, overlap, "overlap", "auto", "on|off|auto", "a choice"),
};

static struct baton_config config;
static struct options options;
static struct baton_why why;

static enum baton_err load(int argc, const char *const *args)
{
    char **argv = (char **)(uintptr_t)args; /* read only, but main's argv is not const */
    bool done = false;
    baton_config_fini(&config); /* a test may load again */
    config = (struct baton_config){.process = "t",
                                   .summary = "test",
                                   .env_prefix = "T_CONFIG",
                                   .options = table,
                                   .n_options = BATON_N_OF(table)};
    why.text[0] = 0;
    return baton_config_load(&config, &options, argc, argv, &done, &why);
}

#define LOAD(...)                                                                                  \
    load((int)(sizeof((const char *[]){"t", __VA_ARGS__}) / sizeof(char *)),                       \
         (const char *const[]){"t", __VA_ARGS__})

TEARDOWN(clean)
{
    baton_config_fini(&config);
    unsetenv("T_CONFIG_THE_PORT");
    unsetenv("T_CONFIG_NAME");
    unsetenv("T_CONFIG_THE_PROT");
    unsetenv("T_CONFIG_CONFIG");
    unsetenv("T_CONFIG_SERVICE_HOST");
    unsetenv("T_CONFIG_PORT_80_TCP");
}

TEST(defaults_hold_when_nothing_is_said)
{
    assert_ok(load(1, (const char *const[]){"t"}));
    assert_string_equal(options.name, "a");
    assert_null(options.unset);
    assert_int_equal(options.port, 80);
    assert_true(options.beat_s == 0.25);
    assert_false(options.on);
}

TEST(flags_take_both_forms_and_bare_booleans)
{
    assert_ok(LOAD("--name=b", "--the-port", "81", "--on", "--beat-s", "1e-1"));
    assert_string_equal(options.name, "b");
    assert_int_equal(options.port, 81);
    assert_true(options.on);
    assert_true(options.beat_s == 0.1);
}

static int n_unknown;

static void see_unknown(void *arg, const char *name, const char *nearest)
{
    (void)arg;
    n_unknown++;
    assert_string_equal(name, "T_CONFIG_THE_PROT");
    assert_string_equal(nearest, "T_CONFIG_THE_PORT");
}

TEST(a_mistyped_variable_is_told_with_the_nearest_option)
{
    n_unknown = 0;
    setenv("T_CONFIG_NAME", "b", 1);
    setenv("T_CONFIG_CONFIG", "file", 1);
    setenv("T_CONFIG_SERVICE_HOST", "10.0.0.1", 1); /* as Kubernetes sets them */
    setenv("T_CONFIG_PORT_80_TCP", "tcp://10.0.0.1:80", 1);
    baton_config_visit_unknown_env(&config, see_unknown, NULL);
    assert_int_equal(n_unknown, 0);
    setenv("T_CONFIG_THE_PROT", "81", 1);
    baton_config_visit_unknown_env(&config, see_unknown, NULL);
    assert_int_equal(n_unknown, 1);
}

TEST(a_choice_is_one_of_its_words)
{
    size_t n;
    const struct baton_option *option = &table[BATON_N_OF(table) - 1];
    assert_ok(load(1, (const char *const[]){"t"}));
    assert_int_equal(options.overlap, 2);
    assert_ok(LOAD("--overlap", "off"));
    assert_int_equal(options.overlap, 1);
    assert_int_equal(LOAD("--overlap=of"), BATON_INVALID);
    assert_string_equal(why.text, "--overlap=of: overlap must be on, off or auto, not \"of\"");
    assert_memory_equal(baton_option_word(option, 1, &n), "off", 3);
    assert_int_equal(n, 3);
}

TEST(bytes_may_have_a_unit)
{
    static const struct {
        const char *text;
        int64_t bytes; /* -1: refused */
    } cases[] = {{"2147483648", 1LL << 31},
                 {"2G", 1LL << 31},
                 {"2g", 1LL << 31},
                 {"2GiB", 1LL << 31},
                 {"2GB", 1LL << 31},
                 {"512M", 1LL << 29},
                 {"1.5K", 1536},
                 {"0.5k", 512},
                 {"1T", 1LL << 40},
                 {"2T", -1},
                 {"-1G", -1},
                 {"1e3M", -1},
                 {"G", -1},
                 {"2 G", -1},
                 {"2GG", -1},
                 {"2GiBs", -1},
                 {"2P", -1},
                 {"1.5", -1},
                 {"infG", -1},
                 {".M", -1},
                 {"0x2G", -1}};
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        enum baton_err err = LOAD("--kept-bytes", cases[i].text, "--read-bytes", "1K");
        assert_int_equal(err, cases[i].bytes < 0 ? BATON_INVALID : BATON_OK);
        if (!err)
            assert_int_equal(options.kept_bytes, cases[i].bytes);
        else
            assert_non_null(strstr(why.text, "such as 512M or 2G, not \""));
    }
    assert_ok(LOAD("--read-bytes", "1.5K"));
    assert_true(options.read_bytes == 1536);
    assert_int_equal(LOAD("--the-port", "1K"), BATON_INVALID); /* no bytes */
    assert_null(strstr(why.text, "512M"));
}

TEST(a_flag_wins_over_the_environment_over_the_file)
{
    char path[] = "/tmp/baton-config-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    assert_true(fputs("{\"name\":\"file\",\"the_port\":1,\"on\":true}", file) >= 0);
    assert_int_equal(fclose(file), 0);
    setenv("T_CONFIG_THE_PORT", "2", 1);
    setenv("T_CONFIG_NAME", "env", 1);
    assert_ok(LOAD("--config", path, "--the-port", "3"));
    unlink(path);
    assert_int_equal(options.port, 3);
    assert_string_equal(options.name, "env");
    assert_true(options.on);
}

TEST(mistakes_name_source_option_and_range)
{
    assert_int_equal(LOAD("--the-port", "70000"), BATON_INVALID);
    assert_non_null(strstr(why.text, "the-port must be an integer from 0 to 65535"));
    clean(NULL);
    assert_int_equal(LOAD("--the-port", "8o"), BATON_INVALID);
    clean(NULL);
    assert_int_equal(LOAD("--beat-s", "nan"), BATON_INVALID);
    clean(NULL);
    assert_int_equal(LOAD("--nonsense", "1"), BATON_INVALID);
    assert_non_null(strstr(why.text, "--nonsense"));
    clean(NULL);
    assert_int_equal(LOAD("name"), BATON_INVALID);
    clean(NULL);
    assert_int_equal(LOAD("--name"), BATON_INVALID);
    clean(NULL);
    setenv("T_CONFIG_THE_PORT", "-1", 1);
    assert_int_equal(load(1, (const char *const[]){"t"}), BATON_INVALID);
    assert_non_null(strstr(why.text, "T_CONFIG_THE_PORT"));
}

TEST(words_that_are_no_options_are_taken_where_they_are_allowed)
{
    static const char *words[2];
    const char *const argv[] = {"t", "one", "--the-port", "81", "--", "--on"};
    const char *const more[] = {"t", "one", "two", "three"};
    struct baton_config with_words;
    bool done;
    assert_int_equal(LOAD("one"), BATON_INVALID);
    assert_non_null(strstr(why.text, "options start with --"));
    with_words = (struct baton_config){.process = "t",
                                       .env_prefix = "T_CONFIG",
                                       .options = table,
                                       .n_options = BATON_N_OF(table),
                                       .operands = "[WORD]...",
                                       .operand = words,
                                       .max_operands = 2};
    assert_ok(baton_config_load(&with_words, &options, 6, (char **)(uintptr_t)argv, &done, &why));
    assert_int_equal(with_words.n_operands, 2);
    assert_string_equal(words[0], "one");
    assert_string_equal(words[1], "--on");
    assert_true(options.port == 81 && !options.on);
    baton_config_fini(&with_words);
    with_words.n_operands = 0;
    assert_int_equal(
        baton_config_load(&with_words, &options, 4, (char **)(uintptr_t)more, &done, &why),
        BATON_INVALID);
    assert_non_null(strstr(why.text, "\"three\" is one word too many"));
    baton_config_fini(&with_words);
}

TEST(a_file_with_an_unknown_key_is_refused)
{
    char path[] = "/tmp/baton-config-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    assert_true(fputs("{\"nmae\":\"x\"}", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(LOAD("--config", path), BATON_INVALID);
    unlink(path);
    assert_non_null(strstr(why.text, "nmae"));
}

EACH_TEST(NULL, clean)
