#include "gateway/chat/toolcall/channels.h"

#include "common/base/array.h"
#include "gateway/chat/toolcall/call.h"

enum { HEADER_MAX_BYTES = 1024, HELD_MAX_BYTES = 64 << 20 };

static const char message_mark[] = "<|message|>", channel_mark[] = "<|channel|>";

/* The markers that end a message. The last two begin the next one and are kept. */
static const char *const ends[] = {"<|end|>", "<|call|>", "<|return|>", "<|start|>", channel_mark};
enum { N_ENDS = BATON_N_OF(ends), N_DROPPED = 3 };

void baton_channel_parser_init(struct baton_channel_parser *parser, bool tells_reasoning,
                               bool tells_calls, const struct baton_json *functions)
{
    *parser = (struct baton_channel_parser){
        .tells_reasoning = tells_reasoning, .tells_calls = tells_calls, .functions = functions};
    baton_call_teller_init(&parser->teller);
    baton_buf_init(&parser->held, HELD_MAX_BYTES);
}

void baton_channel_parser_fini(struct baton_channel_parser *parser)
{
    baton_call_teller_fini(&parser->teller);
    baton_buf_fini(&parser->held);
}

static void give(struct baton_channel_parser *parser, size_t n, const struct baton_tool_sink *sink)
{
    bool is_reasoning = parser->state == BATON_CHANNEL_REASONING;
    if (n)
        (is_reasoning ? sink->reasoning : sink->text)(sink->user, parser->held.data, n);
    baton_buf_consume(&parser->held, n);
}

/* ---- headers ---- */

/* True when a header begins here, as far as the bytes show. */
static enum baton_verdict begins_header(const struct baton_buf *held)
{
    /* The prompt may end after the role, so a receiver can come first. */
    static const char *const begins[] = {"<|start|>", channel_mark, " to=", "to="};
    enum baton_verdict met = BATON_NO;
    for (size_t i = 0; i < BATON_N_OF(begins) && met != BATON_YES; i++) {
        enum baton_verdict other = baton_begins_with(held, 0, begins[i]);
        met = other == BATON_NO ? met : other;
    }
    return met;
}

/* Returns the word after mark in the n bytes of a header; its length in *n_word. */
static const char *word_behind(const char *header, size_t n, const char *mark, size_t *n_word)
{
    const char *met = memmem(header, n, mark, strlen(mark));
    const char *word = met ? met + strlen(mark) : header + n;
    *n_word = 0;
    while (word + *n_word < header + n && !baton_is_space(word[*n_word]) && word[*n_word] != '<')
        (*n_word)++;
    return word;
}

/* Enters the state of the held header, whose body begins at at. */
static void enter(struct baton_channel_parser *parser, size_t at,
                  const struct baton_tool_sink *sink)
{
    static const char functions[] = "to=functions.";
    size_t n_name, n_channel, n_receiver;
    const char *header = parser->held.data;
    (void)word_behind(header, at, functions, &n_name);
    (void)word_behind(header, at, "to=", &n_receiver);
    const char *channel = word_behind(header, at, channel_mark, &n_channel);
    bool is_analysis = n_channel == 8 && !memcmp(channel, "analysis", 8);
    if (n_name && parser->tells_calls) {
        parser->state = BATON_CHANNEL_CALL;
        parser->body = parser->scanned = at;
        return;
    }
    bool is_reasoning = is_analysis && !n_name && parser->tells_reasoning;
    /* A message to a receiver that is no function stays visible, with its header. */
    bool is_text = !is_analysis && !n_receiver;
    parser->state = is_reasoning ? BATON_CHANNEL_REASONING : BATON_CHANNEL_TEXT;
    if (is_reasoning || is_text)
        baton_buf_consume(&parser->held, at);
    else
        give(parser, at, sink);
}

static bool step_header(struct baton_channel_parser *parser, bool is_over,
                        const struct baton_tool_sink *sink)
{
    struct baton_buf *held = &parser->held;
    enum baton_verdict met = begins_header(held);
    const char *mark =
        met == BATON_YES
            ? memmem(held->data, held->len < HEADER_MAX_BYTES ? held->len : HEADER_MAX_BYTES,
                     message_mark, sizeof message_mark - 1)
            : NULL;
    if (mark) {
        enter(parser, (size_t)(mark - held->data) + sizeof message_mark - 1, sink);
        return true;
    }
    if (met != BATON_NO && !is_over && held->len < HEADER_MAX_BYTES)
        return false;
    if (met == BATON_YES && is_over) { /* a header that is cut off has no content */
        baton_buf_reset(held);
        return false;
    }
    parser->state = BATON_CHANNEL_TEXT;
    if (met == BATON_YES) /* otherwise its first marker would end the text at once */
        give(parser, 1, sink);
    return true;
}

/* ---- bodies ---- */

/* Returns the position of the first marker from at on that ends a message, SIZE_MAX when there is
 * none; *n: the bytes of it to drop. */
static size_t find_end(const struct baton_buf *held, size_t at, size_t *n)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < N_ENDS; i++) {
        const char *met = memmem(held->data + at, held->len - at, ends[i], strlen(ends[i]));
        if (met && (size_t)(met - held->data) < first) {
            first = (size_t)(met - held->data);
            *n = i < N_DROPPED ? strlen(ends[i]) : 0;
        }
    }
    return first;
}

/* Returns how many bytes at the end may begin a marker. */
static size_t n_maybe_end(const struct baton_buf *held)
{
    size_t most = 0;
    for (size_t i = 0; i < N_ENDS; i++) {
        size_t n = baton_n_maybe_begin(held, ends[i]);
        most = n > most ? n : most;
    }
    return most;
}

static bool step_body(struct baton_channel_parser *parser, bool is_over,
                      const struct baton_tool_sink *sink)
{
    size_t n_mark = 0, end = find_end(&parser->held, 0, &n_mark);
    if (end == SIZE_MAX) {
        give(parser, parser->held.len - (is_over ? 0 : n_maybe_end(&parser->held)), sink);
        return false;
    }
    give(parser, end, sink);
    baton_buf_consume(&parser->held, n_mark);
    parser->state = BATON_CHANNEL_HEADER;
    return true;
}

/* The name of the function that the header of the held call is for. */
static const char *name_of(const struct baton_channel_parser *parser, size_t *n)
{
    return word_behind(parser->held.data, parser->body, "to=functions.", n);
}

/* Tells the arguments up to end. */
static void tell_early(struct baton_channel_parser *parser, size_t end,
                       const struct baton_tool_sink *sink)
{
    struct baton_buf view = parser->held;
    size_t n_name;
    const char *name = name_of(parser, &n_name);
    view.len = end;
    if (sink->call_begin)
        baton_call_teller_push(&parser->teller, parser->functions, name, n_name, &view,
                               parser->body, sink);
}

static bool take_whole(const struct baton_channel_parser *parser, size_t end,
                       const struct baton_tool_sink *sink)
{
    struct baton_json *value;
    struct baton_why why;
    size_t n_name;
    const char *name = name_of(parser, &n_name);
    if (baton_json_parse(parser->held.data + parser->body, end - parser->body, &value, &why))
        return false;
    bool is_taken =
        baton_json_kind(value) == BATON_JSON_OBJECT && baton_call_tell(name, n_name, value, sink);
    baton_json_free(value);
    return is_taken;
}

/* Ends a call, of which the teller may have told some. */
static bool take_call(struct baton_channel_parser *parser, size_t end,
                      const struct baton_tool_sink *sink)
{
    bool is_told = parser->teller.n_told > 0;
    baton_call_teller_end(&parser->teller, sink);
    baton_call_teller_fini(&parser->teller);
    baton_call_teller_init(&parser->teller);
    return is_told || (end != SIZE_MAX && take_whole(parser, end, sink));
}

static bool step_call(struct baton_channel_parser *parser, bool is_over,
                      const struct baton_tool_sink *sink)
{
    struct baton_buf *held = &parser->held;
    size_t n_mark = 0, end = find_end(held, parser->scanned, &n_mark);
    if (end == SIZE_MAX && !is_over && held->len < BATON_TOOL_CALL_MAX_BYTES) {
        size_t n = n_maybe_end(held);
        /* Only a marker's possible beginning is searched again. */
        parser->scanned = held->len - n > parser->body ? held->len - n : parser->body;
        tell_early(parser, parser->scanned, sink);
        return false;
    }
    if (end == SIZE_MAX && is_over)
        end = held->len;
    /* Text that is not a call keeps its header. */
    if (end != SIZE_MAX)
        tell_early(parser, end, sink);
    if (!take_call(parser, end, sink)) {
        parser->state = BATON_CHANNEL_TEXT;
        give(parser, end == SIZE_MAX ? parser->body : end, sink);
        return true;
    }
    baton_buf_consume(held, end == SIZE_MAX ? held->len : end + n_mark);
    parser->state = BATON_CHANNEL_HEADER;
    return true;
}

static void run(struct baton_channel_parser *parser, bool is_over,
                const struct baton_tool_sink *sink)
{
    bool goes_on = true;
    while (goes_on && parser->held.len)
        goes_on = parser->state == BATON_CHANNEL_HEADER ? step_header(parser, is_over, sink)
                  : parser->state == BATON_CHANNEL_CALL ? step_call(parser, is_over, sink)
                                                        : step_body(parser, is_over, sink);
}

void baton_channel_parser_push(struct baton_channel_parser *parser, const char *text, size_t n,
                               const struct baton_tool_sink *sink)
{
    baton_buf_append(&parser->held, text, n);
    run(parser, false, sink);
}

void baton_channel_parser_end(struct baton_channel_parser *parser,
                              const struct baton_tool_sink *sink)
{
    run(parser, true, sink);
}
