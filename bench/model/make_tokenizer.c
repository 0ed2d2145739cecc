#include "bench/model/make_tokenizer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/json.h"
#include "common/base/os/file.h"
#include "engine/tokenizer/model/byte_level.h"

enum { N_LETTERS = 26, N_PAIRS = N_LETTERS * N_LETTERS };

static const struct {
    int id;
    const char *text;
} specials[] = {{BENCH_END_OF_TEXT, "<|endoftext|>"},
                {BENCH_BEGIN_OF_TURN, "<|im_start|>"},
                {BENCH_END_OF_TURN, "<|im_end|>"}};

const char bench_chat_template[] =
    "{%- for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + "
    "message['content'] + '<|im_end|>' + '\n' }}{%- endfor %}{%- if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{%- endif %}";

enum baton_err bench_write_file(const char *dir, const char *name, const struct baton_buf *text,
                                struct baton_why *why)
{
    char path[PATH_MAX];
    enum baton_err err = baton_buf_err(text);
    if (err)
        return baton_fail(why, err, "%s: %s", name, baton_err_text(err));
    err = baton_file_path(path, dir, name, why);
    if (err)
        return err;
    FILE *file = fopen(path, "wbe");
    bool written = file && fwrite(baton_buf_text(text), 1, text->len, file) == text->len;
    if (file && fclose(file))
        written = false;
    return written ? BATON_OK : baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
}

static void put_byte_level(struct baton_json_out *out, const char *key)
{
    baton_json_open(out, key, '{');
    baton_json_put_string(out, "type", "ByteLevel");
    baton_json_put_bool(out, "add_prefix_space", false);
    baton_json_put_bool(out, "trim_offsets", true);
    baton_json_put_bool(out, "use_regex", true);
    baton_json_close(out, '}');
}

static void put_specials(struct baton_json_out *out)
{
    baton_json_open(out, "added_tokens", '[');
    for (size_t i = 0; i < BATON_N_OF(specials); i++) {
        baton_json_open(out, NULL, '{');
        baton_json_put_int(out, "id", specials[i].id);
        baton_json_put_string(out, "content", specials[i].text);
        baton_json_put_bool(out, "single_word", false);
        baton_json_put_bool(out, "lstrip", false);
        baton_json_put_bool(out, "rstrip", false);
        baton_json_put_bool(out, "normalized", false);
        baton_json_put_bool(out, "special", true);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
}

/* A word of letters: two halves that merge, each a letter or a pair. */
struct word {
    char halves[2][3];
};

static void write_pair(char text[3], int pair)
{
    text[0] = (char)('a' + pair / N_LETTERS);
    text[1] = (char)('a' + pair % N_LETTERS);
    text[2] = '\0';
}

/* Returns the word of id BENCH_FIRST_WORD + i: all pairs of letters first, then all pairs of
 * pairs. */
static struct word word_of(int i)
{
    struct word word = {0};
    if (i < N_PAIRS) {
        word.halves[0][0] = (char)('a' + i / N_LETTERS);
        word.halves[1][0] = (char)('a' + i % N_LETTERS);
    } else {
        write_pair(word.halves[0], (i - N_PAIRS) / N_PAIRS);
        write_pair(word.halves[1], (i - N_PAIRS) % N_PAIRS);
    }
    return word;
}

static int n_words(int n_vocab)
{
    int n = n_vocab - BENCH_FIRST_WORD;
    return n < 0 ? 0 : n < N_PAIRS + N_PAIRS * N_PAIRS ? n : N_PAIRS + N_PAIRS * N_PAIRS;
}

static void put_vocabulary(struct baton_json_out *out, int n_vocab)
{
    char text[BATON_BYTE_LEVEL_MAX + 1];
    baton_json_open(out, "vocab", '{');
    for (int byte = 0; byte < 256; byte++) {
        (void)baton_byte_level_encode((uint8_t)byte, text);
        baton_json_put_int(out, text, byte);
    }
    for (int i = 0; i < n_words(n_vocab); i++) {
        struct word word = word_of(i);
        char whole[sizeof word.halves];
        (void)snprintf(whole, sizeof whole, "%s%s", word.halves[0], word.halves[1]);
        baton_json_put_int(out, whole, BENCH_FIRST_WORD + i);
    }
    baton_json_close(out, '}');
}

static void put_merges(struct baton_json_out *out, int n_vocab)
{
    baton_json_open(out, "merges", '[');
    for (int i = 0; i < n_words(n_vocab); i++) {
        struct word word = word_of(i);
        char merge[sizeof word.halves + 1];
        (void)snprintf(merge, sizeof merge, "%s %s", word.halves[0], word.halves[1]);
        baton_json_put_string(out, NULL, merge);
    }
    baton_json_close(out, ']');
}

static void put_model(struct baton_json_out *out, int n_vocab)
{
    baton_json_open(out, "model", '{');
    baton_json_put_string(out, "type", "BPE");
    put_vocabulary(out, n_vocab);
    put_merges(out, n_vocab);
    baton_json_close(out, '}');
}

static void put_tokenizer(struct baton_json_out *out, int n_vocab)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "version", "1.0");
    put_specials(out);
    baton_json_put_null(out, "normalizer");
    put_byte_level(out, "pre_tokenizer");
    baton_json_put_null(out, "post_processor");
    put_byte_level(out, "decoder");
    put_model(out, n_vocab);
    baton_json_close(out, '}');
}

static void put_config(struct baton_json_out *out, int n_vocab)
{
    (void)n_vocab; /* it does not depend on the vocabulary */
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "tokenizer_class", "PreTrainedTokenizerFast");
    baton_json_put_string(out, "bos_token", specials[0].text);
    baton_json_put_string(out, "eos_token", specials[0].text);
    baton_json_put_string(out, "chat_template", bench_chat_template);
    baton_json_close(out, '}');
}

void bench_tokenizer_put(struct baton_buf *text, int n_vocab)
{
    struct baton_json_out out = baton_json_out(text);
    put_tokenizer(&out, n_vocab);
}

enum baton_err bench_tokenizer_write(const char *dir, int n_vocab, struct baton_why *why)
{
    static const struct {
        const char *name;
        void (*put)(struct baton_json_out *out, int n_vocab);
    } files[] = {{"tokenizer.json", put_tokenizer}, {"tokenizer_config.json", put_config}};
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < BATON_N_OF(files) && !err; i++) {
        struct baton_buf text;
        baton_buf_init(&text, BENCH_TOKENIZER_MAX_BYTES);
        struct baton_json_out out = baton_json_out(&text);
        files[i].put(&out, n_vocab);
        err = bench_write_file(dir, files[i].name, &text, why);
        baton_buf_fini(&text);
    }
    return err;
}
