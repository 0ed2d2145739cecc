#include "common/base/array.h"
#include "tests/unit/engine/checkpoint/gguf_tokenizer_unit.h"

#define SPACE "\xe2\x96\x81"

static struct baton_tokenizer_tables *read_end(struct file *file)
{
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_why why = {""};
    if (read_tables(file, &tables, &why))
        fail_msg("%s", why.text);
    return tables;
}

/* ---- byte-level BPE ---- */

static void assert_added(const struct baton_added_row *row, const char *text, uint32_t id,
                         bool special)
{
    assert_string_equal(row->text, text);
    assert_int_equal(row->n_bytes, strlen(text));
    assert_int_equal(row->id, id);
    assert_int_equal(row->special, special);
    assert_false(row->normalized || row->lstrip || row->rstrip || row->single_word);
}

TEST(a_byte_level_tokenizer_has_its_tokens_merges_and_the_steps_of_its_name)
{
    struct file file = byte_file("qwen2");
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->model, BATON_TOKENIZER_BPE);
    assert_int_equal(tables->n_tokens, 10);
    assert_string_equal(tables->tokens[2].text, "ab");
    assert_null(tables->tokens[5].text);
    assert_string_equal(tables->tokens[6].text, "[PAD");
    assert_int_equal(tables->n_merges, 2);
    assert_int_equal(tables->merges[0].merged, 2);
    assert_int_equal(tables->merges[1].left, 7);
    assert_int_equal(tables->n_added, 3);
    assert_added(&tables->added[0], "<think>", 3, false);
    assert_added(&tables->added[1], "<|im_end|>", 4, true);
    assert_added(&tables->added[2], "<s>", 8, true);
    assert_int_equal(tables->steps.n_normalizer, 1);
    assert_int_equal(tables->steps.normalizer[0].kind, BATON_NORMALIZER_NFC);
    assert_int_equal(tables->steps.n_pretokenizer, 2);
    assert_int_equal(tables->steps.pretokenizer[1].kind, BATON_PRETOKENIZER_BYTE_LEVEL);
    assert_int_equal(tables->steps.n_first, 0);
    assert_false(tables->ignore_merges || tables->byte_fallback);
    assert_int_equal(tables->unk_id, BATON_NO_TOKEN);
    baton_tokenizer_tables_free(tables);
}

TEST(a_token_that_ends_a_text_is_special_whatever_its_type)
{
    struct file file = begin_byte_file("gpt-2", byte_tokens);
    put_texts(&file, KEY "merges", byte_merges);
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->n_added, 1);
    assert_added(&tables->added[0], "<|im_end|>", 4, true);
    baton_tokenizer_tables_free(tables);
}

TEST(the_name_of_the_steps_says_whether_a_text_gets_a_first_token_unless_a_key_does)
{
    static const struct {
        const char *pre;
        int key; /* -1: none */
        int n_first;
    } cases[] = {{"llama-bpe", -1, 1}, {"llama-bpe", 0, 0}, {"qwen2", -1, 0},
                 {"qwen2", 1, 1},      {"tekken", -1, 1},   {"gpt-4o", -1, 0}};
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        struct file file = byte_file(cases[i].pre);
        put_id(&file, KEY "bos_token_id", 8);
        if (cases[i].key >= 0)
            put_flag(&file, KEY "add_bos_token", cases[i].key);
        struct baton_tokenizer_tables *tables = read_end(&file);
        assert_int_equal(tables->steps.n_first, cases[i].n_first);
        if (cases[i].n_first)
            assert_int_equal(tables->steps.first_ids[0], 8);
        assert_int_equal(tables->steps.n_last, 0);
        baton_tokenizer_tables_free(tables);
    }
}

TEST(steps_after_the_byte_level_stay_there)
{
    struct file file = byte_file("falcon");
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->steps.n_pretokenizer, 5);
    assert_int_equal(tables->steps.pretokenizer[0].behavior, BATON_SPLIT_CONTIGUOUS);
    assert_int_equal(tables->steps.pretokenizer[2].kind, BATON_PRETOKENIZER_BYTE_LEVEL);
    assert_int_equal(tables->steps.pretokenizer[4].kind, BATON_PRETOKENIZER_SPLIT);
    baton_tokenizer_tables_free(tables);
}

/* ---- SentencePiece ---- */

static const char *const pieces[] = {"<unk>", "<s>", "</s>",    "<0x41>", SPACE, "a", "b",
                                     "ab",    "aa",  SPACE "a", "aab",    "  ",  NULL};
static const float scores[] = {0, 0, 0, 0, -9, -9, -9, -1, -3, -2, -1.5F, -1000};

static struct file piece_file(void)
{
    struct file file = begin_file("llama");
    put_texts(&file, KEY "tokens", pieces);
    put_types(&file, "233611111114");
    put_scores(&file, scores, 12);
    return file;
}

static void assert_merge(const struct baton_merge_row *row, uint32_t left, uint32_t right,
                         uint32_t merged)
{
    assert_int_equal(row->left, left);
    assert_int_equal(row->right, right);
    assert_int_equal(row->merged, merged);
}

TEST(pieces_and_scores_become_merges_in_the_order_of_the_scores)
{
    struct file file = piece_file();
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->n_merges, 6);
    assert_merge(&tables->merges[0], 4, 4, 11); /* user-defined: 0 */
    assert_merge(&tables->merges[1], 5, 6, 7);
    assert_merge(&tables->merges[2], 5, 7, 10); /* of one piece, the lower left id */
    assert_merge(&tables->merges[3], 8, 6, 10);
    assert_merge(&tables->merges[4], 4, 5, 9);
    assert_merge(&tables->merges[5], 5, 5, 8);
    assert_null(tables->scores);
    assert_true(tables->byte_fallback && tables->fuse_unk && !tables->ignore_merges);
    assert_int_equal(tables->unk_id, 0);
    baton_tokenizer_tables_free(tables);
}

TEST(gemmas_equal_scores_are_in_the_order_of_lengths)
{
    struct file file = piece_file();
    put_text(&file, "general.architecture", "gemma2");
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_merge(&tables->merges[2], 8, 6, 10);
    assert_merge(&tables->merges[3], 5, 7, 10);
    baton_tokenizer_tables_free(tables);
}

TEST(user_defined_spaces_are_pieces_again)
{
    struct file file = piece_file();
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_string_equal(tables->tokens[11].text, SPACE SPACE);
    assert_int_equal(tables->n_added, 4);
    assert_added(&tables->added[0], "<unk>", 0, true);
    assert_added(&tables->added[3], SPACE SPACE, 11, false);
    baton_tokenizer_tables_free(tables);
}

TEST(sentencepiece_has_a_space_and_a_token_first_unless_keys_say_otherwise)
{
    struct file file = piece_file();
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->steps.n_normalizer, 2);
    assert_int_equal(tables->steps.normalizer[0].kind, BATON_NORMALIZER_PREPEND);
    assert_int_equal(tables->steps.n_decoder, 4);
    assert_int_equal(tables->steps.n_first, 1);
    assert_int_equal(tables->steps.first_ids[0], 1); /* by custom */
    baton_tokenizer_tables_free(tables);
    file = piece_file();
    put_flag(&file, KEY "add_space_prefix", false);
    put_flag(&file, KEY "add_bos_token", false);
    put_flag(&file, KEY "add_eos_token", true);
    tables = read_end(&file);
    assert_int_equal(tables->steps.n_normalizer, 1);
    assert_int_equal(tables->steps.n_decoder, 3);
    assert_int_equal(tables->steps.n_first, 0);
    assert_int_equal(tables->steps.n_last, 1);
    assert_int_equal(tables->steps.last_ids[0], 2);
    baton_tokenizer_tables_free(tables);
}

TEST(phi_3s_special_tokens_take_the_spaces_behind_them)
{
    static const char *const tokens[] = {"<unk>", "<s>", "</s>", "<|end|>", "<|endoftext|>", NULL};
    static const float zeros[5];
    struct file file = begin_file("llama");
    put_text(&file, "general.architecture", "phi3");
    put_texts(&file, KEY "tokens", tokens);
    put_types(&file, "23433");
    put_scores(&file, zeros, 5);
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->n_added, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(tables->added[i].rstrip, i == 2 || i == 3);
    baton_tokenizer_tables_free(tables);
}

TEST(unigram_keeps_its_scores_and_its_map_of_characters)
{
    struct file file = begin_file("t5");
    put_texts(&file, KEY "tokens", pieces);
    put_types(&file, "233611111114");
    put_scores(&file, scores, 12);
    put_gguf_array(&file.entries, KEY "precompiled_charsmap", BATON_GGUF_U8, 4);
    baton_buf_puts(&file.entries, "abcd");
    file.n++;
    put_flag(&file, KEY "remove_extra_whitespaces", true);
    put_id(&file, KEY "unknown_token_id", 0);
    struct baton_tokenizer_tables *tables = read_end(&file);
    assert_int_equal(tables->model, BATON_TOKENIZER_UNIGRAM);
    assert_true(tables->scores[7] == -1 && tables->scores[11] == 0);
    assert_int_equal(tables->unk_id, 0);
    assert_int_equal(tables->steps.n_normalizer, 3);
    assert_int_equal(tables->steps.normalizer[0].kind, BATON_NORMALIZER_PRECOMPILED);
    assert_string_equal(tables->steps.normalizer[0].content.bytes, "YWJjZA==");
    assert_int_equal(tables->steps.n_first, 0);
    assert_int_equal(tables->steps.n_last, 1);
    assert_int_equal(tables->steps.last_ids[0], 1);
    baton_tokenizer_tables_free(tables);
}
