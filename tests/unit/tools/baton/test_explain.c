#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/baton/talk/reply.h"

static const char steps[] =
    "{\"index\":0,\"token_id\":7,\"text\":\" a\\u001b[2J\",\"prob\":0.5,\"rank\":1},"
    "{\"index\":1,\"token_id\":9,\"text\":\"b\\n\",\"prob\":0.25,\"rank\":2,"
    "\"reason\":\"The draw fell there.\",\"candidates\":["
    "{\"token_id\":8,\"text\":\"c\",\"prob\":0.75,\"prob_raw\":0.7,\"removed_by\":null},"
    "{\"token_id\":9,\"text\":\"b\\n\",\"prob\":0.25,\"prob_raw\":0.2,\"removed_by\":null},"
    "{\"token_id\":5,\"text\":\"d\",\"prob\":0,\"prob_raw\":0.1,\"removed_by\":\"schema\","
    "\"removed_at\":\"#/items\"}]}";

/* The text about the token before the last one; the caller frees it. */
static char *explained(size_t back, enum baton_err *err, struct baton_why *why)
{
    struct bt_reply reply;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bt_reply_init(&reply);
    baton_buf_puts(&reply.steps, steps);
    reply.n_steps = 2;
    *err = bt_reply_explain(&reply, back, out, why);
    bt_reply_fini(&reply);
    assert_false(fclose(out));
    return text;
}

TEST(a_token_stands_among_its_candidates)
{
    enum baton_err err;
    char *text = explained(0, &err, NULL);
    assert_ok(err);
    assert_string_equal(text,
                        "Token 2, \"b\\n\": rank 2, 25.00 %\n"
                        "The draw fell there.\n"
                        "    sampled from   by the model\n"
                        "      75.00 %      70.00 %   \"c\"\n"
                        "  >   25.00 %      20.00 %   \"b\\n\"\n"
                        "       0.00 %      10.00 %   \"d\"   removed by schema at #/items\n");
    free(text);
}

TEST(a_terminal_never_sees_control_characters_of_a_token)
{
    enum baton_err err;
    char *text = explained(1, &err, NULL);
    assert_ok(err);
    assert_string_equal(text, "Token 1, \" a\\x1b[2J\": rank 1, 50.00 %\n");
    free(text);
}

TEST(a_token_that_is_not_there_is_told)
{
    enum baton_err err;
    struct baton_why why;
    free(explained(2, &err, &why));
    assert_int_equal(err, BATON_NOT_FOUND);
    assert_string_equal(why.text, "the last answer has 2 tokens");
}
