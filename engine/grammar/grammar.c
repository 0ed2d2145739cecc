#include "engine/grammar/grammar.h"

static enum baton_err read_exprs(struct baton_exprs *exprs, enum baton_grammar_kind kind,
                                 const char *text, size_t n, struct baton_why *why)
{
    switch (kind) {
    case BATON_GRAMMAR_JSON_SCHEMA:
        return baton_schema_read(exprs, text, n, why);
    case BATON_GRAMMAR_REGEX:
        return baton_regex_read(exprs, text, n, why);
    case BATON_GRAMMAR_GBNF:
        return baton_gbnf_read(exprs, text, n, why);
    case BATON_GRAMMAR_STRUCTURE:
        return baton_structure_read(exprs, text, n, why);
    case BATON_GRAMMAR_NONE:
        break;
    }
    return baton_fail(why, BATON_INVALID, "a grammar of an unknown kind");
}

enum baton_err baton_grammar_read(enum baton_grammar_kind kind, const char *text, size_t n,
                                  struct baton_network **network, struct baton_why *why)
{
    struct baton_exprs exprs = {0};
    if (n > BATON_GRAMMAR_MAX_BYTES)
        return baton_fail(why, BATON_LIMIT, "%zu bytes are more than %d", n,
                          BATON_GRAMMAR_MAX_BYTES);
    enum baton_err err = read_exprs(&exprs, kind, text, n, why);
    /* The readers' own text is about one place; this limit is on the whole. */
    if (exprs.err == BATON_LIMIT)
        err = baton_fail(why, BATON_LIMIT, "takes more than %d expressions, or %d rules",
                         BATON_MAX_EXPRS, BATON_MAX_RULES);
    if (!err)
        err = baton_network_create(&exprs, network, why);
    baton_exprs_fini(&exprs);
    return err;
}
