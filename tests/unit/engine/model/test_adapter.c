/* Adapters of every kind of matrix beside the model in which they are merged, and those that are
 * refused by name. */
#include "common/base/array.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/kernel_sets.h"
#include "tests/support/scratch.h"
#include "tests/unit/engine/model/adapter_unit.h"

#include "engine/adapter.h"
#include "engine/model/model.h"

enum { N_TOKENS = 37, MAX_LORAS = 128, ALPHA = 6, RANK = 4, SEED = 11 };

/* ---- An adapter for each matrix of a fixture ---- */

static struct lora loras[MAX_LORAS];
static int n_loras;

/* What the modules of an adapter share, and the exceptions in its config. */
struct form {
    const char *family, *modules[8];
    bool transposed, by_root;
    const char *config; /* further fields */
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && !strcmp(text + n - n_end, end);
}

static bool is_target(const struct form *form, const char *name)
{
    char end[NAME_BYTES];
    for (int i = 0; form->modules[i]; i++) {
        (void)snprintf(end, sizeof end, "%s.weight", form->modules[i]);
        if (ends_with(name, end))
            return true;
    }
    return false;
}

/* The patterns in the config of the first form. */
static void set_scale(const struct form *form, struct lora *lora)
{
    double alpha = ALPHA;
    if (form->config && ends_with(lora->tensor, "layers.1.self_attn.q_proj.weight"))
        lora->rank = 2;
    if (form->config && ends_with(lora->tensor, "down_proj.weight"))
        alpha = 3;
    lora->scale = alpha / (form->by_root ? sqrt(lora->rank) : lora->rank);
}

static void make_lora(const struct form *form, const struct baton_tensor *tensor)
{
    struct lora *lora = &loras[n_loras];
    assert_true(n_loras < MAX_LORAS);
    *lora = (struct lora){.rank = RANK,
                          .n_out = (int)tensor->shape[form->transposed],
                          .n_in = (int)tensor->shape[!form->transposed]};
    (void)snprintf(lora->tensor, sizeof lora->tensor, "%s", tensor->name);
    set_scale(form, lora);
    lora->a = random_floats((size_t)lora->rank * lora->n_in, SEED + 2 * (uint64_t)n_loras);
    lora->b = random_floats((size_t)lora->n_out * lora->rank, SEED + 2 * (uint64_t)n_loras + 1);
    for (int i = 0; i < lora->n_out * lora->rank; i++)
        lora->b[i] *= 0.05F;
    n_loras++;
}

static void drop_loras(void)
{
    while (n_loras) {
        free(loras[--n_loras].a);
        free(loras[n_loras].b);
    }
}

static int drop(void **state)
{
    drop_loras();
    return remove_scratch(state);
}

static void fixture_path(const struct form *form, const char *file, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "tests/fixtures/models/%s%s%s", form->family, *file ? "/" : "",
                   file);
}

/* Makes the adapter, and writes the merged model to the scratch directory. */
static void make_merged(const struct form *form)
{
    struct baton_weights *weights;
    const struct baton_tensor *tensor;
    struct tensor_writer writer;
    struct baton_buf config;
    char path[PATH_MAX];
    fixture_path(form, "", path);
    assert_ok(baton_weights_open(path, &weights, NULL));
    begin_tensors(&writer);
    for (size_t i = 0, n; (tensor = baton_weights_at(weights, i)); i++) {
        float *values = tensor_floats(tensor, &n);
        if (is_target(form, tensor->name)) {
            make_lora(form, tensor);
            merge(&loras[n_loras - 1], form->transposed, values);
        }
        put_tensor(&writer, tensor->name, tensor->n_dims, tensor->shape, values, n);
        free(values);
    }
    baton_weights_close(weights);
    end_tensors(&writer, "model.safetensors");
    fixture_path(form, "config.json", path);
    baton_buf_init(&config, FILE_MAX_BYTES);
    assert_ok(baton_file_read(path, &config, NULL));
    write_file("config.json", &config, 1);
    baton_buf_fini(&config);
}

static void write_config(const char *fields)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{\"peft_type\": \"LORA\", \"r\": %d, \"lora_alpha\": %d, \"bias\": \"none\", "
                   "\"target_modules\": \"all-linear\"%s}",
                   RANK, ALPHA, fields);
    write_scratch("adapter_config.json", text);
}

static void write_peft(const struct form *form)
{
    struct tensor_writer writer;
    char name[2 * NAME_BYTES];
    begin_tensors(&writer);
    for (int i = 0; i < n_loras; i++) {
        const struct lora *lora = &loras[i];
        const int64_t a[] = {lora->rank, lora->n_in}, b[] = {lora->n_out, lora->rank};
        int n = (int)(strlen(lora->tensor) - strlen(".weight"));
        (void)snprintf(name, sizeof name, "base_model.model.%.*s.lora_A.weight", n, lora->tensor);
        put_tensor(&writer, name, 2, a, lora->a, (size_t)lora->rank * lora->n_in);
        (void)snprintf(name, sizeof name, "base_model.model.%.*s.lora_B.weight", n, lora->tensor);
        put_tensor(&writer, name, 2, b, lora->b, (size_t)lora->n_out * lora->rank);
    }
    end_tensors(&writer, "adapter_model.safetensors");
    write_config(form->config       ? form->config
                 : form->by_root    ? ", \"use_rslora\": true"
                 : form->transposed ? ", \"fan_in_fan_out\": true"
                                    : "");
}

/* ---- Logits ---- */

static struct baton_model *open_model(const char *path, const char *dtype)
{
    struct baton_model *model;
    struct baton_why why = {""};
    const struct baton_model_options options = {.dtype = dtype};
    if (baton_model_open(path, &options, &model, &why))
        fail_msg("%s", why.text);
    return model;
}

/* The logits after the tokens; without a blend by an engine that computes none. */
static float *logits_of(const struct baton_model *model, const struct baton_blend *blend)
{
    struct baton_kv *kv;
    struct baton_engine *engine;
    struct baton_seq seq;
    uint32_t tokens[N_TOKENS];
    const struct baton_kv_pool_options pool = {.n_blocks = 8};
    const struct baton_engine_options options = {
        .max_rows = N_TOKENS, .n_threads = 2, .adapts = blend != NULL};
    float *logits = calloc((size_t)baton_model_info(model)->n_vocab, sizeof *logits);
    for (int i = 0; i < N_TOKENS; i++)
        tokens[i] = (uint32_t)(7 * i * i + 3 * i) % 500;
    assert_ok(baton_kv_create(model, &pool, &kv, NULL));
    assert_ok(baton_engine_create(model, &options, &engine, NULL));
    assert_ok(baton_seq_init(&seq, kv, N_TOKENS));
    seq.blend = blend;
    assert_ok(baton_engine_prefill(engine, &seq, tokens, N_TOKENS, NULL, NULL, logits));
    baton_seq_fini(&seq);
    baton_engine_destroy(engine);
    baton_kv_destroy(kv);
    return logits;
}

static double largest_difference(const float *a, const float *b, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs((double)a[i] - b[i]));
    return most;
}

static struct baton_adapter *load_adapter(const struct baton_model *model, const char *path)
{
    struct baton_adapter *adapter;
    struct baton_why why = {""};
    if (baton_adapter_load(model, path, &adapter, &why))
        fail_msg("%s", why.text);
    return adapter;
}

/* A set of kernels, NULL for the best, and how far from the merged model it may be. */
struct kernels_of {
    const struct baton_kernels *set;
    double bound;
};

static struct baton_model *open_on(const struct kernels_of *of, const char *path)
{
    struct baton_model *model;
    const struct baton_model_options options = {
        .dtype = "f32", .kernels = of->set ? kernel_sets_name(of->set) : NULL};
    assert_ok(baton_model_open(path, &options, &model, NULL));
    if (of->set)
        kernel_sets_give(model, of->set);
    return model;
}

/* The adapter at a path beside the merged model, and beside the model alone, which is another. */
static void assert_merges_on(const struct kernels_of *of, const struct form *form,
                             const char *adapter_path)
{
    char path[PATH_MAX];
    fixture_path(form, "", path);
    struct baton_model *model = open_on(of, path), *merged = open_on(of, scratch);
    struct baton_adapter *adapter = load_adapter(model, adapter_path);
    const struct baton_blend blend = {.n = 1, .list = {{adapter, 1}}};
    int n = baton_model_info(model)->n_vocab;
    float *changed = logits_of(model, &blend), *wanted = logits_of(merged, NULL),
          *plain = logits_of(model, NULL);
    double difference = largest_difference(changed, wanted, n),
           effect = largest_difference(plain, wanted, n);
    if (!(difference <= of->bound * effect) || !(effect > 0.01))
        fail_msg("%s: %g from the merged model, whose logits change by %g", form->family,
                 difference, effect);
    free(changed);
    free(wanted);
    free(plain);
    baton_adapter_close(adapter);
    baton_model_close(model);
    baton_model_close(merged);
}

static void assert_merges(const struct form *form, const char *adapter_path)
{
    const struct kernels_of best = {.bound = 1e-4};
    assert_merges_on(&best, form, adapter_path);
}

#define ATTENTION "q_proj", "k_proj", "v_proj", "o_proj"

static const struct form forms[] = {
    {.family = "llama",
     .modules = {ATTENTION, "gate_proj", "up_proj", "down_proj"},
     .config = ", \"rank_pattern\": {\"layers.1.self_attn.q_proj\": 2}, "
               "\"alpha_pattern\": {\".*\\\\.\\\\d+\\\\.mlp\\\\.(down|x)_proj\": 3}"},
    {.family = "llama", .modules = {"k_proj"}, .by_root = true},
    {.family = "gpt2", .modules = {"c_attn", "c_proj", "c_fc"}, .transposed = true},
    {.family = "phi3", .modules = {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"}},
    {.family = "gemma2", .modules = {ATTENTION, "gate_proj", "up_proj", "down_proj"}},
    {.family = "olmo2", .modules = {ATTENTION, "up_proj"}},
    {.family = "starcoder2", .modules = {ATTENTION, "c_fc", "c_proj"}},
    {.family = "granite", .modules = {"q_proj", "down_proj"}},
    {.family = "qwen3-moe", .modules = {ATTENTION}},
    {.family = "mixtral", .modules = {"v_proj", "o_proj"}},
    {.family = "gemma4-e2b", .modules = {ATTENTION, "gate_proj", "up_proj", "mlp.down_proj"}},
    {.family = "gemma4-31b", .modules = {ATTENTION, "gate_proj", "up_proj", "down_proj"}},
    {.family = "gemma4-26b-a4b", .modules = {ATTENTION}},

};

TEST(an_adapter_computes_what_the_merged_model_computes)
{
    for (size_t i = 0; i < BATON_N_OF(forms); i++) {
        make_merged(&forms[i]);
        write_peft(&forms[i]);
        assert_merges(&forms[i], scratch);
        drop_loras();
    }
}

/* AMX multiplies f32 as pairs of bf16. */
TEST(an_adapter_is_computed_by_every_set_of_kernels)
{
    const struct baton_kernels *set;
    make_merged(&forms[0]);
    write_peft(&forms[0]);
    for (int i = 0; (set = kernel_sets_at(i)); i++)
        assert_merges_on(&(struct kernels_of){.set = set, .bound = 2e-3}, &forms[0], scratch);
}

/* ---- GGUF ---- */

static const struct {
    const char *hf, *gguf;
    int n_heads; /* whose rows are pairs; 0: plain */
} gguf_names[] = {
    {"self_attn.q_proj", "attn_q", 4}, {"self_attn.k_proj", "attn_k", 2},
    {"self_attn.v_proj", "attn_v", 0}, {"self_attn.o_proj", "attn_output", 0},
    {"mlp.gate_proj", "ffn_gate", 0},  {"mlp.up_proj", "ffn_up", 0},
    {"mlp.down_proj", "ffn_down", 0},
};

static size_t find_gguf_name(const char *tensor)
{
    size_t i = 0;
    while (!strstr(tensor, gguf_names[i].hf))
        i++;
    return i;
}

/* convert_hf_to_gguf.py's permute: rows i and i + D / 2 of a head stand side by side. */
static int paired_row(int out, int n_out, int n_heads)
{
    int head_dim = n_heads ? n_out / n_heads : 0, d = n_heads ? out % head_dim : 0;
    if (!n_heads)
        return out;
    return out - d + (d < head_dim / 2 ? 2 * d : 2 * (d - head_dim / 2) + 1);
}

static void put_up(struct baton_buf *data, const struct lora *lora, int n_heads)
{
    float *rows = calloc((size_t)lora->n_out * lora->rank, sizeof *rows);
    for (int o = 0; o < lora->n_out; o++)
        memcpy(rows + paired_row(o, lora->n_out, n_heads) * lora->rank, lora->b + o * lora->rank,
               (size_t)lora->rank * sizeof *rows);
    baton_buf_append(data, rows, (size_t)lora->n_out * lora->rank * sizeof *rows);
    free(rows);
}

static void put_names(struct baton_buf *head, const struct lora *lora, size_t at, size_t *offset)
{
    char name[NAME_BYTES];
    int layer = (int)strtol(strstr(lora->tensor, "layers.") + strlen("layers."), NULL, 10);
    (void)snprintf(name, sizeof name, "blk.%d.%s.weight.lora_a", layer, gguf_names[at].gguf);
    put_gguf_tensor(head, name, (uint64_t)lora->n_in, (uint64_t)lora->rank, 0, *offset);
    *offset += (size_t)lora->rank * lora->n_in * sizeof(float);
    (void)snprintf(name, sizeof name, "blk.%d.%s.weight.lora_b", layer, gguf_names[at].gguf);
    put_gguf_tensor(head, name, (uint64_t)lora->rank, (uint64_t)lora->n_out, 0, *offset);
    *offset += (size_t)lora->n_out * lora->rank * sizeof(float);
}

static void write_gguf(const char *type, const char *adapter_type)
{
    struct baton_buf parts[2];
    size_t offset = 0;
    baton_buf_init(&parts[0], FILE_MAX_BYTES);
    baton_buf_init(&parts[1], FILE_MAX_BYTES);
    put_gguf_head(&parts[0], 3, 2 * (uint64_t)n_loras, 4);
    put_gguf_string(&parts[0], "general.architecture", "llama");
    put_gguf_string(&parts[0], "general.type", type);
    put_gguf_string(&parts[0], "adapter.type", adapter_type);
    put_gguf_f32(&parts[0], "adapter.lora.alpha", ALPHA);
    for (int i = 0; i < n_loras; i++) {
        size_t at = find_gguf_name(loras[i].tensor);
        put_names(&parts[0], &loras[i], at, &offset);
        baton_buf_append(&parts[1], loras[i].a,
                         (size_t)loras[i].rank * loras[i].n_in * sizeof(float));
        put_up(&parts[1], &loras[i], gguf_names[at].n_heads);
    }
    while (parts[0].len % 32)
        baton_buf_putc(&parts[0], 0);
    write_file("adapter.gguf", parts, 2);
    baton_buf_fini(&parts[0]);
    baton_buf_fini(&parts[1]);
}

static const struct form all_of_llama = {
    .family = "llama", .modules = {ATTENTION, "gate_proj", "up_proj", "down_proj"}};

TEST(a_gguf_adapter_whose_queries_are_pairs_changes_the_same_rows)
{
    char path[PATH_MAX];
    make_merged(&all_of_llama);
    write_gguf("adapter", "lora");
    (void)snprintf(path, sizeof path, "%s/adapter.gguf", scratch);
    assert_merges(&all_of_llama, path);
}

/* ---- Batches ---- */

enum { N_CHUNKS = 5, CHUNK_TOKENS = 9 };

/* Prompts of five blends in one forward, or in one for each, then a step of all of them. */
static void run_chunks(const struct baton_model *model, const struct baton_blend *const blends[],
                       bool together, float *logits)
{
    struct baton_kv *kv;
    struct baton_engine *engine;
    struct baton_seq seqs[N_CHUNKS], *list[N_CHUNKS];
    struct baton_chunk chunks[N_CHUNKS];
    uint32_t tokens[N_CHUNKS][CHUNK_TOKENS], next[N_CHUNKS];
    size_t n_vocab = (size_t)baton_model_info(model)->n_vocab;
    const struct baton_kv_pool_options pool = {.n_blocks = 16};
    const struct baton_engine_options options = {
        .max_rows = N_CHUNKS * CHUNK_TOKENS, .n_threads = 2, .adapts = true};
    assert_ok(baton_kv_create(model, &pool, &kv, NULL));
    assert_ok(baton_engine_create(model, &options, &engine, NULL));
    for (int i = 0; i < N_CHUNKS; i++) {
        for (int t = 0; t < CHUNK_TOKENS; t++)
            tokens[i][t] = (uint32_t)(31 * i + 17 * t * t) % 600;
        assert_ok(baton_seq_init(&seqs[i], kv, CHUNK_TOKENS + 1));
        seqs[i].blend = blends[i];
        list[i] = &seqs[i];
        next[i] = (uint32_t)(5 + i);
        chunks[i] = (struct baton_chunk){
            .seq = &seqs[i], .tokens = tokens[i], .n_tokens = CHUNK_TOKENS, .n_logits = 1};
    }
    for (int i = 0; i < N_CHUNKS && !together; i++)
        assert_ok(baton_engine_forward(engine, &chunks[i], 1, NULL, NULL, logits + i * n_vocab));
    if (together)
        assert_ok(baton_engine_forward(engine, chunks, N_CHUNKS, NULL, NULL, logits));
    logits += N_CHUNKS * n_vocab;
    for (int i = 0; i < N_CHUNKS && !together; i++)
        assert_ok(baton_engine_decode(engine, &list[i], &next[i], 1, logits + i * n_vocab));
    if (together)
        assert_ok(baton_engine_decode(engine, list, next, N_CHUNKS, logits));
    for (int i = 0; i < N_CHUNKS; i++)
        baton_seq_fini(&seqs[i]);
    baton_engine_destroy(engine);
    baton_kv_destroy(kv);
}

TEST(a_rows_bits_depend_on_its_own_blend_alone)
{
    static const char *const dtypes[] = {"f32", "bf16", "q8", "q4"};
    char path[PATH_MAX];
    make_merged(&forms[0]);
    write_peft(&forms[0]);
    fixture_path(&forms[0], "", path);
    for (size_t d = 0; d < BATON_N_OF(dtypes); d++) {
        struct baton_model *model = open_model(path, dtypes[d]);
        struct baton_adapter *one = load_adapter(model, scratch),
                             *other = load_adapter(model, scratch);
        const struct baton_blend half = {.n = 1, .list = {{one, 0.5F}}},
                                 same = {.n = 1, .list = {{one, 0.5F}}},
                                 both = {.n = 2, .list = {{other, -1}, {one, 0.25F}}};
        const struct baton_blend *const blends[N_CHUNKS] = {&half, NULL, &both, &same, NULL},
                                        *const none[N_CHUNKS] = {NULL};
        size_t n = 2 * N_CHUNKS * (size_t)baton_model_info(model)->n_vocab;
        size_t n_row = n / 2 / N_CHUNKS;
        float *together = calloc(n, sizeof *together), *apart = calloc(n, sizeof *apart),
              *plain = calloc(n, sizeof *plain);
        run_chunks(model, blends, true, together);
        run_chunks(model, blends, false, apart);
        run_chunks(model, none, true, plain);
        assert_memory_equal(together, apart, n * sizeof *together);
        assert_memory_equal(together + n_row, plain + n_row, n_row * sizeof *plain);
        assert_memory_equal(together + 4 * n_row, plain + 4 * n_row, n_row * sizeof *plain);
        assert_memory_not_equal(together, plain, n_row * sizeof *plain);
        free(together);
        free(apart);
        free(plain);
        baton_adapter_close(one);
        baton_adapter_close(other);
        baton_model_close(model);
    }
}

/* ---- Refusals ---- */

static void assert_refused(const struct baton_model *model, const char *path, const char *reason)
{
    struct baton_adapter *adapter = NULL;
    struct baton_why why = {.text = ""};
    assert_int_not_equal(baton_adapter_load(model, path, &adapter, &why), BATON_OK);
    if (!strstr(why.text, reason))
        fail_msg("\"%s\" does not say \"%s\"", why.text, reason);
}

TEST(fields_that_the_engine_does_not_compute_are_named)
{
    static const char *const refused[][2] = {
        {", \"use_dora\": true", "use_dora"},
        {", \"lora_bias\": true", "lora_bias"},
        {", \"modules_to_save\": [\"lm_head\"]", "modules_to_save"},
        {", \"trainable_token_indices\": {\"embed_tokens\": [1]}", "trainable_token_indices"},
        {", \"target_parameters\": [\"mlp.experts.gate_up_proj\"]", "target_parameters"},
        {", \"layer_replication\": [[0, 2]]", "layer_replication"},
        {", \"alora_invocation_tokens\": [5]", "alora_invocation_tokens"},
        {", \"init_lora_weights\": \"pissa_niter_4\"", "init_lora_weights"},
        {", \"rank_pattern\": {\"q_proj\": 3}", "r: 3 for model.layers.0.self_attn.q_proj"},
        {", \"rank_pattern\": {\"q_proj\": \"x\"}", "rank_pattern"},
        {", \"rank_pattern\": {\"(?=q_proj\": 3}", "rank_pattern: the pattern"},
        {", \"rank_pattern\": {\"(a{1,99}){1,99}\": 3}", "rank_pattern: the pattern"},
        {", \"rank_pattern\": {\"(((a+)+)+)+\": 3}", "rank_pattern: the pattern"},
        {", \"rank_pattern\": {\"((a)*+)*+\": 3}", "rank_pattern: the pattern"},
        {", \"alpha_pattern\": {\"(a*)\\\\1\": 3}", "alpha_pattern: the pattern"},
        {", \"alpha_pattern\": {\"o_proj\": -1}", "alpha_pattern"},
    };
    char path[PATH_MAX];
    make_merged(&all_of_llama);
    write_peft(&all_of_llama);
    fixture_path(&all_of_llama, "", path);
    struct baton_model *model = open_model(path, "f32");
    for (size_t i = 0; i < BATON_N_OF(refused); i++) {
        write_config(refused[i][0]);
        assert_refused(model, scratch, refused[i][1]);
    }
    write_scratch("adapter_config.json", "{\"peft_type\": \"IA3\"}");
    assert_refused(model, scratch, "peft_type: must be \"LORA\"");
    write_scratch("adapter_config.json", "{\"peft_type\": \"LORA\", \"bias\": \"all\"}");
    assert_refused(model, scratch, "bias: must be \"none\"");
    write_scratch("adapter_config.json", "{\"peft_type\": \"LORA\", \"r\": 4}");
    assert_refused(model, scratch, "lora_alpha: must be a number");
    assert_int_equal(unlink(in_scratch("adapter_config.json")), 0);
    assert_refused(model, scratch, "adapter_config.json");
    write_gguf("model", "lora");
    char adapter[PATH_MAX];
    (void)snprintf(adapter, sizeof adapter, "%s/adapter.gguf", scratch);
    assert_refused(model, adapter, "general.type: must be \"adapter\"");
    write_gguf("adapter", "ia3");
    assert_refused(model, adapter, "adapter.type: must be \"lora\"");
    baton_model_close(model);
}

/* An adapter whose first B is missing, or of another shape, or that has a tensor more. */
TEST(tensors_that_do_not_fit_the_model_are_named)
{
    static const struct {
        const char *tensor, *reason;
        int n_in;
    } more[] = {
        {"model.embed_tokens.lora_embedding_A", "lora_embedding_A", 48},
        {"lm_head.lora_A.weight", "tensor base_model.model.lm_head.lora_A", 48},
        {"model.layers.0.mlp.experts.0.up_proj.lora_A.weight", "experts.0.up_proj", 48},
        {"model.layers.9.self_attn.q_proj.lora_A.weight", "layers.9", 48},
        {"model.layers.0.self_attn.q_proj.lora_A.weight", "must have shape [4, 48], not [4, 40]",
         40},
        {"model.layers.0.self_attn.q_proj.lora_A.weight", "q_proj.lora_B.weight is missing", 48},
        {"model.layers.0.self_attn.q_proj.lora_magnitude_vector", "lora_magnitude_vector", 48},
    };
    struct form empty = {.family = "llama", .modules = {"q_proj"}};
    char path[PATH_MAX], name[NAME_BYTES];
    fixture_path(&empty, "", path);
    struct baton_model *model = open_model(path, "f32");
    float *values = random_floats(RANK * 48, SEED);
    for (size_t i = 0; i < BATON_N_OF(more); i++) {
        struct tensor_writer writer;
        const int64_t shape[] = {RANK, more[i].n_in};
        begin_tensors(&writer);
        (void)snprintf(name, sizeof name, "base_model.model.%s", more[i].tensor);
        put_tensor(&writer, name, 2, shape, values, (size_t)RANK * more[i].n_in);
        end_tensors(&writer, "adapter_model.safetensors");
        write_config("");
        assert_refused(model, scratch, more[i].reason);
    }
    free(values);
    baton_model_close(model);
}

TEST(an_engine_without_adapters_refuses_a_sequence_with_a_blend)
{
    char path[PATH_MAX];
    struct baton_kv *kv;
    struct baton_engine *engine;
    struct baton_seq seq;
    const uint32_t token = 5;
    const struct baton_blend blend = {.n = 0};
    const struct baton_kv_pool_options pool = {.n_blocks = 2};
    const struct baton_engine_options options = {.max_rows = 4, .n_threads = 1};
    fixture_path(&all_of_llama, "", path);
    struct baton_model *model = open_model(path, "f32");
    assert_ok(baton_kv_create(model, &pool, &kv, NULL));
    assert_ok(baton_engine_create(model, &options, &engine, NULL));
    assert_ok(baton_seq_init(&seq, kv, 4));
    seq.blend = &blend;
    assert_int_equal(baton_engine_prefill(engine, &seq, &token, 1, NULL, NULL, NULL),
                     BATON_INVALID);
    baton_seq_fini(&seq);
    baton_engine_destroy(engine);
    baton_kv_destroy(kv);
    baton_model_close(model);
}

EACH_TEST(make_scratch, drop)
