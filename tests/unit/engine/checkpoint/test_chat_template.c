#include "tests/support/scratch.h"

#include <sys/stat.h>
#include <unistd.h>

#include "engine/checkpoint/chat_template.h"

static struct baton_chat_template read_scratch(void)
{
    struct baton_chat_template source = {0};
    struct baton_why why = {.text = ""};
    if (baton_chat_template_read(scratch, &source, &why))
        fail_msg("%s", why.text);
    return source;
}

static void assert_jinja(const char *config, const char *jinja)
{
    write_scratch("tokenizer_config.json", config);
    struct baton_chat_template source = read_scratch();
    if (jinja) {
        assert_string_equal(source.jinja, jinja);
        assert_int_equal(source.n_jinja, strlen(jinja));
    } else {
        assert_null(source.jinja);
    }
    baton_chat_template_fini(&source);
}

TEST(a_model_without_the_files_says_nothing)
{
    struct baton_chat_template source = read_scratch();
    assert_null(source.jinja);
    assert_null(source.bos);
    assert_null(source.eos);
    baton_chat_template_fini(&source);
}

TEST(the_template_is_a_text_or_the_default_one_of_a_list)
{
    assert_jinja("{\"chat_template\":\"x\"}", "x");
    assert_jinja("{\"chat_template\":[{\"name\":\"rag\",\"template\":\"r\"},"
                 "{\"name\":\"default\",\"template\":\"d\"}]}",
                 "d");
    assert_jinja("{\"chat_template\":[{\"name\":\"rag\",\"template\":\"r\"},7]}", NULL);
    assert_jinja("{\"chat_template\":7}", NULL);
    assert_jinja("[]", NULL);
}

TEST(a_file_of_its_own_goes_before_the_config)
{
    write_scratch("chat_template.jinja", "own");
    assert_jinja("{\"chat_template\":\"x\"}", "own");
}

TEST(a_processors_file_goes_before_the_config)
{
    (void)unlink(in_scratch("chat_template.jinja"));
    write_scratch("chat_template.json", "{\"chat_template\":\"processor\"}");
    assert_jinja("{\"chat_template\":\"x\"}", "processor");
    (void)unlink(in_scratch("chat_template.json"));
}

TEST(a_template_for_tools_is_the_one_of_that_name_in_the_list_or_a_file)
{
    static const char config[] = "{\"chat_template\":[{\"name\":\"tool_use\",\"template\":\"t\"},"
                                 "{\"name\":\"default\",\"template\":\"d\"}]}";
    (void)unlink(in_scratch("chat_template.jinja"));
    write_scratch("tokenizer_config.json", config);
    struct baton_chat_template source = read_scratch();
    assert_string_equal(source.jinja, "d");
    assert_string_equal(source.tools_jinja, "t");
    assert_int_equal(source.n_tools_jinja, 1);
    baton_chat_template_fini(&source);
    assert_int_equal(mkdir(in_scratch("additional_chat_templates"), 0700), 0);
    write_scratch("additional_chat_templates/tool_use.jinja", "file");
    source = read_scratch();
    assert_string_equal(source.jinja, "d");
    assert_string_equal(source.tools_jinja, "file");
    baton_chat_template_fini(&source);
    assert_int_equal(unlink(in_scratch("additional_chat_templates/tool_use.jinja")), 0);
    assert_int_equal(rmdir(in_scratch("additional_chat_templates")), 0);
}

TEST(tokens_are_texts_or_objects_with_a_content)
{
    write_scratch("tokenizer_config.json",
                  "{\"bos_token\":{\"content\":\"<b>\"},\"eos_token\":\"<e>\"}");
    struct baton_chat_template source = read_scratch();
    assert_string_equal(source.bos, "<b>");
    assert_string_equal(source.eos, "<e>");
    baton_chat_template_fini(&source);
}

TEST(a_config_that_is_not_json_is_refused_with_its_name)
{
    struct baton_chat_template source = {0};
    struct baton_why why;
    write_scratch("tokenizer_config.json", "{");
    assert_int_equal(baton_chat_template_read(scratch, &source, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "/tokenizer_config.json: line 1"));
    baton_chat_template_fini(&source);
}

EACH_TEST(make_scratch, remove_scratch)
