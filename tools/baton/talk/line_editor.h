/* Reads lines that a user types, with editing and a history, or lines of a pipe.
 *
 * Ownership: a line is borrowed until the next call.
 * Threading: the main thread.
 * Errors:    NO_MEMORY; a history that cannot be read or written is ignored.
 */
#ifndef BATON_TOOLS_BATON_TALK_LINE_EDITOR_H
#define BATON_TOOLS_BATON_TALK_LINE_EDITOR_H

#include <limits.h>
#include <stdbool.h>

#include "common/base/error.h"

struct bt_line_editor;

/* program is our name in ~/.editrc. history is a file, created for its owner alone. */
enum baton_err bt_line_editor_create(const char *program, const char *history,
                                     struct bt_line_editor **editor,
                                     struct baton_why *why) BATON_MUST_CHECK;
/* Writes the history. NULL is fine. */
void bt_line_editor_destroy(struct bt_line_editor *editor);

/* True when a user types at a terminal. */
bool bt_line_editor_is_interactive(const struct bt_line_editor *editor);

/* Returns the next line without its end, "" after Ctrl-C, which discards the line, or NULL at the
 * end of the input. A line that ends in a backslash continues in the next one. */
const char *bt_line_editor_read(struct bt_line_editor *editor, const char *prompt);

#endif
