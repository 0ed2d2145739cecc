/* Conversations in shapes that a template does not take: what it gets in their place. */
#include "tests/unit/gateway/chat/chat_unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/os/file.h"

static char *read_kind(const char *kind)
{
    char path[200];
    struct baton_buf text;
    struct baton_why why = {""};
    (void)snprintf(path, sizeof path, "tests/fixtures/chat_templates/%s.jinja", kind);
    baton_buf_init(&text, 1 << 20);
    if (baton_file_read(path, &text, &why))
        fail_msg("%s", why.text);
    return baton_buf_take(&text);
}

/* The request, rendered by a fixture's template. */
static void check(const char *kind, const char *request, const char *expected)
{
    char *template = read_kind(kind);
    assert_chat_request(template, request, expected);
    free(template);
}

#define TALK(messages)      "{\"messages\":[" messages "]}"
#define SAYS(role, content) "{\"role\":\"" role "\",\"content\":" content "}"
#define TEXT(text)          "{\"type\":\"text\",\"text\":\"" text "\"}"
#define CALL(id, arguments)                                                                        \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":"         \
    "\"" arguments "\"}}"
#define CALLS(content, calls)                                                                      \
    "{\"role\":\"assistant\",\"content\":" content ",\"tool_calls\":[" calls "]}"
#define RESULT(id, content)                                                                        \
    "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" content "\"}"
#define QUESTION SAYS("user", "\"Q\"")
#define ANSWER   SAYS("assistant", "\"A\"")

/* ---- shapes of content ---- */

TEST(parts_stay_parts_only_for_roles_whose_parts_all_come_out)
{
    check("first_part_of_systems",
          TALK(SAYS("system", "[" TEXT("A") "," TEXT("B") "]") "," SAYS(
              "user", "[" TEXT("C") "," TEXT("D") "]")),
          "[SYSTEM_PROMPT]AB[/SYSTEM_PROMPT][INST]CD[/INST]");
    check("text_only", TALK(SAYS("user", "[" TEXT("C") "," TEXT("D") "]")), "<|user|>CD<|end|>\n");
}

TEST(a_text_is_a_part_where_the_template_reads_parts_alone)
{
    check("parts_only", TALK(QUESTION), "<user>Q<assistant>");
}

TEST(a_last_message_in_parts_is_continued)
{
    check("results_are_merged",
          "{\"continues\":true,\"messages\":[" QUESTION
          "," SAYS("assistant", "[" TEXT("O") "," TEXT("ne") "]") "]}",
          "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\nOne");
}

TEST(an_empty_last_message_begins_an_answer)
{
    static const char expected[] = "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n";
    check("results_are_merged",
          "{\"continues\":true,\"messages\":[" QUESTION "," SAYS("assistant", "\"\"") "]}",
          expected);
    check("results_are_merged",
          "{\"continues\":true,\"messages\":[" QUESTION "," SAYS("assistant", "[]") "]}", expected);
}

/* ---- systems and developers ---- */

TEST(the_user_says_a_system_message_that_the_template_refuses)
{
    check("alternation_is_enforced", TALK(SAYS("system", "\"S\"") "," QUESTION),
          "<s><turn>user\nS\n\nQ<end>\n<turn>model\n");
    check("alternation_is_enforced", TALK(SAYS("system", "\"S\"")),
          "<s><turn>user\nS<end>\n<turn>model\n");
    check("only_users_and_assistants", TALK(SAYS("system", "\"S\"") "," QUESTION "," ANSWER),
          "### Human: S\n\nQ\n### Assistant: A</s>\n### Assistant:");
}

TEST(a_developer_that_the_template_refuses_or_leaves_out_is_a_system)
{
    check("developer_is_unknown", TALK(SAYS("developer", "\"D\"") "," QUESTION),
          "<system>D<user>Q<developer>no tools");
    check("developer_is_lost", TALK(SAYS("developer", "\"D\"") "," QUESTION), "<system>D<user>Q");
}

TEST(other_roles_have_their_names_where_the_template_writes_them_and_are_the_users_elsewhere)
{
    static const char talk[] = TALK(SAYS("narrator", "\"N\"") "," QUESTION);
    check("results_are_merged", talk,
          "<|im_start|>narrator\nN<|im_end|>\n<|im_start|>user\nQ<|im_end|>\n"
          "<|im_start|>assistant\n");
    check("alternation_is_enforced", talk, "<s><turn>user\nN\n\nQ<end>\n<turn>model\n");
    check("only_users_and_assistants", talk, "### Human: N\n### Human: Q\n### Assistant:");
}

TEST(a_last_system_message_that_is_left_out_is_the_users)
{
    check("last_system_is_lost", TALK(QUESTION "," ANSWER "," SAYS("system", "\"S\"")),
          "<user>Q<assistant>A<user>S");
}

TEST(a_system_message_is_added_where_the_template_fails_without_one)
{
    check("system_is_required", TALK(QUESTION), "<system><user>Q");
}

/* ---- neighbours ---- */

TEST(what_the_user_says_after_a_result_is_joined_to_it_where_roles_must_alternate)
{
    check("ids_of_nine_letters",
          TALK(QUESTION "," CALLS("null", CALL("abcdefghi", "{}")) "," RESULT(
              "abcdefghi", "R") "," SAYS("user", "\"U\"")),
          "<s>[INST]Q[/INST][TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}, \"id\": "
          "\"abcdefghi\"}]</s>[TOOL_RESULTS]{\"content\": R\n\nU, \"call_id\": "
          "\"abcdefghi\"}[/TOOL_RESULTS]");
}

TEST(a_call_without_a_result_gets_an_empty_one_where_roles_must_alternate)
{
    check("ids_of_nine_letters",
          TALK(QUESTION "," CALLS("null", CALL("abcdefghi", "{}")) "," SAYS("user", "\"No.\"")),
          "<s>[INST]Q[/INST][TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}, \"id\": "
          "\"abcdefghi\"}]</s>[TOOL_RESULTS]{\"content\": No., \"call_id\": "
          "\"abcdefghi\"}[/TOOL_RESULTS]");
}

/* ---- calls ---- */

TEST(ids_become_those_that_the_template_takes)
{
    check("ids_of_nine_letters",
          TALK(QUESTION "," CALLS("null", CALL("call_0123456789abcdef", "{}")) "," RESULT(
              "call_0123456789abcdef", "R")),
          "<s>[INST]Q[/INST][TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}, \"id\": "
          "\"qmy5qhnv3\"}]</s>[TOOL_RESULTS]{\"content\": R, \"call_id\": "
          "\"qmy5qhnv3\"}[/TOOL_RESULTS]");
}

TEST(calls_and_results_without_ids_get_them)
{
    check("ids_of_nine_letters",
          TALK(QUESTION "," CALLS("\"\"", "{\"type\":\"function\",\"function\":{\"name\":\"f\","
                                          "\"arguments\":{}}}") "," SAYS("tool", "\"R\"")),
          "<s>[INST]Q[/INST][TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}, \"id\": "
          "\"call00000\"}]</s>[TOOL_RESULTS]{\"content\": R, \"call_id\": "
          "\"call00000\"}[/TOOL_RESULTS]");
    check(
        "results_have_names",
        TALK(QUESTION "," CALLS(
            "null", "{\"function\":{\"name\":\"f\",\"arguments\":{}}}") "," SAYS("tool", "\"R\"")),
        "<user>Q<assistant>call00000function{}<result of f for call00000>R");
}

TEST(several_calls_are_made_one_after_the_other_where_the_template_takes_one)
{
    check("one_call_at_once",
          TALK(QUESTION "," CALLS("\"T\"", CALL("1", "{}") "," CALL("2", "{}")) "," RESULT(
              "2", "B") "," RESULT("1", "A")),
          "<system><eot><user>Q<eot><assistant>T<eot>"
          "<assistant>{\"name\": \"f\", \"parameters\": {}}<eot><ipython>\"A\"<eot>"
          "<assistant>{\"name\": \"f\", \"parameters\": {}}<eot><ipython>\"B\"<eot>");
}

TEST(calls_are_text_where_the_template_has_none)
{
    check("only_users_and_assistants",
          TALK(QUESTION "," CALLS("null", CALL("1", "{\\\"a\\\": 1}")) "," RESULT("1", "R")),
          "### Human: Q\n### Assistant: <tool_call>\n{\"name\":\"f\",\"arguments\":{\"a\":1}}\n"
          "</tool_call></s>\n### Human: <tool_result>\nR\n</tool_result>\n### Assistant:");
}

TEST(a_text_that_the_template_leaves_out_beside_calls_is_a_message_of_its_own)
{
    check("ids_of_nine_letters",
          TALK(QUESTION "," CALLS("\"T\"", CALL("abcdefghi", "{}")) "," RESULT("abcdefghi", "R")),
          "<s>[INST]Q[/INST]T</s>[INST][/INST][TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}, "
          "\"id\": \"abcdefghi\"}]</s>[TOOL_RESULTS]{\"content\": R, \"call_id\": "
          "\"abcdefghi\"}[/TOOL_RESULTS]");
}

TEST(a_text_that_begins_with_a_zero_byte_is_not_blank)
{
    struct baton_chat *chat = chat_open("{% for m in messages %}{{ m.content | length }},"
                                        "{{ m.content or '' }}{% for c in m.tool_calls or [] %}"
                                        "{{ c.function.arguments | tojson }}{% endfor %}"
                                        "{% endfor %}",
                                        "auto");
    struct baton_chat_text text;
    assert_ok(chat_render_request(chat, TALK(QUESTION "," CALLS("\"\\u0000T\"", CALL("1", "{}"))),
                                  &text, NULL));
    assert_memory_equal(baton_buf_text(&text.bytes), "1,Q2,\0T{}", text.bytes.len);
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

/* ---- tools ---- */

TEST(tools_get_the_members_that_the_template_reads)
{
    static const char *const bare[] = {"", ",\"description\":null,\"parameters\":null",
                                       ",\"parameters\":{}",
                                       ",\"parameters\":{\"type\":\"object\",\"properties\":{}}"};
    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++) {
        char request[500];
        (void)snprintf(request, sizeof request,
                       "{\"messages\":[" QUESTION "],\"tools\":[{\"type\":\"function\","
                       "\"function\":{\"name\":\"f\"%s}}]}",
                       bare[i]);
        check("whole_tools", request, "def f(): # \n<user>Q");
    }
}
