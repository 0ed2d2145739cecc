#include "engine/tokenizer/stream.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Computes the borders of Knuth, Morris and Pratt's automaton, which follows each stop string
 * through the text: n_matched is the length of the longest prefix of the stop string that the text
 * ends with. borders[k] is the length of the longest proper prefix that the first k + 1 bytes end
 * with. The automaton never goes back, so a push takes time linear in its bytes, whatever the stop
 * strings are. */
static void fill_borders(struct baton_text_stop *stop)
{
    uint16_t matched = 0;
    stop->borders[0] = 0;
    for (size_t i = 1; i < stop->n_bytes; i++) {
        while (matched && stop->text[i] != stop->text[matched])
            matched = stop->borders[matched - 1];
        if (stop->text[i] == stop->text[matched])
            matched++;
        stop->borders[i] = matched;
    }
}

static enum baton_err init_stop(struct baton_text_stop *stop, const char *text, size_t n)
{
    if (!n || !baton_utf8_valid(text, n))
        return BATON_INVALID;
    if (n > BATON_STOP_MAX_BYTES)
        return BATON_LIMIT;
    stop->n_bytes = n;
    stop->text = malloc(n);
    stop->borders = malloc(n * sizeof *stop->borders);
    if (!stop->text || !stop->borders)
        return BATON_NO_MEMORY;
    memcpy(stop->text, text, n);
    fill_borders(stop);
    return BATON_OK;
}

/* Reserves all the memory that held can ever need, so that push has no failure of its own. */
static enum baton_err reserve_held(struct baton_buf *held)
{
    static const char filler[BATON_STOP_MAX_BYTES];
    baton_buf_append(held, filler, sizeof filler);
    enum baton_err err = baton_buf_err(held);
    baton_buf_reset(held);
    return err;
}

enum baton_err baton_text_stream_init(struct baton_text_stream *stream, const char *const *stops,
                                      const size_t *stop_bytes, int n_stops)
{
    struct baton_text_stream made = {0};
    enum baton_err err = n_stops > BATON_STOP_MAX ? BATON_LIMIT : BATON_OK;
    baton_buf_init(&made.held, BATON_STOP_MAX_BYTES);
    if (!err && n_stops && !(made.stops = calloc((size_t)n_stops, sizeof *made.stops)))
        err = BATON_NO_MEMORY;
    for (int i = 0; i < n_stops && !err; i++)
        err = init_stop(&made.stops[made.n_stops++], stops[i], stop_bytes[i]);
    if (!err && n_stops)
        err = reserve_held(&made.held);
    if (err)
        baton_text_stream_fini(&made);
    else
        *stream = made;
    return err;
}

void baton_text_stream_fini(struct baton_text_stream *stream)
{
    for (int i = 0; i < stream->n_stops; i++) {
        free(stream->stops[i].text);
        free(stream->stops[i].borders);
    }
    free(stream->stops);
    baton_buf_fini(&stream->held);
    *stream = (struct baton_text_stream){0};
}

static void advance(struct baton_text_stop *stop, char c)
{
    while (stop->n_matched && stop->text[stop->n_matched] != c)
        stop->n_matched = stop->borders[stop->n_matched - 1];
    if (stop->text[stop->n_matched] == c)
        stop->n_matched++;
}

/* Feeds one byte to every automaton. Returns the number of bytes at the end of the text that
 * must wait: the longest complete match (stopped is then set), or the longest prefix of a stop
 * string. */
static size_t follow(struct baton_text_stream *stream, char c)
{
    size_t waiting = 0, met = 0;
    for (int i = 0; i < stream->n_stops; i++) {
        struct baton_text_stop *stop = &stream->stops[i];
        advance(stop, c);
        if (stop->n_matched == stop->n_bytes && stop->n_bytes > met)
            met = stop->n_bytes;
        if (stop->n_matched > waiting)
            waiting = stop->n_matched;
    }
    stream->stopped = met > 0;
    return met ? met : waiting;
}

/* Shows the end of the text, held and c, without the last `waiting` bytes. */
static void show(struct baton_text_stream *stream, char c, size_t waiting, struct baton_buf *out)
{
    struct baton_buf *held = &stream->held;
    if (!waiting) {
        baton_buf_append(out, held->data, held->len);
        baton_buf_putc(out, c);
        baton_buf_reset(held);
        return;
    }
    size_t shown = held->len + 1 - waiting;
    baton_buf_append(out, held->data, shown);
    baton_buf_consume(held, shown);
    baton_buf_putc(held, c);
}

/* Returns true when the character begins the text of a line whose indentation is too small. */
static bool ends_block(struct baton_text_stream *stream, char first)
{
    bool is_space = first == ' ' || first == '\t';
    bool is_short = stream->in_indent && !is_space && stream->n_indent < stream->min_indent;
    stream->n_indent = stream->in_indent && is_space ? stream->n_indent + 1 : 0;
    stream->in_indent = first == '\n' || (stream->in_indent && is_space);
    return is_short;
}

/* Adds one whole character of the text. */
static void feed(struct baton_text_stream *stream, const char *character, size_t n,
                 struct baton_buf *out)
{
    if (stream->min_indent && ends_block(stream, character[0])) {
        baton_buf_append(out, stream->held.data, stream->held.len);
        baton_buf_reset(&stream->held);
        stream->stopped = true;
        return;
    }
    if (!stream->n_stops) {
        baton_buf_append(out, character, n);
        return;
    }
    for (size_t i = 0; i < n && !stream->stopped; i++)
        show(stream, character[i], follow(stream, character[i]), out);
    if (stream->stopped)
        baton_buf_reset(&stream->held);
}

/* Adds n bytes that are not a character. */
static void feed_bad(struct baton_text_stream *stream, size_t n, struct baton_buf *out)
{
    for (size_t i = 0; i < (stream->each_byte ? n : 1); i++)
        feed(stream, REPLACEMENT, strlen(REPLACEMENT), out);
}

/* Adds the next character, or the first bytes of one, from the n >= 1 bytes. Returns the number of
 * bytes used. */
static size_t take(struct baton_text_stream *stream, const char *bytes, size_t n,
                   struct baton_buf *out)
{
    size_t skip = 1;
    int length = baton_utf8_next(bytes, n, &skip);
    if (length == BATON_UTF8_INCOMPLETE) {
        memcpy(stream->begun, bytes, n);
        stream->n_begun = n;
        return n;
    }
    if (length == BATON_UTF8_BAD)
        feed_bad(stream, skip, out);
    else
        feed(stream, bytes, (size_t)length, out);
    return length == BATON_UTF8_BAD ? skip : (size_t)length;
}

/* Adds byte to the character begun earlier. Returns the number of bytes used: 0 when byte does not
 * continue it, which ends the character as a bad one. */
static size_t resume(struct baton_text_stream *stream, char byte, struct baton_buf *out)
{
    char character[4];
    size_t n = stream->n_begun;
    memcpy(character, stream->begun, n);
    character[n] = byte;
    stream->n_begun = 0;
    return take(stream, character, n + 1, out) - n;
}

void baton_text_stream_restart(struct baton_text_stream *stream)
{
    baton_buf_reset(&stream->held);
    stream->n_begun = 0;
    stream->stopped = stream->in_indent = false;
    stream->n_indent = 0;
    for (int i = 0; i < stream->n_stops; i++)
        stream->stops[i].n_matched = 0;
}

void baton_text_stream_push(struct baton_text_stream *stream, const char *bytes, size_t n,
                            struct baton_buf *out)
{
    for (size_t i = 0; i < n && !stream->stopped;)
        i += stream->n_begun ? resume(stream, bytes[i], out) : take(stream, bytes + i, n - i, out);
}

const struct baton_text_stop *baton_text_stream_met(const struct baton_text_stream *stream)
{
    const struct baton_text_stop *met = NULL;
    for (int i = 0; i < stream->n_stops && stream->stopped; i++) {
        const struct baton_text_stop *stop = &stream->stops[i];
        if (stop->n_matched == stop->n_bytes && (!met || stop->n_bytes > met->n_bytes))
            met = stop;
    }
    return met;
}

void baton_text_stream_end(struct baton_text_stream *stream, struct baton_buf *out)
{
    if (stream->stopped)
        return;
    if (stream->n_begun)
        feed_bad(stream, stream->n_begun, out);
    stream->n_begun = 0;
    if (!stream->stopped)
        baton_buf_append(out, stream->held.data, stream->held.len);
    baton_buf_reset(&stream->held);
}
