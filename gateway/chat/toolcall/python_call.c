/* Parses calls as a Python list: [f(a=1, b="x"), g()]. Arguments have names and are literals.
 * Gemma's literals differ only in names without quotes and in strings between markers. */
#include "common/base/array.h"
#include "gateway/chat/toolcall/call.h"

#include <ctype.h>

enum { MAX_DEPTH = 64, MAX_HEAD = 1024 }; /* HEAD: bytes of a name, of a first key */

/* ---- the end of the list ---- */

static void scan_byte(struct baton_call *call, char c)
{
    if (call->in_string) {
        call->in_string = call->escaped || c != call->quote;
        call->escaped = !call->escaped && c == '\\';
    } else if (c == '"' || c == '\'') {
        call->in_string = true;
        call->quote = c;
    } else if (c == '{' || c == '[' || c == '(') {
        call->depth++;
    } else if (c == '}' || c == ']' || c == ')') {
        call->is_whole = --call->depth == 0;
    }
}

enum baton_verdict baton_python_call_scan(const struct baton_tool_format *format,
                                          const struct baton_buf *held, struct baton_call *call)
{
    (void)format;
    if (!call->has_value) {
        size_t at = baton_skip_space(held, call->body);
        if (at == held->len)
            return at - call->body > BATON_TOOL_SPACE_MAX_BYTES ? BATON_NO : BATON_MORE;
        if (held->data[at] != '[')
            return BATON_NO;
        call->value = call->scanned = at;
        call->has_value = true;
    }
    while (!call->is_whole && call->scanned < held->len) {
        char c = held->data[call->scanned++];
        scan_byte(call, c);
        if (c == ')' && call->depth == 1 && !call->in_string)
            call->call_end = call->scanned;
    }
    if (call->is_whole)
        return BATON_YES;
    return held->len > BATON_TOOL_CALL_MAX_BYTES ? BATON_NO : BATON_MORE;
}

/* ---- literals ---- */

struct reader {
    const char *at, *end;
    int depth;
    bool is_gemma;
};

static struct baton_json *read_literal(struct reader *reader);

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && baton_is_space(*reader->at))
        reader->at++;
}

/* Skips the next byte when it is c. */
static bool take(struct reader *reader, char c)
{
    skip_space(reader);
    if (reader->at == reader->end || *reader->at != c)
        return false;
    reader->at++;
    return true;
}

static size_t word_length(const struct reader *reader)
{
    size_t n = 0;
    while (reader->at + n < reader->end &&
           (isalnum((unsigned char)reader->at[n]) || strchr("_.-+", reader->at[n])) &&
           reader->at[n])
        n++;
    return n;
}

/* Writes a Python escape as JSON; escape is its letter. */
static void put_escape(struct baton_buf *json, char escape)
{
    if (escape == '\'')
        baton_buf_putc(json, '\'');
    else if (escape == 'x')
        baton_buf_puts(json, "\\u00");
    else if (escape && strchr("\"\\/bfnrtu", escape))
        baton_buf_printf(json, "\\%c", escape);
    else
        baton_buf_printf(json, "\\\\%c", escape);
}

static void put_char(struct baton_buf *json, char c)
{
    if (c == '"')
        baton_buf_puts(json, "\\\"");
    else if ((unsigned char)c < 0x20)
        baton_buf_printf(json, "\\u%04x", (unsigned)c);
    else
        baton_buf_putc(json, c);
}

/* Reads a string by converting it to a JSON string. */
static struct baton_json *read_string(struct reader *reader)
{
    struct baton_json *value = NULL;
    struct baton_why why;
    struct baton_buf json;
    char quote = *reader->at++;
    baton_buf_init(&json, (size_t)BATON_TOOL_CALL_MAX_BYTES * 8);
    baton_buf_putc(&json, '"');
    for (; reader->at < reader->end && *reader->at != quote; reader->at++) {
        if (*reader->at == '\\' && reader->at + 1 < reader->end)
            put_escape(&json, *++reader->at);
        else
            put_char(&json, *reader->at);
    }
    baton_buf_putc(&json, '"');
    if (!take(reader, quote) || baton_json_parse(baton_buf_text(&json), json.len, &value, &why))
        value = NULL;
    baton_buf_fini(&json);
    return value;
}

/* Reads True, False, None and numbers, and JSON's words. */
static struct baton_json *read_word(struct reader *reader)
{
    static const struct {
        const char *python, *json;
    } words[] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    struct baton_json *value = NULL;
    struct baton_why why;
    const char *text = reader->at;
    size_t n = word_length(reader);
    reader->at += n;
    for (size_t i = 0; i < BATON_N_OF(words); i++)
        if (n == strlen(words[i].python) && !memcmp(text, words[i].python, n)) {
            text = words[i].json;
            n = strlen(text);
        }
    return n && !baton_json_parse(text, n, &value, &why) ? value : NULL;
}

static struct baton_json *read_list(struct reader *reader, char end)
{
    struct baton_json *list = baton_json_new_array();
    bool is_good = list != NULL;
    reader->at++;
    for (bool more = true; is_good && !take(reader, end);) {
        struct baton_json *value = more ? read_literal(reader) : NULL;
        is_good = value && baton_json_push(list, value);
        more = take(reader, ',');
    }
    if (is_good)
        return list;
    baton_json_free(list);
    return NULL;
}

/* Reads Gemma's string, in which nothing is escaped. NULL when there is none, or it has no end. */
static struct baton_json *read_marked(struct reader *reader)
{
    static const char mark[] = "<|\"|>";
    enum { N_MARK = sizeof mark - 1 };
    size_t n_left = (size_t)(reader->end - reader->at);
    if (!reader->is_gemma || n_left < N_MARK || memcmp(reader->at, mark, N_MARK) != 0)
        return NULL;
    const char *begin = reader->at + N_MARK;
    const char *end = memmem(begin, n_left - N_MARK, mark, N_MARK);
    if (!end)
        return NULL;
    reader->at = end + N_MARK;
    return baton_json_new_text(begin, (size_t)(end - begin));
}

static struct baton_json *read_key(struct reader *reader)
{
    skip_space(reader);
    bool is_quoted = reader->at < reader->end && (*reader->at == '"' || *reader->at == '\'');
    if (!reader->is_gemma || is_quoted)
        return is_quoted ? read_string(reader) : NULL;
    struct baton_json *key = read_marked(reader);
    size_t n = key ? 0 : word_length(reader);
    if (key || !n)
        return key;
    reader->at += n;
    return baton_json_new_text(reader->at - n, n);
}

/* Reads one "key: value". */
static bool read_member(struct reader *reader, struct baton_json *map)
{
    struct baton_json *key = read_key(reader);
    size_t n = 0;
    const char *name = baton_json_string(key, &n);
    /* A key with a zero byte cannot be a JSON key here. */
    bool is_member = name && strlen(name) == n && take(reader, ':');
    struct baton_json *value = is_member ? read_literal(reader) : NULL;
    bool is_good = value && baton_json_set(map, name, value);
    baton_json_free(key);
    return is_good;
}

static struct baton_json *read_map(struct reader *reader)
{
    struct baton_json *map = baton_json_new_object();
    bool is_good = map != NULL;
    reader->at++;
    for (bool more = true; is_good && !take(reader, '}');) {
        is_good = more && read_member(reader, map);
        more = take(reader, ',');
    }
    if (is_good)
        return map;
    baton_json_free(map);
    return NULL;
}

/* Reads a literal; NULL when there is none. */
static struct baton_json *read_literal(struct reader *reader)
{
    struct baton_json *value = NULL;
    skip_space(reader);
    if (reader->at == reader->end || reader->depth == MAX_DEPTH)
        return NULL;
    reader->depth++;
    if (*reader->at == '<')
        value = read_marked(reader);
    else if (*reader->at == '"' || *reader->at == '\'')
        value = read_string(reader);
    else if (*reader->at == '[' || *reader->at == '(')
        value = read_list(reader, *reader->at == '[' ? ']' : ')');
    else if (*reader->at == '{')
        value = read_map(reader);
    else
        value = read_word(reader);
    reader->depth--;
    return value;
}

struct baton_json *baton_python_literal(const char *text, size_t n)
{
    struct reader reader = {.at = text, .end = text + n};
    struct baton_json *value = read_literal(&reader);
    skip_space(&reader);
    if (value && reader.at == reader.end)
        return value;
    baton_json_free(value);
    return NULL;
}

/* ---- calls ---- */

/* Reads one "name=value". */
static bool read_argument(struct reader *reader, struct baton_json *arguments)
{
    char name[BATON_TOOL_NAME_MAX_BYTES + 1];
    skip_space(reader);
    size_t n = word_length(reader);
    if (!n || n >= sizeof name)
        return false;
    memcpy(name, reader->at, n);
    name[n] = 0;
    reader->at += n;
    struct baton_json *value = take(reader, '=') ? read_literal(reader) : NULL;
    return value && baton_json_set(arguments, name, value);
}

/* Reads a call and passes it to sink, if there is one. */
static bool read_call(struct reader *reader, const struct baton_tool_sink *sink)
{
    skip_space(reader);
    const char *name = reader->at;
    size_t n = word_length(reader);
    reader->at += n;
    struct baton_json *arguments = baton_json_new_object();
    bool is_good = arguments && n && n <= BATON_TOOL_NAME_MAX_BYTES && take(reader, '(');
    for (bool more = true; is_good && !take(reader, ')');) {
        is_good = more && read_argument(reader, arguments);
        more = take(reader, ',');
    }
    if (is_good && sink)
        (void)baton_call_tell(name, n, arguments, sink);
    baton_json_free(arguments);
    return is_good;
}

/* Reads the list of calls, or its rest behind calls that were told, and passes them to sink, if
 * there is one. */
static bool read_calls(const char *text, size_t n, bool is_rest, const struct baton_tool_sink *sink)
{
    struct reader reader = {.at = text, .end = text + n};
    bool is_good = is_rest || (take(&reader, '[') && read_call(&reader, sink));
    while (is_good && take(&reader, ','))
        is_good = read_call(&reader, sink);
    return is_good && take(&reader, ']') && reader.at == reader.end;
}

/* Whether arguments begin at begin: with their bracket, and a first key or the end, which are not
 * far away. */
static enum baton_verdict begins_arguments(const struct baton_buf *held, size_t begin,
                                           bool is_gemma)
{
    struct baton_literals literals = {.is_gemma = is_gemma};
    struct baton_buf ignored;
    enum baton_verdict met = BATON_MORE;
    size_t at = begin;
    baton_buf_init(&ignored, BATON_TOOL_CALL_MAX_BYTES);
    for (size_t end = begin; end < held->len && end - begin < MAX_HEAD && met == BATON_MORE;
         end++) {
        char c = held->data[end];
        if (c != (is_gemma ? ':' : '=') && c != (is_gemma ? '}' : ')'))
            continue;
        at += baton_literals_push(&literals, held->data + at, end + 1 - at, &ignored);
        if (literals.is_wrong)
            met = BATON_NO;
        else if (literals.is_over || literals.expects == BATON_LITERALS_VALUE)
            met = BATON_YES;
    }
    baton_buf_fini(&ignored);
    return met == BATON_MORE && held->len - begin >= MAX_HEAD ? BATON_NO : met;
}

static void begin_literals(struct baton_call_teller *teller, size_t at, bool is_gemma)
{
    teller->literals = (struct baton_literals){.is_gemma = is_gemma};
    teller->at = at;
}

/* Tells what has come of the arguments. Returns true when they are over. */
static bool tell_literals(struct baton_call_teller *teller, const struct baton_buf *held,
                          const struct baton_tool_sink *sink)
{
    struct baton_buf json;
    baton_buf_init(&json, (size_t)BATON_TOOL_CALL_MAX_BYTES * 8);
    teller->at += baton_literals_push(&teller->literals, held->data + teller->at,
                                      held->len - teller->at, &json);
    (void)baton_arguments_push(&teller->arguments, baton_buf_text(&json), json.len, &teller->piece);
    baton_buf_fini(&json);
    if (teller->literals.is_over)
        baton_call_teller_finish(teller, sink);
    else if (teller->literals.is_wrong)
        baton_call_teller_end(teller, sink);
    else
        baton_call_teller_flush(teller, sink);
    teller->is_off = teller->literals.is_wrong;
    return teller->literals.is_over;
}

/* Tells the whole call at the reader, of which the sink wants no pieces, once it has come. */
static bool tell_whole(const struct baton_buf *held, struct baton_call *call, struct reader reader,
                       const struct baton_tool_sink *sink)
{
    struct baton_call_teller *teller = &call->teller;
    struct reader again = reader;
    if (held->data + call->call_end <= reader.at)
        return false;
    teller->is_off = !read_call(&reader, NULL) || !read_call(&again, sink);
    teller->n_told += !teller->is_off;
    teller->at = teller->is_off ? teller->at : (size_t)(reader.at - held->data);
    teller->is_refused = false;
    return !teller->is_off;
}

/* Begins the next call of the list. Returns false when there is none yet. */
static bool begin_call(const struct baton_json *functions, const struct baton_buf *held,
                       struct baton_call *call, const struct baton_tool_sink *sink)
{
    struct baton_call_teller *teller = &call->teller;
    size_t at = teller->n_told ? teller->at : call->value;
    struct reader reader = {.at = held->data + at, .end = held->data + held->len};
    skip_space(&reader);
    bool has_comma = take(&reader, teller->n_told ? ',' : '[');
    skip_space(&reader);
    const struct reader name = reader;
    size_t n = word_length(&reader);
    reader.at += n;
    skip_space(&reader);
    enum baton_verdict met = BATON_MORE;
    if (reader.at - (held->data + at) > MAX_HEAD)
        met = BATON_NO;
    else if (reader.at < reader.end)
        met = !has_comma || *reader.at != '('
                  ? BATON_NO
                  : begins_arguments(held, (size_t)(reader.at - held->data), false);
    teller->is_off = met == BATON_NO;
    if (met == BATON_YES)
        teller->is_off = !baton_function_of(functions, name.at, n);
    if (met != BATON_YES || teller->is_off)
        return false;
    if (!teller->is_refused && baton_call_teller_begin(teller, functions, name.at, n, sink)) {
        begin_literals(teller, (size_t)(reader.at - held->data), false);
        return true;
    }
    teller->is_off = false;
    teller->is_refused = true;
    teller->at = at;
    return tell_whole(held, call, name, sink);
}

void baton_python_call_tell(const struct baton_json *functions, const struct baton_buf *held,
                            struct baton_call *call, const struct baton_tool_sink *sink)
{
    struct baton_call_teller *teller = &call->teller;
    bool goes_on = !teller->is_off;
    while (goes_on)
        goes_on = teller->is_telling ? tell_literals(teller, held, sink)
                                     : begin_call(functions, held, call, sink);
}

size_t baton_python_call_told(const struct baton_buf *held, const struct baton_call *call)
{
    struct reader reader = {.at = held->data + call->teller.at, .end = held->data + held->len};
    (void)take(&reader, ',');
    skip_space(&reader);
    return (size_t)(reader.at - held->data);
}

/* Takes a list of calls. Some templates write JSON between the same markers. */
bool baton_python_call_take(const struct baton_tool_format *format, const struct baton_buf *held,
                            const struct baton_call *call, const struct baton_tool_sink *sink)
{
    size_t begin = call->teller.n_told ? call->teller.at : call->value;
    const char *text = held->data + begin;
    size_t n = call->scanned - begin;
    bool is_rest = call->teller.n_told;
    if (format->name_key && !is_rest && baton_json_call_take(format, held, call, sink))
        return true;
    /* Twice, so that a list with an error at its end calls nothing. */
    return read_calls(text, n, is_rest, NULL) && read_calls(text, n, is_rest, sink);
}

/* ---- Gemma's ---- */

enum baton_verdict baton_gemma_call_scan(const struct baton_tool_format *format,
                                         const struct baton_buf *held, struct baton_call *call)
{
    size_t n_end = strlen(format->end);
    if (!call->has_value) {
        if (held->data[call->body] != '{')
            return BATON_NO;
        call->value = call->scanned = call->body;
        call->has_value = true;
    }
    const char *met =
        memmem(held->data + call->scanned, held->len - call->scanned, format->end, n_end);
    if (met) {
        call->scanned = (size_t)(met - held->data);
        return BATON_YES;
    }
    /* The end marker may be split between pieces. */
    if (held->len - call->scanned >= n_end)
        call->scanned = held->len - n_end + 1;
    return held->len > BATON_TOOL_CALL_MAX_BYTES ? BATON_NO : BATON_MORE;
}

void baton_gemma_call_tell(const struct baton_tool_format *format,
                           const struct baton_json *functions, const struct baton_buf *held,
                           struct baton_call *call, bool is_over,
                           const struct baton_tool_sink *sink)
{
    struct baton_call_teller *teller = &call->teller;
    struct baton_buf view = *held; /* up to the end marker, wherever it stands */
    bool has_end = baton_begins_with(held, call->scanned, format->end) == BATON_YES;
    view.len =
        is_over && !has_end ? held->len - baton_n_maybe_begin(held, format->end) : call->scanned;
    if (teller->is_off || (teller->n_told && !teller->is_telling))
        return;
    if (!teller->is_telling) {
        enum baton_verdict met = begins_arguments(&view, call->value, true);
        teller->is_off = met == BATON_NO;
        if (met != BATON_YES || !baton_call_teller_begin(teller, functions, held->data + call->name,
                                                         call->n_name, sink))
            return;
        begin_literals(teller, call->value, true);
    }
    (void)tell_literals(teller, &view, sink);
}

bool baton_gemma_call_take(const struct baton_buf *held, const struct baton_call *call,
                           const struct baton_tool_sink *sink)
{
    if (call->teller.n_told)
        return true;
    struct reader reader = {
        .at = held->data + call->value, .end = held->data + call->scanned, .is_gemma = true};
    struct baton_json *arguments = read_map(&reader);
    skip_space(&reader);
    bool is_taken = arguments && reader.at == reader.end &&
                    baton_call_tell(held->data + call->name, call->n_name, arguments, sink);
    baton_json_free(arguments);
    return is_taken;
}
