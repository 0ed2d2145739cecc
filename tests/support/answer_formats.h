/* The formats of answers by their names.
 *
 * Pure.
 */
#ifndef BATON_TESTS_SUPPORT_ANSWER_FORMATS_H
#define BATON_TESTS_SUPPORT_ANSWER_FORMATS_H

#include <string.h>

#include "gateway/chat/toolcall/format.h"
#include "gateway/chat/toolcall/reasoning.h"

/* NULL: there is none of that name. */
static inline const struct baton_tool_format *tool_format_named(const char *name)
{
    for (size_t i = 0; i < baton_n_tool_formats; i++)
        if (!strcmp(baton_tool_formats[i].name, name))
            return &baton_tool_formats[i];
    return NULL;
}

static inline const struct baton_reasoning_format *reasoning_format_named(const char *name)
{
    for (size_t i = 0; i < baton_n_reasoning_formats; i++)
        if (!strcmp(baton_reasoning_formats[i].name, name))
            return &baton_reasoning_formats[i];
    return NULL;
}

#endif
