/* Reads "pre_tokenizer" of tokenizer.json. Each splitter becomes a split by the pattern of its
 * characters, in Oniguruma's syntax. */
#include "common/base/array.h"
#include "engine/checkpoint/hf/steps_file.h"

#include <string.h>

#define PATTERN(text)                                                                              \
    {                                                                                              \
        {(text), sizeof(text) - 1}, true                                                           \
    }

static enum baton_err add(const struct baton_steps_reader *reader,
                          struct baton_pretokenizer_step step)
{
    if (reader->steps->n_pretokenizer == BATON_TOKENIZER_MAX_STEPS)
        return baton_steps_unsupported(reader, "a chain of more than 16 steps");
    reader->steps->pretokenizer[reader->steps->n_pretokenizer++] = step;
    return BATON_OK;
}

static enum baton_err read_behavior(const struct baton_steps_reader *reader,
                                    const struct baton_json *step,
                                    enum baton_split_behavior fallback,
                                    enum baton_split_behavior *behavior)
{
    static const char *const names[] = {"Isolated", "Removed", "Contiguous", "MergedWithPrevious",
                                        "MergedWithNext"};
    const struct baton_json *value = baton_json_get(step, "behavior");
    const char *name = baton_json_string(value, NULL);
    *behavior = fallback;
    if (baton_json_kind(value) == BATON_JSON_NULL)
        return BATON_OK;
    for (int i = 0; name && i < (int)(BATON_N_OF(names)); i++)
        if (!strcmp(name, names[i])) {
            *behavior = (enum baton_split_behavior)i;
            return BATON_OK;
        }
    return baton_steps_wrong(reader, "behavior must be Isolated, Removed, Contiguous, "
                                     "MergedWithPrevious or MergedWithNext");
}

static enum baton_err read_split(const struct baton_steps_reader *reader,
                                 const struct baton_json *value)
{
    struct baton_pretokenizer_step step = {.kind = BATON_PRETOKENIZER_SPLIT};
    enum baton_err err = baton_steps_pattern(reader, value, &step.pattern);
    if (!err)
        err = read_behavior(reader, value, BATON_SPLIT_ISOLATED, &step.behavior);
    if (!err)
        err = baton_steps_bool(reader, value, "invert", false, &step.invert);
    return err ? err : add(reader, step);
}

static enum baton_err read_digits(const struct baton_steps_reader *reader,
                                  const struct baton_json *value)
{
    struct baton_pretokenizer_step step = {.kind = BATON_PRETOKENIZER_SPLIT,
                                           .pattern = PATTERN("\\p{N}")};
    bool individual;
    enum baton_err err = baton_steps_bool(reader, value, "individual_digits", false, &individual);
    step.behavior = individual ? BATON_SPLIT_ISOLATED : BATON_SPLIT_CONTIGUOUS;
    return err ? err : add(reader, step);
}

/* Splits at Unicode's punctuation and at ASCII's, part of which Unicode calls symbols. */
static enum baton_err read_punctuation(const struct baton_steps_reader *reader,
                                       const struct baton_json *value)
{
    struct baton_pretokenizer_step step = {.kind = BATON_PRETOKENIZER_SPLIT,
                                           .pattern = PATTERN("[\\p{P}$+<=>^`|~]")};
    enum baton_err err = read_behavior(reader, value, BATON_SPLIT_ISOLATED, &step.behavior);
    return err ? err : add(reader, step);
}

/* The word characters of Rust's regular expressions, in which Whitespace is written. */
#define RUST_WORD                                                                                  \
    "\\p{L}\\p{M}\\p{Nl}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}\\x{24b6}-\\x{24e9}"                       \
    "\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"

static enum baton_err read_whitespace(const struct baton_steps_reader *reader,
                                      const struct baton_json *value)
{
    static const struct baton_pretokenizer_step words = {
        .kind = BATON_PRETOKENIZER_SPLIT,
        .pattern = PATTERN("[" RUST_WORD "]+|[^" RUST_WORD "\\s]+"),
        .behavior = BATON_SPLIT_REMOVED,
        .invert = true};
    static const struct baton_pretokenizer_step spaces = {.kind = BATON_PRETOKENIZER_SPLIT,
                                                          .pattern = PATTERN("\\s"),
                                                          .behavior = BATON_SPLIT_REMOVED};
    return add(reader, strcmp(baton_steps_type(value), "Whitespace") != 0 ? spaces : words);
}

static enum baton_err read_byte_level(const struct baton_steps_reader *reader,
                                      const struct baton_json *value)
{
    const struct baton_pretokenizer_step gpt2 = {.kind = BATON_PRETOKENIZER_SPLIT,
                                                 .pattern = PATTERN(BATON_GPT2_PATTERN)};
    bool prefix = false, regex;
    enum baton_err err = baton_steps_bool(reader, value, "use_regex", true, &regex);
    if (!err && baton_json_kind(baton_json_get(value, "add_prefix_space")) != BATON_JSON_BOOL)
        err = baton_steps_wrong(reader, "add_prefix_space must be true or false");
    if (!err)
        err = baton_steps_bool(reader, value, "add_prefix_space", false, &prefix);
    if (!err && prefix)
        err =
            add(reader, (struct baton_pretokenizer_step){.kind = BATON_PRETOKENIZER_PREFIX_SPACE});
    if (!err && regex)
        err = add(reader, gpt2);
    /* Mapping bytes to characters twice would change every id. */
    for (int i = 0; i < reader->steps->n_pretokenizer && !err; i++)
        if (reader->steps->pretokenizer[i].kind == BATON_PRETOKENIZER_BYTE_LEVEL)
            err = baton_steps_unsupported(reader, "ByteLevel twice");
    if (err)
        return err;
    return add(reader, (struct baton_pretokenizer_step){.kind = BATON_PRETOKENIZER_BYTE_LEVEL});
}

/* Splits at white space and at each punctuation character. */
static enum baton_err read_bert(const struct baton_steps_reader *reader,
                                const struct baton_json *value)
{
    enum baton_err err = read_whitespace(reader, value);
    return err ? err : read_punctuation(reader, value);
}

/* Reads the scheme. Older files state it by add_prefix_space. */
static enum baton_err read_prepend_scheme(const struct baton_steps_reader *reader,
                                          const struct baton_json *value,
                                          enum baton_prepend_scheme *scheme)
{
    static const char *const names[] = {"never", "first", "always"};
    const char *name = baton_json_string(baton_json_get(value, "prepend_scheme"), NULL);
    bool prefix;
    if (!name) {
        enum baton_err err = baton_steps_bool(reader, value, "add_prefix_space", true, &prefix);
        *scheme = prefix ? BATON_PREPEND_ALWAYS : BATON_PREPEND_NEVER;
        return err;
    }
    for (int i = 0; i < 3; i++)
        if (!strcmp(name, names[i])) {
            *scheme = (enum baton_prepend_scheme)i;
            return BATON_OK;
        }
    return baton_steps_wrong(reader, "prepend_scheme must be never, first or always");
}

static enum baton_err read_metaspace(const struct baton_steps_reader *reader,
                                     const struct baton_json *value)
{
    struct baton_pretokenizer_step step = {.kind = BATON_PRETOKENIZER_METASPACE};
    bool split;
    enum baton_err err = baton_steps_character(reader, value, "replacement", &step.replacement);
    if (!err)
        err = read_prepend_scheme(reader, value, &step.prepend);
    if (!err)
        err = baton_steps_bool(reader, value, "split", true, &split);
    if (!err)
        err = add(reader, step);
    if (err || !split)
        return err;
    return add(reader, (struct baton_pretokenizer_step){.kind = BATON_PRETOKENIZER_SPLIT,
                                                        .pattern.text = step.replacement,
                                                        .behavior = BATON_SPLIT_MERGED_WITH_NEXT});
}

static enum baton_err read_delimiter(const struct baton_steps_reader *reader,
                                     const struct baton_json *value)
{
    struct baton_pretokenizer_step step = {.kind = BATON_PRETOKENIZER_SPLIT,
                                           .behavior = BATON_SPLIT_REMOVED};
    enum baton_err err = baton_steps_text(reader, value, "delimiter", &step.pattern.text);
    return err ? err : add(reader, step);
}

enum baton_err baton_steps_read_pretokenizer(const struct baton_steps_reader *reader,
                                             const struct baton_json *value)
{
    static const struct baton_steps_type types[] = {
        {"ByteLevel", read_byte_level},
        {"Split", read_split},
        {"Digits", read_digits},
        {"Metaspace", read_metaspace},
        {"Punctuation", read_punctuation},
        {"Whitespace", read_whitespace},
        {"BertPreTokenizer", read_bert},
        {"WhitespaceSplit", read_whitespace},
        {"CharDelimiterSplit", read_delimiter},
    };
    return baton_steps_read_chain(reader, types, BATON_N_OF(types), "pretokenizers", value);
}

void baton_steps_bert(struct baton_tokenizer_steps *steps)
{
    static const struct baton_pretokenizer_step pieces[] = {
        {.kind = BATON_PRETOKENIZER_SPLIT,
         .pattern = PATTERN("\\s"),
         .behavior = BATON_SPLIT_REMOVED},
        {.kind = BATON_PRETOKENIZER_SPLIT,
         .pattern = PATTERN("[\\p{P}$+<=>^`|~]"),
         .behavior = BATON_SPLIT_ISOLATED}};
    for (size_t i = 0; i < BATON_N_OF(pieces); i++)
        steps->pretokenizer[steps->n_pretokenizer++] = pieces[i];
}

void baton_steps_gpt2(struct baton_tokenizer_steps *steps)
{
    steps->pretokenizer[steps->n_pretokenizer++] = (struct baton_pretokenizer_step){
        .kind = BATON_PRETOKENIZER_SPLIT, .pattern = PATTERN(BATON_GPT2_PATTERN)};
    steps->pretokenizer[steps->n_pretokenizer++] =
        (struct baton_pretokenizer_step){.kind = BATON_PRETOKENIZER_BYTE_LEVEL};
    steps->decoder[steps->n_decoder++] =
        (struct baton_decoder_step){.kind = BATON_DECODER_BYTE_LEVEL};
}
