/* Checkpoints whose tensors are not quite those of their config: refused by name, or understood. */
#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include "common/base/buf.h"
#include "common/base/os/file.h"
#include "engine/model/layers.h"
#include "tests/support/scratch.h"

enum { FILE_MAX_BYTES = 1 << 20, LENGTH_BYTES = 8 };

static void read_fixture(const char *family, const char *name, struct baton_buf *bytes)
{
    char path[128];
    (void)snprintf(path, sizeof path, "tests/fixtures/models/%s/%s", family, name);
    baton_buf_init(bytes, FILE_MAX_BYTES);
    assert_ok(baton_file_read(path, bytes, NULL));
}

/* text, in which `to` stands wherever `from` did. */
static void replace(struct baton_buf *out, const char *text, size_t n, const char *from,
                    const char *to)
{
    const char *end = text + n, *found;
    while (*from && (found = memmem(text, (size_t)(end - text), from, strlen(from)))) {
        baton_buf_append(out, text, (size_t)(found - text));
        baton_buf_append(out, to, strlen(to));
        text = found + strlen(from);
    }
    baton_buf_append(out, text, (size_t)(end - text));
}

static void write_bytes(const char *name, const struct baton_buf *bytes)
{
    FILE *file = fopen(in_scratch(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->data, 1, bytes->len, file), bytes->len);
    assert_int_equal(fclose(file), 0);
}

/* The fixture's tensors, whose names and shapes are edited as text. */
static void write_tensors(const char *family, const char *from, const char *to)
{
    struct baton_buf file, header, edited;
    uint64_t n;
    read_fixture(family, "model.safetensors", &file);
    baton_buf_init(&header, FILE_MAX_BYTES);
    baton_buf_init(&edited, FILE_MAX_BYTES);
    memcpy(&n, file.data, sizeof n);
    replace(&header, (const char *)file.data + LENGTH_BYTES, n, from, to);
    uint64_t n_header = header.len;
    baton_buf_append(&edited, &n_header, sizeof n_header);
    baton_buf_append(&edited, header.data, header.len);
    baton_buf_append(&edited, file.data + LENGTH_BYTES + n, file.len - LENGTH_BYTES - n);
    write_bytes("model.safetensors", &edited);
    baton_buf_fini(&file);
    baton_buf_fini(&header);
    baton_buf_fini(&edited);
}

static void write_config(const char *family, const char *from, const char *to)
{
    struct baton_buf file, edited;
    read_fixture(family, "config.json", &file);
    baton_buf_init(&edited, FILE_MAX_BYTES);
    replace(&edited, (const char *)file.data, file.len, from, to);
    write_bytes("config.json", &edited);
    baton_buf_fini(&file);
    baton_buf_fini(&edited);
}

static void assert_refused(const char *reason)
{
    struct baton_model *model = NULL;
    struct baton_why why = {.text = ""};
    assert_int_equal(baton_model_open(scratch, NULL, &model, &why), BATON_INVALID);
    if (!strstr(why.text, reason))
        fail_msg("\"%s\" does not say \"%s\"", why.text, reason);
}

TEST(a_tensor_that_is_missing_is_named)
{
    static const char *const missing[][2] = {
        {"llama", "model.layers.1.mlp.down_proj.weight"},
        {"llama", "model.layers.2.self_attn.k_proj.weight"},
        {"llama", "model.layers.0.post_attention_layernorm.weight"},
        {"llama", "model.norm.weight"},
        {"llama", "lm_head.weight"},
        {"qwen2", "model.layers.1.self_attn.v_proj.bias"},
        {"qwen3", "model.layers.0.self_attn.q_norm.weight"},
        {"gemma2", "model.layers.1.pre_feedforward_layernorm.weight"},
        {"phi3", "model.layers.0.mlp.gate_up_proj.weight"},
        {"gpt2", "h.1.attn.c_attn.weight"},
        {"mixtral", "model.layers.1.block_sparse_moe.experts.2.w3.weight"},
        {"mixtral", "model.layers.2.block_sparse_moe.gate.weight"},
        {"granite-moe", "model.layers.0.block_sparse_moe.output_linear.weight"},
        {"gpt-oss", "model.layers.0.mlp.experts.gate_up_proj_scales"},
        {"gpt-oss", "model.layers.1.mlp.router.bias"},
    };
    for (size_t i = 0; i < BATON_N_OF(missing); i++) {
        char reason[128];
        (void)snprintf(reason, sizeof reason, "tensor %s is missing", missing[i][1]);
        write_config(missing[i][0], "", "");
        write_tensors(missing[i][0], missing[i][1], "vision.x");
        assert_refused(reason);
    }
}

TEST(half_of_a_matrix_beside_the_whole_of_it_is_not_taken_twice)
{
    write_config("mixtral", "", "");
    write_tensors("mixtral", "model.layers.0.block_sparse_moe.experts.0.w1.weight",
                  "model.layers.0.mlp.experts.gate_up_proj");
    assert_refused("tensor model.layers.0.block_sparse_moe.experts.0.w1.weight is missing");
}

TEST(a_tensor_of_another_shape_is_named_with_the_right_one)
{
    write_config("llama", "", "");
    write_tensors("llama", "\"shape\":[24,48]", "\"shape\":[48,24]");
    assert_refused("tensor model.layers.0.self_attn.k_proj.weight: must have shape [24, 48]");
    write_tensors("llama", "\"shape\":[48],", "\"shape\":[1,48],");
    assert_refused("tensor model.layers.0.input_layernorm.weight: must have shape [48]");
    write_config("granite-moe", "", "");
    write_tensors("granite-moe", "\"shape\":[4,160,48]", "\"shape\":[160,4,48]");
    assert_refused("input_linear.weight: must have shape [4, 160, 48]");
    write_config("gpt-oss", "", "");
    write_tensors("gpt-oss", "\"shape\":[4,64,2]", "\"shape\":[4,2,64]");
    assert_refused("mlp.experts.down_proj_scales: must have shape [4, 64, 2]");
    write_config("llama", "\"vocab_size\": 768", "\"vocab_size\": 767");
    write_tensors("llama", "", "");
    assert_refused("tensor model.embed_tokens.weight: must have shape [767, 48]");
}

TEST(a_tensor_that_the_model_does_not_compute_is_named)
{
    /* Qwen 2's biases, in a model that says it is a Llama. */
    write_config("qwen2", "\"qwen2\"", "\"llama\"");
    write_tensors("qwen2", "", "");
    assert_refused("tensor model.layers.0.self_attn.k_proj.bias: the model");
    write_config("llama", "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2");
    write_tensors("llama", "", "");
    assert_refused("tensor model.layers.2.");
    write_config("phi3", "", "");
    write_tensors("phi3", "model.norm.weight\"",
                  "lm_head.bias\":{\"dtype\":\"BF16\",\"shape\":[0],\"data_offsets\":[0,0]},"
                  "\"model.norm.weight\"");
    assert_refused("tensor lm_head.bias: the model");
}

static struct baton_model *open_scratch(void)
{
    struct baton_model *model = NULL;
    struct baton_why why = {.text = ""};
    if (baton_model_open(scratch, NULL, &model, &why))
        fail_msg("%s", why.text);
    return model;
}

TEST(names_with_another_prefix_or_none_are_the_same_model)
{
    static const char *const prefixes[] = {"", "model.language_model.", "language_model.model."};
    write_config("gemma3", "", "");
    write_tensors("gemma3", "", "");
    struct baton_model *plain = open_scratch();
    for (size_t i = 0; i < BATON_N_OF(prefixes); i++) {
        write_tensors("gemma3", "model.", prefixes[i]);
        struct baton_model *model = open_scratch();
        assert_int_equal(model->n_taken, plain->n_taken);
        assert_memory_equal(model->slab, plain->slab, plain->n_taken);
        baton_model_close(model);
    }
    baton_model_close(plain);
}

/* The fixture with its token embedding once more, as its head; changed in one bit or not. */
static void add_head(const char *family, bool changed)
{
    struct baton_buf file;
    uint64_t n;
    unsigned begin, end;
    char added[256];
    read_fixture(family, "model.safetensors", &file);
    memcpy(&n, file.data, sizeof n);
    const char *embedding = strstr((const char *)file.data + LENGTH_BYTES, "embed_tokens.weight");
    assert_non_null(embedding);
    embedding = strstr(embedding, "\"dtype\"");
    const char *offsets = strstr(embedding, "\"data_offsets\":[");
    assert_int_equal(sscanf(offsets, "\"data_offsets\":[%u,%u]", &begin, &end), 2);
    size_t n_data = file.len - LENGTH_BYTES - n;
    (void)snprintf(added, sizeof added, "lm_head.weight\":{%.*s\"data_offsets\":[%zu,%zu]},\"%s",
                   (int)(offsets - embedding), embedding, n_data, n_data + end - begin,
                   "model.norm.weight\"");
    write_tensors(family, "model.norm.weight\"", added);
    FILE *out = fopen(in_scratch("model.safetensors"), "ab");
    assert_non_null(out);
    file.data[LENGTH_BYTES + n + begin] ^= changed;
    assert_int_equal(fwrite(file.data + LENGTH_BYTES + n + begin, 1, end - begin, out),
                     end - begin);
    assert_int_equal(fclose(out), 0);
    baton_buf_fini(&file);
}

TEST(a_head_that_is_the_token_embedding_again_takes_no_memory)
{
    write_config("gemma2", "", "");
    add_head("gemma2", false);
    struct baton_model *model = open_scratch();
    assert_true(model->spec.has_tied_head);
    baton_model_close(model);
    add_head("gemma2", true);
    model = open_scratch();
    assert_false(model->spec.has_tied_head);
    assert_ptr_not_equal(model->head.parts[0].data, model->token_embedding.parts[0].data);
    baton_model_close(model);
}

TEST(constants_and_parts_of_a_larger_model_are_passed_over)
{
    static const char *const ignored[] = {"model.layers.0.self_attn.rotary_emb.inv_freq",
                                          "vision_tower.patch.weight", "multi_modal.bias"};
    write_config("llama", "", "");
    for (size_t i = 0; i < BATON_N_OF(ignored); i++) {
        char added[256];
        (void)snprintf(added, sizeof added,
                       "%s\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
                       "\"model.norm.weight\"",
                       ignored[i]);
        write_tensors("llama", "model.norm.weight\"", added);
        baton_model_close(open_scratch());
    }
}

EACH_TEST(make_scratch, remove_scratch)
