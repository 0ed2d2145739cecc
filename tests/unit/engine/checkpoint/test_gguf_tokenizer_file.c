#include "tests/unit/engine/checkpoint/gguf_tokenizer_unit.h"

#include "tests/support/scratch.h"

#include "engine/checkpoint/cache_dir.h"
#include "engine/checkpoint/chat_template.h"

static void write_file(struct file *file)
{
    size_t n;
    char *bytes = end_file(file, &n);
    FILE *out = fopen(in_scratch("model.gguf"), "w");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
    free(bytes);
}

TEST(templates_and_the_texts_of_tokens_are_in_the_file)
{
    struct baton_chat_template source = {0};
    struct baton_why why = {""};
    struct file file = byte_file("gpt-2");
    put_id(&file, KEY "bos_token_id", 8);
    put_id(&file, KEY "eos_token_id", 4);
    put_text(&file, "tokenizer.chat_template", "{{ bos_token }}");
    put_text(&file, "tokenizer.chat_template.tool_use", "{{ tools }}");
    write_file(&file);
    assert_ok(baton_chat_template_read(in_scratch("model.gguf"), &source, &why));
    assert_string_equal(source.jinja, "{{ bos_token }}");
    assert_int_equal(source.n_jinja, 15);
    assert_string_equal(source.tools_jinja, "{{ tools }}");
    assert_string_equal(source.bos, "<s>");
    assert_string_equal(source.eos, "<|im_end|>");
    baton_chat_template_fini(&source);
    file = byte_file("gpt-2");
    put_id(&file, "tokenizer.chat_template", 1);
    write_file(&file);
    assert_int_equal(baton_chat_template_read(in_scratch("model.gguf"), &source, &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "model.gguf: tokenizer.chat_template must be a text"));
    baton_chat_template_fini(&source);
}

/* Writes a tokenizer of 65,536 tokens. */
static void write_large(const char *pre)
{
    struct file file = begin_file("gpt2");
    char token[16];
    put_text(&file, KEY "pre", pre);
    put_texts(&file, KEY "merges", byte_merges);
    put_gguf_array(&file.entries, KEY "tokens", BATON_GGUF_TEXT, 65536);
    for (int i = 0; i < 65536; i++) {
        (void)snprintf(token, sizeof token, "t%d", i);
        put_gguf_text(&file.entries, i < 10 ? byte_tokens[i] : token);
    }
    file.n++;
    write_file(&file);
}

static struct baton_tokenizer_tables *recall(struct baton_why *why)
{
    static const char digest[BATON_SHA256_HEX] =
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct baton_cache_dirs dirs;
    struct baton_tokenizer_tables *tables = NULL;
    baton_cache_dirs_find(in_scratch("kept"), scratch, &dirs);
    assert_int_equal(dirs.n, 1);
    if (baton_tokenizer_tables_recall(in_scratch("model.gguf"), &dirs, digest, &tables, why))
        return NULL;
    return tables;
}

TEST(a_large_vocabulary_is_read_once)
{
    struct baton_why why = {""};
    write_large("gpt-2");
    struct baton_tokenizer_tables *first = recall(&why);
    assert_non_null(first);
    assert_null(first->kept.data);
    write_large("qwen2"); /* only the steps are read again */
    struct baton_tokenizer_tables *second = recall(&why);
    assert_non_null(second);
    assert_non_null(second->kept.data);
    assert_int_equal(second->n_tokens, 65536);
    assert_string_equal(second->tokens[65535].text, "t65535");
    assert_int_equal(second->n_merges, 2);
    assert_int_equal(second->steps.n_normalizer, 1);
    assert_string_equal(second->file, in_scratch("model.gguf"));
    baton_tokenizer_tables_free(first);
    baton_tokenizer_tables_free(second);
    write_large("rot13");
    assert_null(recall(&why));
    assert_non_null(strstr(why.text, "\"rot13\" is not supported"));
}

EACH_TEST(make_scratch, remove_scratch)
