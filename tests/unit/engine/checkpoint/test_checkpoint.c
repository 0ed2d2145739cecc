#include "tests/support/scratch.h"

#include <sys/stat.h>

#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/weights/weights.h"

#define GPT2                                                                                       \
    "{\"model_type\":\"gpt2\",\"n_layer\":2,\"n_head\":3,\"n_embd\":12,\"vocab_size\":50,"         \
    "\"n_positions\":32,\"bos_token_id\":48,\"eos_token_id\":49}"

static struct baton_checkpoint *open_model(const char *path)
{
    struct baton_checkpoint *checkpoint = NULL;
    struct baton_why why = {.text = ""};
    if (baton_checkpoint_open(path, &checkpoint, &why))
        fail_msg("%s", why.text);
    return checkpoint;
}

static void assert_refused(enum baton_err expected, const char *reason)
{
    struct baton_checkpoint *checkpoint = NULL;
    struct baton_why why = {.text = ""};
    assert_int_equal(baton_checkpoint_open(scratch, &checkpoint, &why), expected);
    assert_null(checkpoint);
    if (!strstr(why.text, reason))
        fail_msg("\"%s\" in \"%s\"", reason, why.text);
}

TEST_ALONE(the_story_model_is_known_without_its_weights)
{
    struct baton_checkpoint *checkpoint = open_model("models/tale");
    assert_string_equal(checkpoint->path, "models/tale");
    assert_string_equal(checkpoint->config_path, "models/tale/config.json");
    assert_string_equal(checkpoint->config.model_type, "gpt2");
    assert_string_equal(checkpoint->facts.name, "tale");
    assert_int_equal(checkpoint->facts.n_vocab, 2560);
    assert_int_equal(checkpoint->facts.n_context_tokens, 512);
    assert_int_equal(checkpoint->facts.n_eos, 1);
    assert_int_equal(checkpoint->facts.eos_ids[0], 2559);
    assert_int_equal(checkpoint->facts.bos_id, 2559);
    baton_checkpoint_close(checkpoint);
}

static void assert_name(const char *path, const char *name)
{
    struct baton_checkpoint *checkpoint = open_model(in_scratch(path));
    assert_string_equal(checkpoint->facts.name, name);
    baton_checkpoint_close(checkpoint);
}

TEST(a_model_is_named_as_its_path_says)
{
    static const char *const directories[] = {"hub", "hub/models--Acme--Tale-1B",
                                              "hub/models--Acme--Tale-1B/snapshots", "snapshots"};
    const char *own = strrchr(scratch, '/') + 1;
    write_scratch("config.json", GPT2);
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        assert_int_equal(mkdir(in_scratch(directories[i]), 0700), 0);
    assert_int_equal(symlink(scratch, in_scratch("link")), 0);
    assert_int_equal(symlink(scratch, in_scratch("snapshots/0123abcd")), 0);
    assert_int_equal(symlink(scratch, in_scratch("hub/models--Acme--Tale-1B/snapshots/0123abcd")),
                     0);
    assert_name("link", "link");
    assert_name("link//", "link");
    assert_name(".", own);
    assert_name("link/.", own);
    assert_name("hub/..", own);
    assert_name("snapshots/0123abcd", "0123abcd");
    assert_name("hub/models--Acme--Tale-1B/snapshots/0123abcd", "Tale-1B");
}

TEST(facts_for_clients_equal_the_engines_config)
{
    write_scratch("config.json", GPT2);
    write_scratch("generation_config.json", "{\"eos_token_id\":[49,47]}");
    struct baton_checkpoint *checkpoint = open_model(scratch);
    const struct baton_model_facts *facts = &checkpoint->facts;
    const struct baton_model_config *config = &checkpoint->config;
    assert_int_equal(facts->n_vocab, config->n_vocab);
    assert_int_equal(facts->n_context_tokens, config->n_context);
    assert_int_equal(facts->bos_id, config->bos_id);
    assert_int_equal(facts->n_eos, 2);
    assert_int_equal(facts->n_eos, config->n_eos);
    assert_memory_equal(facts->eos_ids, config->eos_ids, sizeof config->eos_ids);
    baton_checkpoint_close(checkpoint);
}

TEST(a_config_that_is_missing_or_lacks_what_every_process_needs_is_refused)
{
    assert_refused(BATON_NOT_FOUND, "/config.json");
    write_scratch("config.json", "{\"n_positions\":32}");
    assert_refused(BATON_INVALID, "/config.json: vocab_size: must be given, a whole number");
    write_scratch("config.json", "{\"vocab_size\":50}");
    assert_refused(BATON_INVALID,
                   "/config.json: n_positions (n_ctx, max_position_embeddings): must be given");
    write_scratch("config.json", "{\"vocab_size\":50,\"n_positions\":32");
    assert_refused(BATON_INVALID, "/config.json: line 1");
    write_scratch("config.json", GPT2);
    write_scratch("generation_config.json", "[]");
    assert_refused(BATON_INVALID, "/generation_config.json: must hold one JSON object");
}

#define MODULES(last)                                                                              \
    "[{\"type\":\"sentence_transformers.models.Transformer\"},"                                    \
    "{\"type\":\"sentence_transformers.models.Pooling\"},"                                         \
    "{\"type\":\"sentence_transformers.models." last "\"}]"

static enum baton_pooling pooling_of(const char *modules, const char *pooling)
{
    write_scratch("modules.json", modules);
    write_scratch("1_Pooling/config.json", pooling);
    struct baton_checkpoint *checkpoint = open_model(scratch);
    enum baton_pooling found = checkpoint->facts.pooling;
    baton_checkpoint_close(checkpoint);
    return found;
}

TEST(files_of_sentence_transformers_say_how_embeddings_are_pooled)
{
    static const char usual[] = MODULES("Normalize");
    write_scratch("config.json", GPT2);
    struct baton_checkpoint *plain = open_model(scratch);
    assert_int_equal(plain->facts.pooling, BATON_POOLING_NONE);
    assert_int_equal(plain->facts.n_embd, 12);
    baton_checkpoint_close(plain);
    assert_int_equal(mkdir(in_scratch("1_Pooling"), 0700), 0);
    assert_int_equal(pooling_of(usual, "{\"pooling_mode_mean_tokens\":true,"
                                       "\"pooling_mode_lasttoken\":false}"),
                     BATON_POOLING_MEAN);
    assert_int_equal(pooling_of(usual, "{\"pooling_mode_lasttoken\":true}"), BATON_POOLING_LAST);
    assert_int_equal(pooling_of(usual, "{\"pooling_mode_cls_token\":true}"), BATON_POOLING_NONE);
    assert_int_equal(pooling_of(usual, "{\"pooling_mode_mean_tokens\":true,"
                                       "\"pooling_mode_lasttoken\":true}"),
                     BATON_POOLING_NONE);
    assert_int_equal(pooling_of(MODULES("Dense"), "{\"pooling_mode_mean_tokens\":true}"),
                     BATON_POOLING_NONE);
    write_scratch("1_Pooling/config.json", "{");
    assert_refused(BATON_INVALID, "1_Pooling/config.json: ");
}

TEST_ALONE(a_path_that_is_too_long_is_refused)
{
    struct baton_checkpoint *checkpoint = NULL;
    struct baton_why why;
    char path[PATH_MAX + 1];
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = 0;
    assert_int_equal(baton_checkpoint_open(path, &checkpoint, &why), BATON_INVALID);
    path[PATH_MAX - 1] = 0; /* itself a path, but not with a file's name behind it */
    assert_int_equal(baton_checkpoint_open(path, &checkpoint, &why), BATON_INVALID);
    assert_null(checkpoint);
}

TEST(each_missing_part_is_an_error_only_for_readers_of_it)
{
    struct baton_fingerprint fingerprint;
    struct baton_weights *weights = NULL;
    struct baton_why why;
    write_scratch("config.json", GPT2);
    struct baton_checkpoint *checkpoint = open_model(scratch);
    assert_int_equal(baton_checkpoint_weights(checkpoint, &weights, &why), BATON_NOT_FOUND);
    assert_non_null(strstr(why.text, "/model.safetensors"));
    assert_null(weights);
    assert_int_equal(baton_checkpoint_fingerprint(checkpoint, NULL, false, &fingerprint, &why),
                     BATON_NOT_FOUND);
    assert_non_null(strstr(why.text, "/vocab.json"));
    write_scratch("tokenizer.json", "{}");
    assert_ok(baton_checkpoint_fingerprint(checkpoint, NULL, false, &fingerprint, &why));
    assert_string_equal(fingerprint.weights, "");
    assert_int_equal(baton_checkpoint_fingerprint(checkpoint, NULL, true, &fingerprint, &why),
                     BATON_NOT_FOUND);
    baton_checkpoint_close(checkpoint);
}

TEST_ALONE(tensors_outlive_the_checkpoint_they_were_taken_from)
{
    struct baton_weights *weights = NULL;
    struct baton_checkpoint *checkpoint = open_model("models/tale");
    assert_ok(baton_checkpoint_weights(checkpoint, &weights, NULL));
    baton_checkpoint_close(checkpoint);
    assert_non_null(baton_weights_find(weights, "transformer.wte.weight"));
    baton_weights_close(weights);
}

EACH_TEST(make_scratch, remove_scratch)
