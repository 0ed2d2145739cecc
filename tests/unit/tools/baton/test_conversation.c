#include "tests/support/test.h"

#include "tests/support/scratch.h"
#include "tools/baton/talk/conversation.h"

static struct bt_conversation talk;

SETUP(begin)
{
    talk = (struct bt_conversation){.n = 0};
}

TEARDOWN(end)
{
    bt_conversation_fini(&talk);
}

TEST(the_system_stays_first_and_alone)
{
    assert_null(bt_conversation_system(&talk));
    assert_ok(bt_conversation_add(&talk, "user", "hello"));
    assert_ok(bt_conversation_set_system(&talk, "be brief"));
    assert_ok(bt_conversation_set_system(&talk, "be kind"));
    assert_int_equal(talk.n, 2);
    assert_string_equal(talk.messages[0].text, "be kind");
    assert_string_equal(talk.messages[1].text, "hello");
    bt_conversation_clear(&talk);
    assert_int_equal(talk.n, 1);
    assert_string_equal(bt_conversation_system(&talk), "be kind");
    assert_ok(bt_conversation_set_system(&talk, NULL));
    assert_int_equal(talk.n, 0);
}

TEST(the_last_turn_is_taken_back_if_it_is_that_role_s)
{
    assert_false(bt_conversation_drop_last(&talk, "user"));
    assert_ok(bt_conversation_add(&talk, "user", "hello"));
    assert_false(bt_conversation_drop_last(&talk, "assistant"));
    assert_true(bt_conversation_drop_last(&talk, "user"));
    assert_int_equal(talk.n, 0);
}

TEST(a_conversation_is_saved_as_json)
{
    struct baton_json *root = NULL;
    struct baton_why why;
    assert_ok(bt_conversation_add(&talk, "user", "say \"hi\"\n"));
    assert_ok(bt_conversation_save(&talk, "tale", in_scratch("talk.json"), NULL));
    assert_ok(baton_json_read_file(in_scratch("talk.json"), 4096, &root, NULL));
    const struct baton_json *message = baton_json_at(baton_json_get(root, "messages"), 0);
    assert_string_equal(baton_json_string(baton_json_get(root, "model"), NULL), "tale");
    assert_string_equal(baton_json_string(baton_json_get(message, "content"), NULL),
                        "say \"hi\"\n");
    baton_json_free(root);
    assert_int_equal(bt_conversation_save(&talk, "tale", "/nowhere/talk.json", &why),
                     BATON_NOT_FOUND);
    assert_non_null(strstr(why.text, "/nowhere/talk.json"));
}

TEST(only_an_earlier_save_is_replaced)
{
    char text[16] = "";
    struct baton_why why;
    assert_ok(bt_conversation_add(&talk, "user", "hi"));
    assert_ok(bt_conversation_save(&talk, "tale", in_scratch("talk.json"), NULL));
    assert_ok(bt_conversation_save(&talk, "tale", in_scratch("talk.json"), NULL));
    write_scratch("notes", "notes");
    assert_int_equal(bt_conversation_save(&talk, "tale", in_scratch("notes"), &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "notes: not a file of Baton's"));
    FILE *file = fopen(in_scratch("notes"), "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text - 1, file), 5);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, "notes");
}

EACH_TEST(begin, end)

ALL_TESTS(make_scratch, remove_scratch)
