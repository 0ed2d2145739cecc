/* However the bytes are cut into pieces, what is shown is the same, is UTF-8 after every piece, and
 * holds no stop string. The input: a byte with the number of stop strings; each as a length byte
 * and its bytes; a byte that seeds the cuts; the text. */
#include "tests/fuzz/fuzz.h"

#include "common/base/utf8.h"
#include "engine/tokenizer/stream.h"

struct input {
    const char *stops[BATON_STOP_MAX];
    size_t stop_bytes[BATON_STOP_MAX];
    int n_stops;
    unsigned seed;
    const char *text;
    size_t n;
};

static uint8_t next_byte(struct input *input)
{
    if (!input->n)
        return 0;
    input->n--;
    return (uint8_t)*input->text++;
}

static struct input read_input(const uint8_t *data, size_t size)
{
    struct input input = {.text = (const char *)data, .n = size};
    input.n_stops = next_byte(&input) % 5;
    for (int i = 0; i < input.n_stops; i++) {
        size_t n = next_byte(&input) % 32;
        input.stop_bytes[i] = n < input.n ? n : input.n;
        input.stops[i] = input.text;
        input.text += input.stop_bytes[i];
        input.n -= input.stop_bytes[i];
    }
    input.seed = next_byte(&input);
    return input;
}

/* Pieces of at most max_piece bytes. */
static bool show(const struct input *input, size_t max_piece, struct baton_buf *out)
{
    struct baton_text_stream stream;
    unsigned seed = input->seed;
    baton_buf_init(out, 4 * input->n + 4);
    if (baton_text_stream_init(&stream, input->stops, input->stop_bytes, input->n_stops))
        return false;
    for (size_t at = 0, piece; at < input->n; at += piece) {
        size_t left = input->n - at;
        piece = 1 + (size_t)rand_r(&seed) % max_piece;
        piece = max_piece == input->n || piece > left ? left : piece;
        baton_text_stream_push(&stream, input->text + at, piece, out);
        check(baton_utf8_valid(baton_buf_text(out), out->len));
    }
    baton_text_stream_end(&stream, out);
    baton_text_stream_fini(&stream);
    return true;
}

FUZZ(data, size)
{
    struct input input = read_input(data, size);
    struct baton_buf whole, pieces;
    if (show(&input, input.n, &whole)) {
        check(show(&input, 7, &pieces) && !baton_buf_err(&whole) && whole.len == pieces.len &&
              memcmp(baton_buf_text(&whole), baton_buf_text(&pieces), whole.len) == 0 &&
              baton_utf8_valid(baton_buf_text(&whole), whole.len));
        for (int i = 0; i < input.n_stops; i++)
            check(!memmem(baton_buf_text(&whole), whole.len, input.stops[i], input.stop_bytes[i]));
        baton_buf_fini(&pieces);
    }
    baton_buf_fini(&whole);
}
