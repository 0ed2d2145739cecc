/* The forms of models' tool calls: a table of formats, recognised by their chat templates.
 *
 *     open  begin CALL end  separator  begin CALL end  close
 *
 *     JSON     CALL is {"name":"f","arguments":{...}}, or a list of these
 *              or, with middle: f middle {...}
 *     TAGS     f middle, then for each argument:  key_begin k key_end value_begin v value_end
 *     PYTHON   [f(a=1, b="x"), g()]
 *     GEMMA    f{a:1,b:<|"|>x<|"|>}
 *     CHANNELS see channels.h
 *
 * White space between the parts is the model's choice. open and close may be missing.
 *
 * Ownership: formats are static.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_FORMAT_H
#define BATON_GATEWAY_CHAT_TOOLCALL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

enum baton_tool_syntax {
    BATON_TOOL_JSON,
    BATON_TOOL_TAGS,
    BATON_TOOL_PYTHON,
    BATON_TOOL_GEMMA,
    BATON_TOOL_CHANNELS
};

/* The tags around an argument. Strings are written as they are, all other values as JSON. */
struct baton_tool_tags {
    const char *key_begin, *key_end;
    const char *value_begin;  /* NULL: the value follows the key */
    const char *string_begin; /* replaces value_begin before a string; NULL: no difference */
    const char *value_end;
    bool ends_by_key; /* the key and ">" follow value_end, as in </key> */
    const char *pad;  /* on both sides of a value and not part of it; "": none */
};

struct baton_tool_format {
    const char *name;
    const char *mark;      /* every template of the format contains it, */
    const char *or_mark;   /* or this; NULL: no other */
    const char *unless[5]; /* no template of the format contains these; NULL: fewer */
    enum baton_tool_syntax syntax;
    const char *open, *close;             /* around all calls; NULL: none */
    const char *begin;                    /* NULL: the whole text is calls */
    const char *middle;                   /* after the name; NULL: the name is in the JSON */
    const char *end;                      /* NULL: a call ends with its JSON */
    const char *separator;                /* between calls, in templates; NULL: none */
    const char *name_key, *arguments_key; /* of JSON without middle */
    bool name_is_key;            /* JSON: a call is {"f": {...}}; then there are no such keys */
    bool is_list;                /* JSON: all calls are in one list between begin and end */
    const char *name_prefix;     /* before the name and not part of it; NULL: none */
    bool is_numbered;            /* ":0" and so on follows the name */
    const char *id_mark;         /* id_mark and an id may follow the name */
    const char *id_end;          /* an id and this precede the name; NULL: no id does */
    bool open_ends_turn;         /* open ends the turn if no call follows; next_turns may follow */
    const char *next_turns[3];   /* open and the role of another turn: the answer is over */
    bool opens_each;             /* open stands before the calls, although no close ends them */
    const char *text_begin;      /* announces text; NULL: none */
    struct baton_tool_tags tags; /* of TAGS */
};

/* All formats that are known: [baton_n_tool_formats]. */
extern const struct baton_tool_format baton_tool_formats[];
extern const size_t baton_n_tool_formats;

/* The form for templates that show none: the JSON that most models have seen. */
extern const struct baton_tool_format baton_tool_generic;

/* The format that a template's source makes a model write; the generic one when none is known. */
const struct baton_tool_format *baton_tool_format_of(const char *source, size_t n);

/* The texts that the format's special tokens are in: calls put for each. */
void baton_tool_format_markers(const struct baton_tool_format *format,
                               void (*put)(void *user, const char *text), void *user);

#endif
