#include "tests/support/scratch.h"

#include "engine/checkpoint/tokenizer_tables.h"

#define BYTE_LEVEL "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"use_regex\":false}"
#define MODEL                                                                                      \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"b\":1,\"ab\":4,\"a\":0},\"merges\":[\"a b\"]}"

static struct baton_tokenizer_tables *read_scratch(void)
{
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_why why = {.text = ""};
    if (baton_tokenizer_tables_read(scratch, &tables, &why))
        fail_msg("%s", why.text);
    return tables;
}

static void assert_refused(enum baton_err expected, const char *reason)
{
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_why why = {.text = ""};
    assert_int_equal(baton_tokenizer_tables_read(scratch, &tables, &why), expected);
    assert_null(tables);
    if (!strstr(why.text, reason))
        fail_msg("\"%s\" in \"%s\"", reason, why.text);
}

static void assert_small(const struct baton_tokenizer_tables *tables)
{
    assert_int_equal(tables->n_tokens, 5);
    assert_string_equal(tables->tokens[0].text, "a");
    assert_string_equal(tables->tokens[1].text, "b");
    assert_null(tables->tokens[2].text);
    assert_string_equal(tables->tokens[4].text, "ab");
    assert_int_equal(tables->tokens[4].n_bytes, 2);
    assert_int_equal(tables->n_merges, 1);
    assert_int_equal(tables->merges[0].left, 0);
    assert_int_equal(tables->merges[0].right, 1);
    assert_int_equal(tables->merges[0].merged, 4);
}

TEST(one_file_holds_vocabulary_merges_added_tokens_and_steps)
{
    write_scratch("tokenizer.json",
                  "{\"pre_tokenizer\":" BYTE_LEVEL ",\"added_tokens\":["
                  "{\"id\":9,\"content\":\"<s>\",\"special\":true},"
                  "{\"id\":4,\"content\":\"ab\",\"normalized\":true}]," MODEL "}");
    struct baton_tokenizer_tables *tables = read_scratch();
    assert_small(tables);
    assert_string_equal(tables->file, in_scratch("tokenizer.json"));
    assert_int_equal(tables->n_added, 2);
    assert_string_equal(tables->added[0].text, "<s>");
    assert_int_equal(tables->added[0].id, 9);
    assert_true(tables->added[0].special && !tables->added[0].normalized);
    assert_true(!tables->added[1].special && tables->added[1].normalized);
    assert_int_equal(tables->steps.n_pretokenizer, 2);
    assert_int_equal(tables->steps.pretokenizer[0].kind, BATON_PRETOKENIZER_PREFIX_SPACE);
    assert_int_equal(tables->steps.pretokenizer[1].kind, BATON_PRETOKENIZER_BYTE_LEVEL);
    baton_tokenizer_tables_free(tables);
}

TEST(two_files_give_the_same_tables_and_the_end_of_text)
{
    write_scratch("vocab.json", "{\"b\":1,\"ab\":4,\"a\":0}");
    write_scratch("merges.txt", "#version: 0.2\na b\n");
    struct baton_tokenizer_tables *tables = read_scratch();
    assert_small(tables);
    assert_int_equal(tables->n_added, 0);
    assert_int_equal(tables->steps.n_pretokenizer, 2);
    assert_int_equal(tables->steps.pretokenizer[0].kind, BATON_PRETOKENIZER_SPLIT);
    assert_int_equal(tables->steps.pretokenizer[1].kind, BATON_PRETOKENIZER_BYTE_LEVEL);
    baton_tokenizer_tables_free(tables);
    write_scratch("vocab.json", "{\"b\":1,\"ab\":4,\"a\":0,\"<|endoftext|>\":5}");
    tables = read_scratch();
    assert_int_equal(tables->n_added, 1);
    assert_string_equal(tables->added[0].text, "<|endoftext|>");
    assert_int_equal(tables->added[0].id, 5);
    assert_true(tables->added[0].special);
    baton_tokenizer_tables_free(tables);
}

TEST(a_model_that_lacks_its_files_is_refused_by_their_names)
{
    assert_refused(BATON_NOT_FOUND, "has neither tokenizer.json nor vocab.json");
    write_scratch("vocab.json", "{\"a\":0}");
    assert_refused(BATON_NOT_FOUND, "/merges.txt");
    write_scratch("merges.txt", "a");
    assert_refused(BATON_INVALID, "merges: number 1 must be two tokens");
    write_scratch("added_tokens.json", "{}");
    assert_refused(BATON_INVALID, "/added_tokens.json: is supported only as part");
    write_scratch("tokenizer.json", "{");
    assert_refused(BATON_INVALID, "/tokenizer.json: line 1");
}

/* The tables of a file in which one text has 1025 bytes. */
static void assert_too_long(const char *before, const char *after, const char *reason)
{
    char text[2048], letters[1026];
    memset(letters, 'a', sizeof letters - 1);
    letters[sizeof letters - 1] = 0;
    (void)snprintf(text, sizeof text, "%s%s%s", before, letters, after);
    write_scratch("tokenizer.json", text);
    assert_refused(BATON_LIMIT, reason);
}

TEST(the_length_of_added_and_vocabulary_tokens_is_bounded)
{
    assert_too_long("{\"pre_tokenizer\":" BYTE_LEVEL ",\"added_tokens\":[{\"id\":9,\"content\":\"",
                    "\"}]," MODEL "}", "has 1025 bytes, more than 1024");
    assert_too_long("{\"decoder\":{\"type\":\"Fuse\"},\"model\":{\"type\":\"Unigram\",\"unk_id\":0,"
                    "\"vocab\":[[\"?\",0],[\"",
                    "\",-1]]}}", "vocab: number 1 has 1025 bytes, more than 1024");
}

TEST(ids_are_bounded_and_belong_to_one_token)
{
    write_scratch("merges.txt", "");
    write_scratch("vocab.json", "{\"a\":1048576}");
    assert_refused(BATON_INVALID, "vocab: the id of \"a\" must be an integer 0..1048575");
    write_scratch("vocab.json", "{\"a\":-1}");
    assert_refused(BATON_INVALID, "vocab: the id of \"a\"");
    write_scratch("vocab.json", "{\"a\":1,\"b\":1}");
    assert_refused(BATON_INVALID, "vocab: id 1 has two tokens");
    write_scratch("vocab.json", "{}");
    assert_refused(BATON_INVALID, "vocab: must be an object with at least one token");
}

EACH_TEST(make_scratch, remove_scratch)
