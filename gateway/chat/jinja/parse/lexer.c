/* Splits a template into text and tags, and cuts the white space around tags. */
#include "gateway/chat/jinja/parse/lexer_parts.h"

#include <string.h>

#include "gateway/chat/jinja/value/text.h"

void jinja_lex_fail(struct jinja_lexer *lexer, const char *what)
{
    if (!lexer->err)
        lexer->err = baton_fail(lexer->why, BATON_INVALID, "line %d: %s", lexer->line, what);
}

void *jinja_lex_alloc(struct jinja_lexer *lexer, size_t n)
{
    void *memory = baton_arena_alloc(lexer->arena, n ? n : 1);
    if (!memory && !lexer->err)
        lexer->err = baton_fail(lexer->why, BATON_LIMIT, "the template is too large");
    return memory;
}

char jinja_lex_peek(const struct jinja_lexer *lexer, size_t ahead)
{
    return ahead < lexer->n - lexer->at ? lexer->source[lexer->at + ahead] : 0;
}

bool jinja_lex_at(const struct jinja_lexer *lexer, const char *text)
{
    size_t n = strlen(text);
    return n <= lexer->n - lexer->at && !memcmp(lexer->source + lexer->at, text, n);
}

void jinja_lex_skip(struct jinja_lexer *lexer, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lexer->line += lexer->source[lexer->at + i] == '\n';
    lexer->at += n;
}

static size_t space_ahead(const struct jinja_lexer *lexer)
{
    return jinja_space_bytes(lexer->source + lexer->at, lexer->n - lexer->at);
}

static void skip_space(struct jinja_lexer *lexer)
{
    for (size_t n; lexer->at < lexer->n && (n = space_ahead(lexer));)
        jinja_lex_skip(lexer, n);
}

/* ---- tokens ---- */

struct jinja_token *jinja_lex_push(struct jinja_lexer *lexer, enum jinja_token_kind kind)
{
    /* A static token keeps callers free of checks after a failure. */
    static struct jinja_token nowhere;
    struct jinja_tokens *tokens = lexer->tokens;
    if (tokens->n == tokens->cap) {
        size_t cap = tokens->cap ? 2 * tokens->cap : 64;
        struct jinja_token *items = jinja_lex_alloc(lexer, cap * sizeof *items);
        if (!items)
            return &nowhere;
        if (tokens->n)
            memcpy(items, tokens->items, tokens->n * sizeof *items);
        tokens->items = items;
        tokens->cap = cap;
    }
    struct jinja_token *token = &tokens->items[tokens->n++];
    *token = (struct jinja_token){.kind = kind, .line = lexer->line};
    return token;
}

void jinja_lex_push_text(struct jinja_lexer *lexer, enum jinja_token_kind kind, const char *text,
                         size_t n)
{
    struct jinja_token *token = jinja_lex_push(lexer, kind);
    if (lexer->err)
        return;
    token->text = text;
    token->n = n;
}

/* ---- tags ---- */

/* Returns the bytes of the tag's end at the lexer, with its sign; 0 when there is none. */
static size_t tag_end(const struct jinja_lexer *lexer, bool is_print, char *sign)
{
    *sign = jinja_lex_peek(lexer, 0) == '-' || (jinja_lex_peek(lexer, 0) == '+' && !is_print)
                ? jinja_lex_peek(lexer, 0)
                : 0;
    size_t n = *sign ? 1 : 0;
    return jinja_lex_peek(lexer, n) == (is_print ? '}' : '%') && jinja_lex_peek(lexer, n + 1) == '}'
               ? n + 2
               : 0;
}

/* Cuts after a tag: - cuts all white space, a block without a sign cuts the line break. */
static void cut_after(struct jinja_lexer *lexer, bool is_print, char sign)
{
    size_t start = lexer->at;
    if (sign == '-')
        skip_space(lexer);
    else if (!is_print && sign != '+' && jinja_lex_peek(lexer, 0) == '\n')
        jinja_lex_skip(lexer, 1);
    lexer->line_start = lexer->at > start && lexer->source[lexer->at - 1] == '\n';
}

static void lex_tag(struct jinja_lexer *lexer, bool is_print)
{
    char sign;
    size_t n;
    lexer->n_brackets = 0;
    jinja_lex_push(lexer, is_print ? JINJA_T_PRINT_BEGIN : JINJA_T_BLOCK_BEGIN);
    while (!lexer->err) {
        skip_space(lexer);
        if (lexer->at >= lexer->n) {
            jinja_lex_fail(lexer, is_print ? "{{ has no end" : "{% has no end");
            return;
        }
        /* Inside brackets }} may close two maps. */
        if (!lexer->n_brackets && (n = tag_end(lexer, is_print, &sign))) {
            jinja_lex_push(lexer, is_print ? JINJA_T_PRINT_END : JINJA_T_BLOCK_END);
            jinja_lex_skip(lexer, n);
            cut_after(lexer, is_print, sign);
            return;
        }
        jinja_lex_piece(lexer);
    }
}

static void skip_comment(struct jinja_lexer *lexer)
{
    size_t start = lexer->at;
    while (lexer->at < lexer->n && !jinja_lex_at(lexer, "#}"))
        jinja_lex_skip(lexer, 1);
    if (lexer->at >= lexer->n) {
        jinja_lex_fail(lexer, "{# has no end");
        return;
    }
    char before = lexer->at > start ? lexer->source[lexer->at - 1] : 0;
    jinja_lex_skip(lexer, 2);
    cut_after(lexer, false, before);
}

/* ---- text between tags ---- */

/* Returns where the text from start to the tag at end ends, after the tag's cut. */
static size_t cut_before(const struct jinja_lexer *lexer, size_t start, size_t end, char sign,
                         bool is_print)
{
    size_t line = end;
    if (sign == '-') {
        struct jinja_string text = {.bytes = lexer->source + start, .n = end - start};
        return start + jinja_trimmed_bytes(&text);
    }
    if (is_print || sign == '+')
        return end;
    while (line > start && lexer->source[line - 1] != '\n')
        line--;
    if (line == start && !lexer->line_start)
        return end;
    struct jinja_string text = {.bytes = lexer->source + line, .n = end - line};
    return jinja_trimmed_bytes(&text) ? end : line;
}

/* Returns the bytes of {%- WORD -%} at the lexer; 0 when it is something else. *before and *after
 * are its signs. */
static size_t word_tag(const struct jinja_lexer *lexer, const char *word, char *before, char *after)
{
    size_t n = 2, n_word = strlen(word), space;
    const char *p = lexer->source + lexer->at;
    size_t left = lexer->n - lexer->at;
    if (!jinja_lex_at(lexer, "{%"))
        return 0;
    *before = jinja_lex_peek(lexer, n) == '-' || jinja_lex_peek(lexer, n) == '+'
                  ? jinja_lex_peek(lexer, n)
                  : 0;
    n += *before ? 1 : 0;
    while (n < left && (space = jinja_space_bytes(p + n, left - n)))
        n += space;
    if (n_word > left - n || memcmp(p + n, word, n_word) != 0)
        return 0;
    n += n_word;
    while (n < left && (space = jinja_space_bytes(p + n, left - n)))
        n += space;
    *after = jinja_lex_peek(lexer, n) == '-' || jinja_lex_peek(lexer, n) == '+'
                 ? jinja_lex_peek(lexer, n)
                 : 0;
    n += *after ? 1 : 0;
    return jinja_lex_peek(lexer, n) == '%' && jinja_lex_peek(lexer, n + 1) == '}' ? n + 2 : 0;
}

/* Lexes {% raw %} at the lexer, which has n bytes. */
static void lex_raw(struct jinja_lexer *lexer, size_t n, char sign)
{
    char before, after;
    jinja_lex_skip(lexer, n);
    if (sign == '-')
        skip_space(lexer);
    size_t start = lexer->at;
    lexer->line_start = false;
    while (lexer->at < lexer->n && !(n = word_tag(lexer, "endraw", &before, &after)))
        jinja_lex_skip(lexer, 1);
    if (lexer->at >= lexer->n) {
        jinja_lex_fail(lexer, "{% raw %} has no end");
        return;
    }
    size_t end = cut_before(lexer, start, lexer->at, before, false);
    if (end > start)
        jinja_lex_push_text(lexer, JINJA_T_DATA, lexer->source + start, end - start);
    jinja_lex_skip(lexer, n);
    cut_after(lexer, false, after);
}

static size_t next_tag(const struct jinja_lexer *lexer)
{
    for (size_t i = lexer->at; i + 1 < lexer->n; i++)
        if (lexer->source[i] == '{' && (lexer->source[i + 1] == '{' ||
                                        lexer->source[i + 1] == '%' || lexer->source[i + 1] == '#'))
            return i;
    return lexer->n;
}

static void lex_opening(struct jinja_lexer *lexer, size_t start)
{
    char kind = jinja_lex_peek(lexer, 1), sign = jinja_lex_peek(lexer, 2), after;
    size_t raw = word_tag(lexer, "raw", &sign, &after);
    /* word_tag may have overwritten it. */
    sign = jinja_lex_peek(lexer, 2);
    bool signed_tag = sign == '-' || sign == '+';
    size_t end = cut_before(lexer, start, lexer->at, sign, kind == '{');
    if (end > start)
        jinja_lex_push_text(lexer, JINJA_T_DATA, lexer->source + start, end - start);
    if (raw && after != '+') {
        lex_raw(lexer, raw, after);
        return;
    }
    jinja_lex_skip(lexer, signed_tag ? 3 : 2);
    if (kind == '#')
        skip_comment(lexer);
    else
        lex_tag(lexer, kind == '{');
}

static void lex_all(struct jinja_lexer *lexer)
{
    while (lexer->at < lexer->n && !lexer->err) {
        size_t start = lexer->at;
        jinja_lex_skip(lexer, next_tag(lexer) - start);
        if (lexer->at < lexer->n) {
            lex_opening(lexer, start);
        } else if (lexer->n > start) {
            jinja_lex_push_text(lexer, JINJA_T_DATA, lexer->source + start, lexer->n - start);
        }
    }
    jinja_lex_push(lexer, JINJA_T_END);
}

enum baton_err jinja_lex(struct baton_arena *arena, const char *source, size_t n,
                         struct jinja_tokens *tokens, struct baton_why *why)
{
    /* Jinja drops one line break at the very end. */
    n -= n && source[n - 1] == '\n';
    struct jinja_lexer lexer = {.arena = arena,
                                .source = source,
                                .n = n,
                                .line = 1,
                                .line_start = true,
                                .tokens = tokens,
                                .why = why};
    *tokens = (struct jinja_tokens){0};
    lex_all(&lexer);
    return lexer.err;
}
