/* baton-bench masks: measures the compilation of grammars, and their masks for tokens of random
 * texts, over a vocabulary of the size of Qwen's that resembles a language model's. Times are those
 * of the thread, so that neighbours count little. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench.h"
#include "common/base/array.h"
#include "engine/grammar/masks/matcher.h"
#include "engine/grammar/masks/plain_vocab.h"

enum { N_VOCAB = 151936, MAX_TOKEN = 40, N_BYTES = 256, STOP = 0, MAX_TIMES = 1 << 18 };

struct options {
    int64_t texts, tokens;
};

static const struct baton_option table[] = {
    BATON_ROW_INT(struct options, texts, "texts", "40", 1, 10000, "", "texts drawn per grammar"),
    BATON_ROW_INT(struct options, tokens, "tokens", "100", 1, 10000, "",
                  "length of the longest text"),
};

#define TEXT(of_kind, of_name, of_text)                                                            \
    {                                                                                              \
        .name = (of_name), .grammar = {                                                            \
            .kind = BATON_GRAMMAR_##of_kind,                                                       \
            .bytes = (char *)(uintptr_t)(of_text),                                                 \
            .n = sizeof(of_text) - 1                                                               \
        }                                                                                          \
    }

static const struct {
    const char *name;
    struct baton_grammar_text grammar;
} grammars[] = {
    TEXT(JSON_SCHEMA, "any object", "{\"type\":\"object\"}"),
    TEXT(
        JSON_SCHEMA, "three members",
        "{\"properties\":{\"name\":{\"type\":\"string\"},\"age\":{\"type\":\"integer\",\"minimum\":"
        "0,\"maximum\":150},\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},"
        "\"required\":[\"name\",\"age\",\"tags\"]}"),
    TEXT(JSON_SCHEMA, "counted strings",
         "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":3,\"maxLength\":40}}"),
    TEXT(JSON_SCHEMA, "dates and numbers",
         "{\"type\":\"array\",\"items\":{\"anyOf\":[{\"type\":\"string\",\"format\":\"date\"},{"
         "\"type\":\"number\",\"minimum\":-2.5,\"maximum\":1000}]}}"),
    TEXT(REGEX, "words", "([a-z]+ ){3,60}"),
};

enum { N_GRAMMARS = BATON_N_OF(grammars) };

struct vocabulary {
    char (*texts)[MAX_TOKEN];
    size_t *lengths;
    uint64_t random;
};

static uint32_t below(struct vocabulary *v, uint32_t n)
{
    /* Knuth's linear congruential generator of MMIX; its high bits are the good ones. */
    v->random = v->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(v->random >> 33) % n;
}

static void add(struct vocabulary *v, uint32_t id, const char *bytes, size_t n)
{
    memcpy(v->texts[id] + v->lengths[id], bytes, n);
    v->lengths[id] += n;
}

/* Writes a random token. A third of all words begin with a space, a fifth are of other scripts, and
 * a twelfth contain a mark and letters behind it. */
static void write_token(struct vocabulary *v, uint32_t id)
{
    static const char letters[] = "etaoinshrdlucmfwypvbgkjqxzETAO0123456789_";
    static const char *const marks[] = {"\"",  "\",",  "\":",  "\":\"", "\"}",  "},",
                                        "{\"", "[\"",  "\\n",  "\\\"",  "\n",   "}]",
                                        "\t",  "\r\n", "\"))", ");\n",  "\n\n", "\\u"};
    if (!below(v, 3))
        add(v, id, " ", 1);
    if (!below(v, 5)) {
        for (uint32_t n = 1 + below(v, 3); n--;) {
            const char wide[] = {(char)(0xe4 + below(v, 5)), (char)(0x80 + below(v, 64)),
                                 (char)(0x80 + below(v, 64))};
            add(v, id, wide, sizeof wide);
        }
    } else {
        for (uint32_t n = 2 + below(v, 8); n--;)
            add(v, id, &letters[below(v, below(v, 3) ? 12 : sizeof letters - 1)], 1);
    }
    if (below(v, 12))
        return;
    const char *mark = marks[below(v, BATON_N_OF(marks))];
    add(v, id, mark, strlen(mark));
    for (uint32_t n = below(v, 4); n--;)
        add(v, id, &letters[below(v, 12)], 1);
}

static const char *text_of(void *arg, uint32_t id, size_t *n)
{
    const struct vocabulary *v = arg;
    *n = v->lengths[id];
    return v->texts[id];
}

static enum baton_err make_vocabulary(struct vocabulary *v, struct baton_token_trie **trie)
{
    v->texts = calloc(N_VOCAB, sizeof *v->texts);
    v->lengths = calloc(N_VOCAB, sizeof *v->lengths);
    if (!v->texts || !v->lengths)
        return BATON_NO_MEMORY;
    for (uint32_t id = 0; id < N_VOCAB; id++)
        if (id < N_BYTES)
            add(v, id, &(char){(char)id}, 1);
        else
            write_token(v, id);
    enum baton_err err = baton_token_trie_create(N_VOCAB, text_of, v, trie);
    return err ? err : baton_plain_vocab_add(*trie);
}

static double now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* Draws a token that the mask allows, a quarter of them single bytes: otherwise texts would have
 * few brackets. */
static uint32_t draw(struct vocabulary *v, const uint64_t *mask)
{
    uint32_t id = below(v, below(v, 4) ? N_VOCAB : 128);
    /* After 64 draws it searches, for masks that allow almost nothing. */
    for (int n = 0; n < N_VOCAB && !(mask[id / 64] >> (id % 64) & 1); n++)
        id = n < 64 ? below(v, n % 4 ? N_VOCAB : 128) : (id + 1) % N_VOCAB;
    return id;
}

struct times {
    double us[MAX_TIMES];
    size_t n;
};

static void write_text(struct vocabulary *v, struct baton_matcher *matcher, int64_t n_tokens,
                       struct times *times)
{
    static const uint32_t stop = STOP;
    static uint64_t mask[(N_VOCAB + 63) / 64];
    uint32_t id = STOP + 1;
    for (int64_t i = 0; i < n_tokens && id != STOP && times->n < MAX_TIMES; i++) {
        double begin = now_us();
        baton_matcher_mask(matcher, &stop, 1, N_VOCAB, mask);
        double mask_us = now_us() - begin;
        id = draw(v, mask);
        begin = now_us();
        baton_matcher_accept(matcher, id);
        times->us[times->n++] = mask_us + now_us() - begin;
    }
    baton_matcher_destroy(matcher);
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void print_row(const char *name, double compile_us, struct times *times)
{
    qsort(times->us, times->n, sizeof times->us[0], compare);
    (void)printf("%-20s%12.0f%12.1f%12.1f%12.1f%10zu\n", name, compile_us, times->us[times->n / 2],
                 times->us[times->n * 99 / 100], times->us[times->n - 1], times->n);
}

static enum baton_err measure(const struct options *options, struct vocabulary *v,
                              const struct baton_token_trie *trie, struct times *times,
                              struct baton_why *why)
{
    (void)printf("microseconds, %d tokens\n%-20s%12s%12s%12s%12s%10s\n", N_VOCAB, "grammar",
                 "compile", "median", "p99", "most", "tokens");
    for (int i = 0; i < N_GRAMMARS; i++) {
        struct baton_grammar *grammar;
        double begin = now_us();
        enum baton_err err = baton_grammar_create(&grammars[i].grammar, trie, &grammar, why);
        double compile_us = now_us() - begin;
        times->n = 0;
        for (int64_t text = 0; text < options->texts && !err; text++) {
            struct baton_matcher *matcher = baton_matcher_create(grammar);
            if (!matcher)
                err = BATON_NO_MEMORY;
            else
                write_text(v, matcher, options->tokens, times);
        }
        if (err)
            return err;
        print_row(grammars[i].name, compile_us, times);
        baton_grammar_release(grammar);
    }
    return fflush(stdout) ? BATON_IO : BATON_OK;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    struct vocabulary v = {.random = 1};
    struct baton_token_trie *trie = NULL;
    struct times *times = malloc(sizeof *times);
    enum baton_err err = times ? make_vocabulary(&v, &trie) : BATON_NO_MEMORY;
    if (!err)
        err = measure(arg, &v, trie, times, why);
    baton_token_trie_destroy(trie);
    free(v.texts);
    free(v.lengths);
    free(times);
    return err;
}

enum baton_err bench_masks(int argc, char **argv, struct baton_why *why)
{
    struct options options = {0};
    struct baton_config config = {.process = "baton-bench masks",
                                  .env_prefix = "BATON_BENCH",
                                  .summary = "measures the masks of grammars",
                                  .options = table,
                                  .n_options = BATON_N_OF(table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
