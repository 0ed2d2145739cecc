#include "engine/checkpoint/gguf/pretokenizer.h"

#include <string.h>

#include "common/base/array.h"

struct split {
    const char *pattern; /* in Oniguruma's syntax */
    enum baton_split_behavior behavior;
};

/* A scheme splits the text, and then the characters that ByteLevel maps it to. */
struct baton_gguf_scheme {
    struct split before[8], after[2];
};

/* ---- patterns ---- */

#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACES      "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
/* GPT-4's pattern (tiktoken's cl100k); digits is the pattern of a number. */
#define CL100K(digits)                                                                             \
    CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES
/* GPT-4o's pattern (o200k): a word also begins where a capital letter follows small ones. */
#define BIG   "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALL "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K(contraction, digits)                                                                 \
    "[^\\r\\n\\p{L}\\p{N}]?" BIG "*" SMALL "+" contraction "|[^\\r\\n\\p{L}\\p{N}]?" BIG "+" SMALL \
    "*" contraction "|" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" SPACES
#define QWEN35                                                                                     \
    CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"                                    \
                "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" SPACES
#define SEED_CODER                                                                                 \
    CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+" SPACES
#define DEEPSEEK_V3                                                                                \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"                                        \
    "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*" SPACES
#define CHINESE          "\\x{4e00}-\\x{9fa5}"
#define CHINESE_JAPANESE "[" CHINESE "\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+"
#define ASIAN            "[" CHINESE "\\x{800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+"
/* The cased letters that DeepSeek LLM's own pattern lists. */
#define CASED_LETTERS                                                                              \
    "A-Za-z\\x{b5}\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}\\x{f8}-\\x{1ba}\\x{1bc}-\\x{1bf}"                 \
    "\\x{1c4}-\\x{293}\\x{295}-\\x{2af}\\x{370}-\\x{373}\\x{376}-\\x{377}\\x{37b}-\\x{37d}"        \
    "\\x{37f}\\x{386}\\x{388}-\\x{38a}\\x{38c}\\x{38e}-\\x{3a1}\\x{3a3}-\\x{3f5}"                  \
    "\\x{3f7}-\\x{481}\\x{48a}-\\x{52f}\\x{531}-\\x{556}\\x{10a0}-\\x{10c5}"                       \
    "\\x{13a0}-\\x{13f5}\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}\\x{1cbd}-\\x{1cbf}"                 \
    "\\x{1d00}-\\x{1d2b}\\x{1d6b}-\\x{1d77}\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}"                 \
    "\\x{1f18}-\\x{1f1d}\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}\\x{1f50}-\\x{1f57}\\x{1f59}"        \
    "\\x{1f5b}\\x{1f5d}\\x{1f5f}-\\x{1f7d}\\x{1f80}-\\x{1fb4}\\x{1fb6}-\\x{1fbc}\\x{1fbe}"         \
    "\\x{1fc2}-\\x{1fc4}\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}\\x{1fd6}-\\x{1fdb}"                 \
    "\\x{1fe0}-\\x{1fec}\\x{1ff2}-\\x{1ff4}\\x{1ff6}-\\x{1ffc}\\x{2102}\\x{2107}"                  \
    "\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}\\x{2124}\\x{2126}\\x{2128}"                   \
    "\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}\\x{2139}\\x{213c}-\\x{213f}\\x{2145}-\\x{2149}"        \
    "\\x{214e}\\x{2183}-\\x{2184}\\x{2c00}-\\x{2c7b}\\x{2c7e}-\\x{2ce4}\\x{2ceb}-\\x{2cee}"        \
    "\\x{2cf2}-\\x{2cf3}\\x{a640}-\\x{a66d}\\x{a680}-\\x{a69b}\\x{a722}-\\x{a76f}"                 \
    "\\x{a771}-\\x{a787}\\x{a78b}-\\x{a78e}\\x{ab70}-\\x{abbf}\\x{fb00}-\\x{fb06}"                 \
    "\\x{fb13}-\\x{fb17}\\x{ff21}-\\x{ff3a}\\x{ff41}-\\x{ff5a}\\x{10400}-\\x{1044f}"               \
    "\\x{104b0}-\\x{104d3}\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}\\x{10cc0}-\\x{10cf2}"         \
    "\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}"
#define DEEPSEEK_SIGNS                                                                             \
    "\\s?[!-/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}\\x{3000}-\\x{3002}]+"

/* ---- schemes ---- */

#define EACH(pattern)                                                                              \
    {                                                                                              \
        (pattern), BATON_SPLIT_ISOLATED                                                            \
    }
#define RUNS(pattern)                                                                              \
    {                                                                                              \
        (pattern), BATON_SPLIT_CONTIGUOUS                                                          \
    }

static const struct baton_gguf_scheme gpt2 = {.before = {EACH(BATON_GPT2_PATTERN)}};
static const struct baton_gguf_scheme gpt2_digits = {
    .before = {EACH("\\p{N}"), EACH(BATON_GPT2_PATTERN)}};
static const struct baton_gguf_scheme cl100k = {.before = {EACH(CL100K("\\p{N}{1,3}"))}};
static const struct baton_gguf_scheme qwen2 = {.before = {EACH(CL100K("\\p{N}"))}};
static const struct baton_gguf_scheme qwen35 = {.before = {EACH(QWEN35)}};
static const struct baton_gguf_scheme o200k = {
    .before = {EACH(O200K(CONTRACTION "?", "\\p{N}{1,3}"))}};
static const struct baton_gguf_scheme tekken = {.before = {EACH(O200K("", "\\p{N}"))}};
static const struct baton_gguf_scheme tiny_aya = {
    .before = {EACH("\\d{1,3}(?=(?:\\d{3})*\\b)"), EACH(O200K(CONTRACTION "?", "\\p{N}{1,3}"))}};
static const struct baton_gguf_scheme seed_coder = {.before = {EACH(SEED_CODER)}};
static const struct baton_gguf_scheme minicpm5 = {
    .before = {EACH("\\p{N}{1,3}"), EACH(CL100K("\\p{N}+"))}};
static const struct baton_gguf_scheme deepseek_v3 = {
    .before = {EACH("\\p{N}{1,3}"), EACH(CHINESE_JAPANESE), EACH(DEEPSEEK_V3)}};
static const struct baton_gguf_scheme deepseek_llm = {
    .before = {EACH("[\\r\\n]"), EACH("\\s?[" CASED_LETTERS "]+"), EACH(DEEPSEEK_SIGNS),
               EACH("\\s+$"), EACH(ASIAN), EACH("\\p{N}")}};
static const struct baton_gguf_scheme deepseek_coder = {
    .before = {EACH("[\\r\\n]"), EACH("\\s?\\p{L}+"), EACH("\\s?\\p{P}+"), EACH(ASIAN),
               EACH("\\p{N}")}};
static const struct baton_gguf_scheme falcon = {
    .before = {RUNS("[\\p{P}$+<=>^`|~]"), EACH(BATON_GPT2_PATTERN)},
    .after = {RUNS("\\p{N}"), EACH("[0-9][0-9][0-9]")}};
/* llama.cpp's default, for files older than tokenizer.ggml.pre. */
static const struct baton_gguf_scheme unnamed = {
    .before = {EACH("[\\p{P}$+<=>^~|]+"), EACH(BATON_GPT2_PATTERN), EACH("\\p{N}+"),
               EACH("[0-9][0-9][0-9]")}};

/* ---- names ---- */

#define NAMED(text, of) .name = (text), .scheme = &(of)
#define COMPOSES        .composes = true
#define IGNORES_MERGES  .ignore_merges = true
#define ADDS_BOS        .adds_bos = true

static const struct baton_gguf_pretokenizer pretokenizers[] = {
    {NAMED("default", unnamed)},
    {NAMED("gpt-2", gpt2)},
    {NAMED("phi-2", gpt2)},
    {NAMED("trillion", gpt2)},
    {NAMED("granite-docling", gpt2)},
    {NAMED("a.x-4.0", gpt2)},
    {NAMED("mellum", gpt2)},
    {NAMED("exaone4", gpt2)},
    {NAMED("mpt", gpt2), COMPOSES},
    {NAMED("olmo", gpt2), COMPOSES},
    {NAMED("starcoder", gpt2_digits)},
    {NAMED("refact", gpt2_digits)},
    {NAMED("smollm", gpt2_digits)},
    {NAMED("codeshell", gpt2_digits)},
    {NAMED("minerva-7b", gpt2_digits)},
    {NAMED("exaone", gpt2_digits)},
    {NAMED("command-r", gpt2_digits), COMPOSES},
    {NAMED("llama-bpe", cl100k), IGNORES_MERGES, ADDS_BOS},
    {NAMED("llama3", cl100k), IGNORES_MERGES, ADDS_BOS},
    {NAMED("llama-v3", cl100k), IGNORES_MERGES, ADDS_BOS},
    {NAMED("falcon3", cl100k), IGNORES_MERGES, ADDS_BOS},
    {NAMED("lfm2", cl100k), IGNORES_MERGES, ADDS_BOS},
    {NAMED("pixtral", cl100k), IGNORES_MERGES, ADDS_BOS},
    {NAMED("midm-2.0", cl100k), IGNORES_MERGES, ADDS_BOS},
    {NAMED("smaug-bpe", cl100k), IGNORES_MERGES},
    {NAMED("dbrx", cl100k)},
    {NAMED("chatglm-bpe", cl100k)},
    {NAMED("glm4", cl100k)},
    {NAMED("qwen2", qwen2), COMPOSES},
    {NAMED("deepseek-r1-qwen", qwen2), COMPOSES},
    {NAMED("megrez", qwen2), COMPOSES},
    {NAMED("hunyuan", qwen2)},
    {NAMED("qwen35", qwen35), COMPOSES},
    {NAMED("gpt-4o", o200k), IGNORES_MERGES},
    {NAMED("tekken", tekken), IGNORES_MERGES, ADDS_BOS},
    {NAMED("tiny_aya", tiny_aya)},
    {NAMED("seed-coder", seed_coder)},
    {NAMED("minicpm5", minicpm5), IGNORES_MERGES},
    {NAMED("deepseek-v3", deepseek_v3)},
    {NAMED("hunyuan-dense", deepseek_v3)},
    {NAMED("deepseek-llm", deepseek_llm)},
    {NAMED("deepseek-coder", deepseek_coder)},
    {NAMED("falcon", falcon)},
};

const struct baton_gguf_pretokenizer *baton_gguf_pretokenizer_find(struct baton_gguf_text name)
{
    for (size_t i = 0; i < BATON_N_OF(pretokenizers); i++)
        if (baton_gguf_text_is(name, pretokenizers[i].name))
            return &pretokenizers[i];
    return NULL;
}

static void add(struct baton_tokenizer_steps *steps, struct baton_pretokenizer_step step)
{
    steps->pretokenizer[steps->n_pretokenizer++] = step;
}

static void add_splits(struct baton_tokenizer_steps *steps, const struct split *splits, size_t n)
{
    for (size_t i = 0; i < n && splits[i].pattern; i++)
        add(steps,
            (struct baton_pretokenizer_step){
                .kind = BATON_PRETOKENIZER_SPLIT,
                .pattern = {{splits[i].pattern, strlen(splits[i].pattern)}, .is_regex = true},
                .behavior = splits[i].behavior});
}

void baton_gguf_pretokenizer_apply(const struct baton_gguf_pretokenizer *pretokenizer,
                                   struct baton_tokenizer_steps *steps)
{
    const struct baton_gguf_scheme *scheme = pretokenizer->scheme;
    if (pretokenizer->composes)
        steps->normalizer[steps->n_normalizer++] =
            (struct baton_normalizer_step){.kind = BATON_NORMALIZER_NFC};
    add_splits(steps, scheme->before, BATON_N_OF(scheme->before));
    add(steps, (struct baton_pretokenizer_step){.kind = BATON_PRETOKENIZER_BYTE_LEVEL});
    add_splits(steps, scheme->after, BATON_N_OF(scheme->after));
    steps->decoder[steps->n_decoder++] =
        (struct baton_decoder_step){.kind = BATON_DECODER_BYTE_LEVEL};
}
