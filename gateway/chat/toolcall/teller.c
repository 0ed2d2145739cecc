#include "gateway/chat/toolcall/teller.h"

#include "common/base/json.h"
#include "gateway/chat/toolcall/call.h"

enum { PIECE_MAX_BYTES = 8 << 20, MOST_OTHERS = 2 };

void baton_call_teller_init(struct baton_call_teller *teller)
{
    *teller = (struct baton_call_teller){0};
    baton_arguments_init(&teller->arguments);
    baton_buf_init(&teller->piece, PIECE_MAX_BYTES);
}

void baton_call_teller_fini(struct baton_call_teller *teller)
{
    baton_arguments_fini(&teller->arguments);
    baton_buf_fini(&teller->piece);
}

static void pass_piece(struct baton_call_teller *teller, const struct baton_tool_sink *sink)
{
    if (teller->piece.len)
        sink->call_more(sink->user, teller->piece.data, teller->piece.len);
    baton_buf_reset(&teller->piece);
}

static void end_call(struct baton_call_teller *teller, const struct baton_tool_sink *sink)
{
    bool is_cut = !teller->arguments.is_over;
    teller->is_telling = false;
    baton_arguments_fini(&teller->arguments);
    baton_arguments_init(&teller->arguments);
    sink->call_end(sink->user, is_cut);
}

/* Begins a call whose arguments begin at at. */
static bool begin(struct baton_call_teller *teller, const struct baton_json *functions,
                  const char *name, size_t n_name, size_t at, const struct baton_tool_sink *sink)
{
    teller->is_off = !sink->call_begin || !baton_function_of(functions, name, n_name) ||
                     !sink->call_begin(sink->user, name, n_name);
    teller->is_telling = !teller->is_off;
    teller->n_told += teller->is_telling;
    teller->at = at;
    return teller->is_telling;
}

bool baton_call_teller_begin(struct baton_call_teller *teller, const struct baton_json *functions,
                             const char *name, size_t n_name, const struct baton_tool_sink *sink)
{
    return begin(teller, functions, name, n_name, 0, sink);
}

void baton_call_teller_flush(struct baton_call_teller *teller, const struct baton_tool_sink *sink)
{
    pass_piece(teller, sink);
}

void baton_call_teller_finish(struct baton_call_teller *teller, const struct baton_tool_sink *sink)
{
    pass_piece(teller, sink);
    teller->arguments.is_over = true;
    end_call(teller, sink);
}

/* Tells what has come of the arguments. Returns true when they are over. */
static bool tell(struct baton_call_teller *teller, const struct baton_buf *held,
                 const struct baton_tool_sink *sink)
{
    teller->at += baton_arguments_push(&teller->arguments, held->data + teller->at,
                                       held->len - teller->at, &teller->piece);
    pass_piece(teller, sink);
    if (!teller->arguments.is_over)
        return false;
    end_call(teller, sink);
    return true;
}

void baton_call_teller_push(struct baton_call_teller *teller, const struct baton_json *functions,
                            const char *name, size_t n_name, const struct baton_buf *held,
                            size_t body, const struct baton_tool_sink *sink)
{
    if (teller->is_off)
        return;
    size_t first = baton_skip_space(held, body);
    if (!teller->is_telling && first < held->len &&
        (held->data[first] != '{' || !begin(teller, functions, name, n_name, first, sink)))
        teller->is_off = true;
    if (teller->is_telling && tell(teller, held, sink))
        teller->is_off = true;
}

/* ---- names in the JSON ---- */

static enum baton_verdict pass(const struct baton_buf *held, size_t *at, const char *text)
{
    *at = baton_skip_space(held, *at);
    enum baton_verdict met = baton_begins_with(held, *at, text);
    if (met == BATON_YES)
        *at += strlen(text);
    return met;
}

/* Passes "key": with white space between. */
static enum baton_verdict pass_key(const struct baton_buf *held, size_t *at, const char *key)
{
    enum baton_verdict met = pass(held, at, "\"");
    met = met == BATON_YES ? baton_begins_with(held, *at, key) : met;
    if (met != BATON_YES)
        return met;
    *at += strlen(key);
    met = baton_begins_with(held, *at, "\"");
    *at += met == BATON_YES;
    return met == BATON_YES ? pass(held, at, ":") : met;
}

/* Passes a string without escapes. */
static enum baton_verdict pass_name(const struct baton_buf *held, size_t *at, size_t *name,
                                    size_t *n_name)
{
    enum baton_verdict met = pass(held, at, "\"");
    *name = *at;
    while (met == BATON_YES && *at < held->len && held->data[*at] != '"') {
        if (held->data[*at] == '\\' || *at - *name > BATON_TOOL_NAME_MAX_BYTES)
            return BATON_NO;
        (*at)++;
    }
    if (met != BATON_YES || *at == held->len)
        return met == BATON_NO ? BATON_NO : BATON_MORE;
    *n_name = (*at)++ - *name;
    return BATON_YES;
}

/* Passes a member whose value is a string, and the comma behind it. */
static enum baton_verdict pass_other(const struct baton_buf *held, size_t *at)
{
    size_t text, n;
    enum baton_verdict met = pass_name(held, at, &text, &n);
    met = met == BATON_YES ? pass(held, at, ":") : met;
    met = met == BATON_YES ? pass_name(held, at, &text, &n) : met;
    return met == BATON_YES ? pass(held, at, ",") : met;
}

/* Passes "key": and members before it, such as an id. */
static enum baton_verdict pass_member(const struct baton_buf *held, size_t *at, const char *key)
{
    enum baton_verdict met = BATON_YES;
    for (int i = 0; met == BATON_YES && i <= MOST_OTHERS; i++) {
        size_t behind = *at;
        met = pass_key(held, &behind, key);
        if (met != BATON_NO) {
            *at = behind;
            return met;
        }
        met = pass_other(held, at);
    }
    return met == BATON_YES ? BATON_NO : met;
}

/* Passes {"name": "f", "arguments": and leaves *at at the bracket behind it. */
static enum baton_verdict pass_head(const struct baton_tool_format *format,
                                    const struct baton_buf *held, size_t *at, size_t *name,
                                    size_t *n_name)
{
    enum baton_verdict met = pass(held, at, "{");
    met = met == BATON_YES ? pass_member(held, at, format->name_key) : met;
    met = met == BATON_YES ? pass_name(held, at, name, n_name) : met;
    met = met == BATON_YES ? pass(held, at, ",") : met;
    met = met == BATON_YES ? pass_member(held, at, format->arguments_key) : met;
    met = met == BATON_YES ? pass(held, at, "{") : met;
    *at -= met == BATON_YES;
    return met;
}

/* Passes what is before the next call: nothing, the bracket of a list, or the end of the last one
 * and a comma. */
static enum baton_verdict pass_between(const struct baton_call_teller *teller,
                                       const struct baton_buf *held, size_t *at)
{
    enum baton_verdict met = pass(held, at, teller->n_told ? "}" : "[");
    if (!teller->n_told)
        return met == BATON_NO ? BATON_YES : met;
    return met == BATON_YES ? pass(held, at, ",") : met;
}

static void begin_named(struct baton_call_teller *teller, const struct baton_tool_format *format,
                        const struct baton_json *functions, const struct baton_buf *held,
                        const struct baton_tool_sink *sink)
{
    size_t at = teller->at, name = 0, n_name = 0;
    enum baton_verdict met = pass_between(teller, held, &at);
    met = met == BATON_YES ? pass_head(format, held, &at, &name, &n_name) : met;
    teller->is_off = met == BATON_NO || at - teller->at > BATON_TOOL_SPACE_MAX_BYTES;
    if (met == BATON_YES && !teller->is_off)
        (void)begin(teller, functions, held->data + name, n_name, at, sink);
}

void baton_call_teller_push_named(struct baton_call_teller *teller,
                                  const struct baton_tool_format *format,
                                  const struct baton_json *functions, const struct baton_buf *held,
                                  size_t body, const struct baton_tool_sink *sink)
{
    bool goes_on = !teller->is_off;
    if (!teller->has_begun)
        teller->at = body;
    teller->has_begun = true;
    while (goes_on) {
        if (!teller->is_telling)
            begin_named(teller, format, functions, held, sink);
        goes_on = teller->is_telling && tell(teller, held, sink);
    }
}

void baton_call_teller_end(struct baton_call_teller *teller, const struct baton_tool_sink *sink)
{
    if (!teller->is_telling)
        return;
    baton_arguments_cut(&teller->arguments, &teller->piece);
    pass_piece(teller, sink);
    end_call(teller, sink);
}
