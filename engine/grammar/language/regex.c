#include "engine/grammar/language/regex.h"

#include <string.h>

#include "engine/grammar/grammar.h"
#include "engine/grammar/language/reader.h"

struct parser {
    struct baton_reader reader;
    const struct baton_regex_options *options;
    struct baton_regex_length length; /* of the expression parsed last */
};

/* ---- characters in JSON ---- */

static uint32_t escaped(struct baton_exprs *exprs, uint32_t c)
{
    static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    char text[2] = "\\";
    for (size_t i = 0; i < sizeof shorts - 1; i += 2)
        if ((uint8_t)shorts[i] == c) {
            text[1] = shorts[i + 1];
            return baton_expr_bytes(exprs, text, 2);
        }
    uint8_t low = (uint8_t)(c & 15);
    uint32_t digit =
        low < 10
            ? baton_expr_byte(exprs, (uint8_t)('0' + low), (uint8_t)('0' + low))
            : baton_expr_alt(
                  exprs,
                  baton_expr_byte(exprs, (uint8_t)('a' + low - 10), (uint8_t)('a' + low - 10)),
                  baton_expr_byte(exprs, (uint8_t)('A' + low - 10), (uint8_t)('A' + low - 10)));
    return baton_expr_seq(exprs, baton_expr_text(exprs, c < 16 ? "\\u000" : "\\u001"), digit);
}

uint32_t baton_expr_json_chars(struct baton_exprs *exprs, const struct baton_chars *chars)
{
    struct baton_chars plain = *chars;
    baton_chars_remove(&plain, 0, 0x1f);
    baton_chars_remove(&plain, '"', '"');
    baton_chars_remove(&plain, '\\', '\\');
    uint32_t expr = baton_expr_chars(exprs, &plain);
    for (uint32_t c = '\\' + 1; c-- > 0;)
        if ((c < 0x20 || c == '"' || c == '\\') && baton_chars_has(chars, c))
            expr = baton_expr_alt(exprs, escaped(exprs, c), expr);
    return expr;
}

static uint32_t one_of(struct parser *p, const struct baton_chars *chars)
{
    if (chars->full)
        baton_reader_fail(&p->reader, "the class has too many ranges");
    p->length = (struct baton_regex_length){1, 1};
    return p->options->in_json ? baton_expr_json_chars(p->reader.exprs, chars)
                               : baton_expr_chars(p->reader.exprs, chars);
}

/* ---- classes ---- */

static void add_class(struct baton_chars *chars, char letter)
{
    struct baton_chars named = {0};
    switch (letter | 0x20) {
    case 'd':
        baton_chars_add(&named, '0', '9');
        break;
    case 'w':
        baton_chars_add(&named, '0', '9');
        baton_chars_add(&named, 'A', 'Z');
        baton_chars_add(&named, 'a', 'z');
        baton_chars_add(&named, '_', '_');
        break;
    default:
        baton_chars_add(&named, '\t', '\r');
        baton_chars_add(&named, ' ', ' ');
        break;
    }
    /* A capital letter is the complement. */
    if (letter < 'a')
        baton_chars_negate(&named);
    baton_chars_add_all(chars, &named);
}

static uint32_t unicode_escape(struct baton_reader *r)
{
    if (!baton_reader_take(r, "{"))
        return baton_reader_hex(r, 4);
    uint32_t c = 0;
    int n = 0;
    while (n < 6 && baton_reader_peek(r, (size_t)n) && baton_reader_peek(r, (size_t)n) != '}')
        n++;
    c = baton_reader_hex(r, n);
    if (!n || !baton_reader_take(r, "}"))
        baton_reader_fail(r, "\\u{...} must hold 1 to 6 hexadecimal digits");
    return c;
}

/* Reads an escape after the backslash and adds its characters. True: it is one character, *c. */
static bool read_escape(struct baton_reader *r, struct baton_chars *chars, uint32_t *c)
{
    static const char controls[] = "n\nr\rt\tf\fv\v0";
    uint32_t letter = baton_reader_char(r);
    if (letter && letter < 0x80 && strchr("dDwWsS", (int)letter)) {
        add_class(chars, (char)letter);
        return false;
    }
    *c = letter;
    for (size_t i = 0; i < sizeof controls; i += 2)
        if ((uint32_t)controls[i] == letter) {
            *c = (uint8_t)controls[i + 1];
            baton_chars_add(chars, *c, *c);
            return true;
        }
    if (letter == 'x')
        *c = baton_reader_hex(r, 2);
    else if (letter == 'u')
        *c = unicode_escape(r);
    else if ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
             (letter >= '1' && letter <= '9'))
        baton_reader_fail(r, "this escape is not supported");
    baton_chars_add(chars, *c, *c);
    return true;
}

static bool class_char(struct baton_reader *r, struct baton_chars *chars, uint32_t *c)
{
    if (baton_reader_take(r, "\\")) {
        if (baton_reader_take(r, "b")) {
            *c = '\b';
            baton_chars_add(chars, *c, *c);
            return true;
        }
        return read_escape(r, chars, c);
    }
    *c = baton_reader_char(r);
    baton_chars_add(chars, *c, *c);
    return true;
}

/* Reads a class after its "[". */
static void read_class(struct baton_reader *r, struct baton_chars *chars)
{
    bool negated = baton_reader_take(r, "^");
    while (!baton_reader_take(r, "]") && !r->err) {
        uint32_t low, high;
        bool is_one = class_char(r, chars, &low);
        bool is_range = baton_reader_peek(r, 0) == '-' && baton_reader_peek(r, 1) != ']';
        if (!is_range)
            continue;
        r->at++;
        if (!is_one || !class_char(r, chars, &high) || high < low)
            baton_reader_fail(r, "a range of characters must go from a lower to a higher one");
        else
            baton_chars_add(chars, low, high);
    }
    if (negated)
        baton_chars_negate(chars);
}

/* ---- terms ---- */

static uint32_t parse_choice(struct parser *p, bool is_top);

static uint32_t parse_group(struct parser *p)
{
    struct baton_reader *r = &p->reader;
    if (baton_reader_take(r, "?")) {
        bool named = baton_reader_take(r, "P<") ||
                     (baton_reader_peek(r, 0) == '<' && baton_reader_peek(r, 1) != '=' &&
                      baton_reader_peek(r, 1) != '!' && baton_reader_take(r, "<"));
        while (named && baton_reader_peek(r, 0) && !baton_reader_take(r, ">"))
            r->at++;
        if (!named && !baton_reader_take(r, ":"))
            baton_reader_fail(r,
                              "only (?: and (?<name> are supported of groups that begin with (?");
    }
    if (++r->depth > BATON_READER_MAX_DEPTH)
        baton_reader_fail(r, "groups are nested too deeply");
    uint32_t expr = r->err ? 0 : parse_choice(p, false);
    r->depth--;
    if (!baton_reader_take(r, ")"))
        baton_reader_fail(r, "a ) is missing");
    return expr;
}

static uint32_t parse_atom(struct parser *p)
{
    struct baton_reader *r = &p->reader;
    struct baton_chars chars = {0};
    uint32_t c;
    if (baton_reader_take(r, "("))
        return parse_group(p);
    if (baton_reader_take(r, "[")) {
        read_class(r, &chars);
    } else if (baton_reader_take(r, ".")) {
        /* ECMA-262's line terminators, which "." excludes. */
        baton_chars_add(&chars, '\n', '\n');
        baton_chars_add(&chars, '\r', '\r');
        baton_chars_add(&chars, 0x2028, 0x2029);
        baton_chars_negate(&chars);
    } else if (baton_reader_take(r, "\\")) {
        (void)read_escape(r, &chars, &c);
    } else {
        char next = baton_reader_peek(r, 0);
        if (next && strchr("*+?^$", next))
            baton_reader_fail(r,
                              "this character has no meaning here; write it with a \\ before it");
        c = baton_reader_char(r);
        baton_chars_add(&chars, c, c);
    }
    return one_of(p, &chars);
}

static uint32_t times(uint32_t a, uint32_t b)
{
    uint64_t product = (uint64_t)a * b;
    return a && b && (a == BATON_NO_MAX || b == BATON_NO_MAX || product >= BATON_NO_MAX)
               ? BATON_NO_MAX
               : (uint32_t)product;
}

static uint32_t plus(uint32_t a, uint32_t b)
{
    return a >= BATON_NO_MAX - b ? BATON_NO_MAX : a + b;
}

static bool parse_quantifier(struct baton_reader *r, uint32_t *min, uint32_t *max)
{
    char next = baton_reader_peek(r, 1);
    *min = 0;
    *max = BATON_NO_MAX;
    if (baton_reader_take(r, "+"))
        *min = 1;
    else if (baton_reader_take(r, "?"))
        *max = 1;
    else if (baton_reader_peek(r, 0) == '{' && next >= '0' && next <= '9') {
        r->at++;
        baton_reader_bounds(r, min, max);
    } else if (!baton_reader_take(r, "*"))
        return false;
    (void)baton_reader_take(r, "?"); /* lazy: the same texts match */
    return true;
}

static uint32_t parse_term(struct parser *p)
{
    uint32_t expr = parse_atom(p), min, max;
    while (!p->reader.err && parse_quantifier(&p->reader, &min, &max)) {
        expr = baton_expr_repeat(p->reader.exprs, expr, min, max);
        p->length.min = times(p->length.min, min);
        p->length.max = times(p->length.max, max);
    }
    return expr;
}

/* Matches any text. */
static uint32_t anything(struct parser *p)
{
    struct baton_chars all = {0};
    baton_chars_add(&all, 0, BATON_LAST_CHAR);
    return baton_expr_repeat(p->reader.exprs, one_of(p, &all), 0, BATON_NO_MAX);
}

static bool ends_here(const struct baton_reader *r)
{
    char next = baton_reader_peek(r, 0);
    return baton_reader_at_end(r) || next == '|' || next == ')';
}

static uint32_t parse_sequence(struct parser *p, bool is_top)
{
    struct baton_reader *r = &p->reader;
    struct baton_regex_length length = {0};
    size_t n = r->n_list;
    bool searches = p->options->search && is_top;
    bool begins = is_top && baton_reader_take(r, "^"), ends = false;
    /* A schema's pattern may match anywhere in the text, so other text surrounds it. */
    if (searches && !begins)
        baton_reader_push(r, anything(p));
    while (!ends_here(r) && !ends) {
        ends = is_top && baton_reader_take(r, "$");
        if (ends)
            break;
        baton_reader_push(r, parse_term(p));
        length.min = plus(length.min, p->length.min);
        length.max = plus(length.max, p->length.max);
    }
    if (ends && !ends_here(r))
        baton_reader_fail(r, "$ is supported at the end only");
    if (searches && !ends)
        baton_reader_push(r, anything(p));
    p->length = length;
    if (searches && !(begins && ends))
        p->length.max = BATON_NO_MAX;
    return baton_reader_seq(r, n);
}

static uint32_t parse_choice(struct parser *p, bool is_top)
{
    struct baton_reader *r = &p->reader;
    struct baton_regex_length length = {BATON_NO_MAX, 0};
    size_t n = r->n_list;
    do {
        baton_reader_push(r, parse_sequence(p, is_top));
        length.min = p->length.min < length.min ? p->length.min : length.min;
        length.max = p->length.max > length.max ? p->length.max : length.max;
    } while (baton_reader_take(r, "|"));
    p->length = length;
    return baton_reader_alt(r, n);
}

enum baton_err baton_regex_parse(struct baton_exprs *exprs, const char *text, size_t n,
                                 const struct baton_regex_options *options, uint32_t *expr,
                                 struct baton_regex_length *length, struct baton_why *why)
{
    struct parser p = {.reader = {.exprs = exprs, .text = text, .n = n, .why = why},
                       .options = options};
    uint32_t made = parse_choice(&p, true);
    if (!baton_reader_at_end(&p.reader))
        baton_reader_fail(&p.reader, "a ) without a (");
    enum baton_err err = baton_reader_err(&p.reader);
    baton_reader_fini(&p.reader);
    if (err)
        return err;
    *expr = made;
    *length = p.length;
    return BATON_OK;
}

enum baton_err baton_regex_read(struct baton_exprs *exprs, const char *text, size_t n,
                                struct baton_why *why)
{
    const struct baton_regex_options options = {0};
    struct baton_regex_length length;
    uint32_t expr, rule = baton_expr_rule_add(exprs, "the pattern");
    enum baton_err err = baton_regex_parse(exprs, text, n, &options, &expr, &length, why);
    if (!err)
        baton_expr_rule_set(exprs, rule, expr);
    return err ? err : exprs->err;
}
