#include "tests/support/scratch.h"

#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/gguf/digest.h"
#include "engine/checkpoint/gguf/model.h"
#include "engine/checkpoint/weights/weights.h"
#include "tests/support/gguf_bytes.h"

enum { MAX_BYTES = 64 << 10 };

static struct baton_buf file;

/* Writes the file so far under this name and begins the next. */
static void write_file(const char *name)
{
    FILE *out = fopen(in_scratch(name), "wb");
    assert_ok(baton_buf_err(&file));
    assert_non_null(out);
    assert_int_equal(fwrite(file.data, 1, file.len, out), file.len);
    assert_int_equal(fclose(out), 0);
    baton_buf_reset(&file);
}

SETUP(begin_files)
{
    baton_buf_init(&file, MAX_BYTES);
    assert_false(make_scratch(NULL));
}

TEARDOWN(end_files)
{
    baton_buf_fini(&file);
    assert_false(remove_scratch(NULL));
}

enum { N_GPT2 = 8 };

static void put_gpt2(void)
{
    put_gguf_string(&file, "general.architecture", "gpt2");
    put_gguf_u32(&file, "gpt2.block_count", 1);
    put_gguf_u32(&file, "gpt2.embedding_length", 4);
    put_gguf_u32(&file, "gpt2.attention.head_count", 2);
    put_gguf_u32(&file, "gpt2.context_length", 8);
    put_gguf_u32(&file, "gpt2.feed_forward_length", 16);
    put_gguf_u32(&file, "gpt2.vocab_size", 6);
    put_gguf_f32(&file, "gpt2.attention.layer_norm_epsilon", 1e-5F);
}

/* Writes one of a model's files; the first one has their number. */
static void write_split(int no, int count, const char *tensor, const char *name)
{
    put_gguf_head(&file, 3, 1, (no ? 0 : N_GPT2) + 3);
    if (!no)
        put_gpt2();
    put_gguf_entry(&file, "split.no", BATON_GGUF_U16, (uint64_t)no, 2);
    put_gguf_entry(&file, "split.count", BATON_GGUF_U16, (uint64_t)count, 2);
    put_gguf_entry(&file, "split.tensors.count", BATON_GGUF_I32, 2, 4);
    put_gguf_tensor(&file, tensor, 4, 6, 0, 0);
    put_gguf_data(&file, 32, 4 * 6 * sizeof(float));
    write_file(name);
}

static void assert_refused(const char *name, enum baton_err wanted, const char *reason)
{
    struct baton_gguf_model *model = NULL;
    struct baton_why why = {.text = ""};
    enum baton_err err = baton_gguf_model_open(in_scratch(name), &model, &why);
    if (err != wanted || !strstr(why.text, reason))
        fail_msg("%s \"%s\" is not %s \"%s\"", baton_err_name(err), why.text,
                 baton_err_name(wanted), reason);
    assert_null(model);
}

TEST(a_model_may_be_in_several_files)
{
    struct baton_gguf_model *model;
    struct baton_weights *weights;
    write_split(0, 2, "token_embd.weight", "m-00001-of-00002.gguf");
    write_split(1, 2, "output.weight", "m-00002-of-00002.gguf");
    const char *path = in_scratch("m-00001-of-00002.gguf");
    assert_ok(baton_gguf_model_open(path, &model, NULL));
    assert_int_equal(model->n_shards, 2);
    assert_non_null(baton_gguf_model_find(model, "token_embd.weight"));
    assert_non_null(baton_gguf_model_find(model, "output.weight"));
    assert_null(baton_gguf_model_find(model, "output.bias"));
    assert_non_null(baton_gguf_find(baton_gguf_model_metadata(model), "gpt2.block_count"));
    baton_gguf_model_close(model);
    assert_ok(baton_weights_open(path, &weights, NULL));
    const struct baton_tensor *output = baton_weights_find(weights, "output.weight");
    assert_int_equal(output->shape[0], 6);
    assert_int_equal(output->shape[1], 4);
    assert_non_null(baton_weights_find(weights, "token_embd.weight"));
    baton_weights_close(weights);
}

TEST(files_that_do_not_belong_together_are_refused)
{
    struct baton_weights *weights;
    struct baton_why why;
    write_split(0, 2, "token_embd.weight", "m-00001-of-00002.gguf");
    assert_refused("m-00001-of-00002.gguf", BATON_NOT_FOUND, "m-00002-of-00002.gguf");
    write_split(0, 2, "output.weight", "m-00002-of-00002.gguf");
    assert_refused("m-00001-of-00002.gguf", BATON_INVALID,
                   "m-00002-of-00002.gguf: split.no: 0 must be 1");
    write_split(1, 2, "output.weight", "m-00002-of-00002.gguf");
    assert_refused("m-00002-of-00002.gguf", BATON_INVALID,
                   "give the path of the model's first file");
    write_split(1, 3, "output.weight", "m-00002-of-00002.gguf");
    assert_refused("m-00001-of-00002.gguf", BATON_INVALID,
                   "split.count: 3 files, but its name says 2");
    write_split(0, 2, "token_embd.weight", "single.gguf");
    assert_refused("single.gguf", BATON_INVALID, "split.count: 2 files, but its name says 1");
    write_split(0, 3, "token_embd.weight", "n-00001-of-00003.gguf");
    write_split(1, 3, "a", "n-00002-of-00003.gguf");
    write_split(2, 3, "b", "n-00003-of-00003.gguf");
    assert_refused("n-00001-of-00003.gguf", BATON_INVALID,
                   "split.tensors.count: 2, but the files have 3");
    write_split(1, 2, "token_embd.weight", "m-00002-of-00002.gguf");
    assert_int_equal(baton_weights_open(in_scratch("m-00001-of-00002.gguf"), &weights, &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "tensor token_embd.weight is in two files"));
}

TEST(a_file_is_a_checkpoint_named_after_itself)
{
    struct baton_checkpoint *checkpoint;
    put_gguf_head(&file, 3, 0, N_GPT2);
    put_gpt2();
    write_file("tiny-Q4_0.gguf");
    const char *path = in_scratch("tiny-Q4_0.gguf");
    assert_ok(baton_checkpoint_open(path, &checkpoint, NULL));
    assert_string_equal(checkpoint->facts.name, "tiny-Q4_0");
    assert_string_equal(checkpoint->config_path, path);
    assert_int_equal(checkpoint->facts.n_vocab, 6);
    assert_int_equal(checkpoint->facts.n_context_tokens, 8);
    baton_checkpoint_close(checkpoint);
    write_split(0, 2, "token_embd.weight", "m-00001-of-00002.gguf");
    write_split(1, 2, "output.weight", "m-00002-of-00002.gguf");
    assert_ok(baton_checkpoint_open(in_scratch("m-00001-of-00002.gguf"), &checkpoint, NULL));
    assert_string_equal(checkpoint->facts.name, "m");
    baton_checkpoint_close(checkpoint);
}

static struct baton_fingerprint fingerprint_of(const char *name)
{
    struct baton_checkpoint *checkpoint = NULL;
    struct baton_fingerprint fingerprint = {.config = ""};
    struct baton_why why = {.text = ""};
    if (baton_checkpoint_open(in_scratch(name), &checkpoint, &why) ||
        baton_checkpoint_fingerprint(checkpoint, NULL, true, &fingerprint, &why))
        fail_msg("%s", why.text);
    baton_checkpoint_close(checkpoint);
    return fingerprint;
}

/* A model whose tokenizer and whose single weight vary. */
static void write_variant(const char *name, uint32_t bos, float weight)
{
    put_gguf_head(&file, 3, 1, N_GPT2 + 1);
    put_gpt2();
    put_gguf_u32(&file, "tokenizer.ggml.bos_token_id", bos);
    put_gguf_tensor(&file, "output_norm.weight", 1, 0, 0, 0);
    put_gguf_data(&file, 32, 0);
    baton_buf_append(&file, &weight, sizeof weight);
    write_file(name);
}

TEST(each_part_of_a_fingerprint_changes_only_with_its_source)
{
    write_variant("a.gguf", 1, 1);
    const struct baton_fingerprint a = fingerprint_of("a.gguf");
    write_variant("a.gguf", 2, 1);
    const struct baton_fingerprint other_tokens = fingerprint_of("a.gguf");
    write_variant("a.gguf", 1, 2);
    const struct baton_fingerprint other_weights = fingerprint_of("a.gguf");
    assert_string_equal(a.config, other_tokens.config);
    assert_string_not_equal(a.tokenizer, other_tokens.tokenizer);
    assert_string_equal(a.config, other_weights.config);
    assert_string_equal(a.tokenizer, other_weights.tokenizer);
    assert_string_not_equal(a.weights, other_weights.weights);
}

static void take_digest(const char *name, enum baton_model_part part, char hex[BATON_SHA256_HEX])
{
    struct baton_gguf_model *model = NULL;
    assert_ok(baton_gguf_model_open(in_scratch(name), &model, NULL));
    assert_ok(baton_gguf_digest(model, part, hex, NULL));
    baton_gguf_model_close(model);
}

/* The merges of a vocabulary depend on the architecture. */
TEST(a_tokenizer_of_another_architecture_is_another_one)
{
    char digests[2][BATON_SHA256_HEX];
    for (int i = 0; i < 2; i++) {
        put_gguf_head(&file, 3, 0, 1);
        put_gguf_string(&file, "general.architecture", i ? "gemma2" : "llama");
        write_file("a.gguf");
        take_digest("a.gguf", BATON_PART_TOKENIZER, digests[i]);
    }
    assert_string_not_equal(digests[0], digests[1]);
}

TEST(how_a_model_is_split_changes_no_digest)
{
    char digests[2][BATON_SHA256_HEX];
    write_split(0, 2, "token_embd.weight", "m-00001-of-00002.gguf");
    write_split(1, 2, "output.weight", "m-00002-of-00002.gguf");
    take_digest("m-00001-of-00002.gguf", BATON_PART_CONFIG, digests[0]);
    write_split(0, 2, "output.weight", "m-00001-of-00002.gguf");
    write_split(1, 2, "token_embd.weight", "m-00002-of-00002.gguf");
    take_digest("m-00001-of-00002.gguf", BATON_PART_CONFIG, digests[1]);
    assert_string_equal(digests[0], digests[1]);
}

TEST_ALONE(names_of_split_files_are_recognised)
{
    char path[PATH_MAX];
    assert_int_equal(baton_gguf_n_shards("m.gguf"), 1);
    assert_int_equal(baton_gguf_n_shards("-00001-of-00002.gguf"), 1);
    assert_int_equal(baton_gguf_n_shards("m-00001-of-00012.gguf"), 12);
    assert_int_equal(baton_gguf_n_shards("m-0001x-of-00012.gguf"), 1);
    assert_true(baton_gguf_shard_path("d/m-00001-of-00012.gguf", 11, path));
    assert_string_equal(path, "d/m-00011-of-00012.gguf");
    assert_false(baton_gguf_shard_path("d/m-00002-of-00012.gguf", 11, path));
    assert_false(baton_gguf_shard_path("d/m.gguf", 2, path));
}

EACH_TEST(begin_files, end_files)
