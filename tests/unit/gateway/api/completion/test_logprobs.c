#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "gateway/api/completion/logprobs.h"

static struct baton_tokenizer *tokenizer;
static struct gw_logprobs logprobs;
static struct baton_buf json;

SETUP(set_up)
{
    baton_buf_init(&json, 1 << 16);
    assert_ok(baton_tokenizer_open("models/tale", &tokenizer, NULL));
}

TEARDOWN(tear_down)
{
    gw_logprobs_fini(&logprobs);
    baton_buf_fini(&json);
    baton_tokenizer_close(tokenizer);
}

static uint32_t id_of(const char *text)
{
    struct baton_tokens tokens = {0};
    struct baton_why why;
    assert_ok(baton_tokenizer_encode(tokenizer, text, strlen(text), false, 1, &tokens, &why));
    uint32_t id = tokens.ids[0];
    baton_tokens_fini(&tokens);
    return id;
}

/* The token, whose text begins at so many bytes and characters, with one alternative. */
static void add(const char *text, size_t begin_bytes, size_t begin_chars, double logprob)
{
    Baton__V1__Logprobs scores = BATON__V1__LOGPROBS__INIT;
    uint32_t top = id_of(" the");
    double top_logprob = -0.25;
    scores.logprob = logprob;
    scores.top_tokens = &top;
    scores.top_logprobs = &top_logprob;
    scores.n_top_tokens = scores.n_top_logprobs = 1;
    struct gw_token token = {.id = id_of(text),
                             .begin_bytes = begin_bytes,
                             .begin_chars = begin_chars,
                             .logprobs = &scores};
    gw_logprobs_add(&logprobs, &token);
}

static const char *as_completion(size_t prompt_chars)
{
    baton_buf_reset(&json);
    struct baton_json_out out = baton_json_out(&json);
    gw_logprobs_put_completion(&logprobs, &out, tokenizer, prompt_chars);
    return baton_buf_text(&json);
}

static const char *as_chat(void)
{
    baton_buf_reset(&json);
    struct baton_json_out out = baton_json_out(&json);
    gw_logprobs_put_chat(&logprobs, &out, tokenizer);
    return baton_buf_text(&json);
}

TEST(a_token_is_listed_once_its_text_was_shown)
{
    gw_logprobs_init(&logprobs, 1);
    add(" was", 0, 0, -0.5);
    add(" a", 4, 4, -1);
    gw_logprobs_shown(&logprobs, 4); /* " a" may begin a stop string */
    assert_string_equal(as_completion(0),
                        "\"logprobs\":{\"tokens\":[\" was\"],\"token_logprobs\":[-0.5],"
                        "\"top_logprobs\":[{\" the\":-0.25,\" was\":-0.5}],\"text_offset\":[0]}");
    gw_logprobs_shown(&logprobs, 4);
    assert_string_equal(as_completion(0), "\"logprobs\":{\"tokens\":[],\"token_logprobs\":[],"
                                          "\"top_logprobs\":[],\"text_offset\":[]}");
    gw_logprobs_shown(&logprobs, SIZE_MAX);
    assert_string_equal(as_completion(10),
                        "\"logprobs\":{\"tokens\":[\" a\"],\"token_logprobs\":[-1],"
                        "\"top_logprobs\":[{\" the\":-0.25,\" a\":-1}],\"text_offset\":[14]}");
    gw_logprobs_fini(&logprobs);
}

TEST(the_chat_shape_gives_bytes_and_alternatives)
{
    gw_logprobs_init(&logprobs, 1);
    add(" a", 0, 0, -1);
    gw_logprobs_shown(&logprobs, SIZE_MAX);
    assert_string_equal(
        as_chat(), "\"logprobs\":{\"content\":[{\"token\":\" a\",\"logprob\":-1,\"bytes\":[32,97],"
                   "\"top_logprobs\":[{\"token\":\" the\",\"logprob\":-0.25,"
                   "\"bytes\":[32,116,104,101]}]}],\"refusal\":null}");
    gw_logprobs_fini(&logprobs);
}

TEST(an_impossible_token_has_the_lowest_logprob_that_json_knows)
{
    gw_logprobs_init(&logprobs, 0);
    add(" a", 0, 0, (double)-INFINITY);
    gw_logprobs_shown(&logprobs, SIZE_MAX);
    assert_non_null(strstr(as_completion(0), "\"token_logprobs\":[-9999]"));
    gw_logprobs_fini(&logprobs);
}

TEST(an_echoed_prompt_comes_first_and_of_its_first_token_nothing_is_known)
{
    Baton__V1__Logprobs second = BATON__V1__LOGPROBS__INIT, *listed[] = {&second};
    Baton__V1__PromptLogprobs scores = BATON__V1__PROMPT_LOGPROBS__INIT;
    uint32_t ids[] = {id_of(" was"), id_of(" a")};
    const struct baton_tokens prompt = {.ids = ids, .n = 2, .cap = 2};
    second.logprob = -2;
    scores.first_index = 1;
    scores.logprobs = listed;
    scores.n_logprobs = 1;
    gw_logprobs_init(&logprobs, 0);
    gw_logprobs_add_prompt(&logprobs, &prompt, &scores);
    add(" the", 0, 0, -3);
    gw_logprobs_shown(&logprobs, 4);
    assert_string_equal(as_completion(6), "\"logprobs\":{\"tokens\":[\" was\",\" a\",\" the\"],"
                                          "\"token_logprobs\":[null,-2,-3],"
                                          "\"top_logprobs\":[null,{\" a\":-2},{\" the\":-3}],"
                                          "\"text_offset\":[0,4,6]}");
    gw_logprobs_reset(&logprobs);
    assert_non_null(strstr(as_completion(0), "\"tokens\":[]"));
    gw_logprobs_fini(&logprobs);
}

ALL_TESTS(set_up, tear_down)
