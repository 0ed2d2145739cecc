#include "bench/make_tokenizer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/base/file.h"
#include "common/base/json.h"
#include "common/tokenizer/byte_level.h"

enum { TEXT_MAX_BYTES = 1 << 16 };

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
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
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

static void put_bytes(struct baton_json_out *out)
{
    char text[BATON_BYTE_LEVEL_MAX + 1];
    baton_json_open(out, "model", '{');
    baton_json_put_string(out, "type", "BPE");
    baton_json_open(out, "vocab", '{');
    for (int byte = 0; byte < 256; byte++) {
        (void)baton_byte_level_encode((uint8_t)byte, text);
        baton_json_put_int(out, text, byte);
    }
    baton_json_close(out, '}');
    baton_json_open(out, "merges", '[');
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static void put_tokenizer(struct baton_json_out *out)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "version", "1.0");
    put_specials(out);
    baton_json_put_null(out, "normalizer");
    put_byte_level(out, "pre_tokenizer");
    baton_json_put_null(out, "post_processor");
    put_byte_level(out, "decoder");
    put_bytes(out);
    baton_json_close(out, '}');
}

static void put_config(struct baton_json_out *out)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "tokenizer_class", "PreTrainedTokenizerFast");
    baton_json_put_string(out, "bos_token", specials[0].text);
    baton_json_put_string(out, "eos_token", specials[0].text);
    baton_json_put_string(out, "chat_template", bench_chat_template);
    baton_json_close(out, '}');
}

void bench_tokenizer_put(struct baton_buf *text)
{
    struct baton_json_out out = baton_json_out(text);
    put_tokenizer(&out);
}

enum baton_err bench_tokenizer_write(const char *dir, struct baton_why *why)
{
    static const struct {
        const char *name;
        void (*put)(struct baton_json_out *out);
    } files[] = {{"tokenizer.json", put_tokenizer}, {"tokenizer_config.json", put_config}};
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < sizeof files / sizeof files[0] && !err; i++) {
        struct baton_buf text;
        baton_buf_init(&text, TEXT_MAX_BYTES);
        struct baton_json_out out = baton_json_out(&text);
        files[i].put(&out);
        err = bench_write_file(dir, files[i].name, &text, why);
        baton_buf_fini(&text);
    }
    return err;
}
