/* How models write the calls of tools: a table of formats, told apart by their chat templates.
 *
 *     begin {"name":"f","arguments":{...}} end        or the same in an array
 *     begin f middle {...} end
 *
 * Ownership: formats are static.
 * Threading: pure.
 * Errors:    a template with calls of another form has no format.
 */
#ifndef BATON_TOOLCALL_FORMAT_H
#define BATON_TOOLCALL_FORMAT_H

#include <stddef.h>

struct baton_tool_format {
    const char *name;
    const char *mark;      /* in the source of every template of the format */
    const char *unless[4]; /* in none of them; NULL: fewer */
    const char *begin;     /* NULL: a call is all of the text */
    const char *middle;    /* between name and arguments; NULL: the name is in the JSON */
    const char *end;       /* NULL: nothing ends a call but its JSON */
    const char *name_key, *arguments_key;
};

/* The format that a template's source makes a model write; NULL: none that is known. */
const struct baton_tool_format *baton_tool_format_of(const char *source, size_t n);

/* The format of that name, or NULL. */
const struct baton_tool_format *baton_tool_format_named(const char *name);

#endif
