#include "tools/baton/talk/line_editor.h"

#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "common/base/buf.h"

enum { HISTORY_LINES = 1000, TEXT_MAX_BYTES = 4 << 20, CONTROL_C = 3 };

struct bt_line_editor {
    EditLine *edit; /* NULL: lines come from a pipe */
    History *history;
    char history_path[PATH_MAX];
    const char *prompt;
    bool thrown_away; /* the line, by Ctrl-C */
    struct baton_buf text;
    char *line; /* the line from a pipe */
    size_t line_size;
};

/* libedit counts columns by the locale, and users type UTF-8. */
static void choose_locale(void)
{
    (void)setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        (void)setlocale(LC_CTYPE, "C.UTF-8");
}

static char *prompt_of(EditLine *edit)
{
    void *data = NULL;
    (void)el_get(edit, EL_CLIENTDATA, &data);
    return (char *)((struct bt_line_editor *)data)->prompt;
}

static unsigned char throw_away(EditLine *edit, wint_t key)
{
    void *data = NULL;
    (void)key;
    (void)el_get(edit, EL_CLIENTDATA, &data);
    ((struct bt_line_editor *)data)->thrown_away = true;
    (void)fputs("^C\n", stdout);
    return CC_NEWLINE;
}

static void open_history(struct bt_line_editor *editor)
{
    HistEvent event;
    editor->history = history_init();
    if (!editor->history)
        return;
    (void)history(editor->history, &event, H_SETSIZE, HISTORY_LINES);
    (void)history(editor->history, &event, H_SETUNIQUE, 1); /* a repeated line is stored once */
    (void)history(editor->history, &event, H_LOAD, editor->history_path);
    (void)el_set(editor->edit, EL_HIST, history, editor->history);
}

static enum baton_err open_terminal(struct bt_line_editor *editor, const char *program,
                                    struct baton_why *why)
{
    choose_locale();
    editor->edit = el_init(program, stdin, stdout, stderr);
    if (!editor->edit)
        return baton_fail(why, BATON_NO_MEMORY, "the line editor does not start");
    (void)el_set(editor->edit, EL_CLIENTDATA, editor);
    (void)el_set(editor->edit, EL_PROMPT, prompt_of);
    (void)el_set(editor->edit, EL_EDITOR, "emacs");
    (void)el_set(editor->edit, EL_SIGNAL, 1);
    open_history(editor);
    (void)el_source(editor->edit, NULL);
    /* While a line is edited, Ctrl-C is a key that ends the line, not the program. */
    (void)el_set(editor->edit, EL_SETTY, "-d", "-isig", NULL);
    /* The narrow call would leak copies of the texts. */
    (void)el_wset(editor->edit, EL_ADDFN, L"throw-line-away", L"Throw this line away", throw_away);
    (void)el_set(editor->edit, EL_BIND, "^C", "throw-line-away", NULL);
    return BATON_OK;
}

enum baton_err bt_line_editor_create(const char *program, const char *history,
                                     struct bt_line_editor **made, struct baton_why *why)
{
    struct bt_line_editor *editor = calloc(1, sizeof *editor);
    if (!editor)
        return BATON_NO_MEMORY;
    baton_buf_init(&editor->text, TEXT_MAX_BYTES);
    (void)snprintf(editor->history_path, sizeof editor->history_path, "%s", history);
    enum baton_err err = BATON_OK;
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        err = open_terminal(editor, program, why);
    if (err)
        bt_line_editor_destroy(editor);
    else
        *made = editor;
    return err;
}

static void save_history(struct bt_line_editor *editor)
{
    HistEvent event;
    /* H_SAVE offers no mode, and the history is for its owner alone. */
    mode_t mask = umask(077);
    (void)history(editor->history, &event, H_SAVE, editor->history_path);
    (void)umask(mask);
    history_end(editor->history);
}

void bt_line_editor_destroy(struct bt_line_editor *editor)
{
    if (!editor)
        return;
    if (editor->history)
        save_history(editor);
    if (editor->edit)
        el_end(editor->edit);
    baton_buf_fini(&editor->text);
    free(editor->line);
    free(editor);
}

bool bt_line_editor_is_interactive(const struct bt_line_editor *editor)
{
    return editor->edit != NULL;
}

/* Reads one line with its end; NULL at the end of the input. */
static const char *read_part(struct bt_line_editor *editor)
{
    int n = 0;
    if (editor->edit)
        return el_gets(editor->edit, &n);
    return getline(&editor->line, &editor->line_size, stdin) < 0 ? NULL : editor->line;
}

/* Appends the part without its end. True when the line continues. */
static bool append_part(struct bt_line_editor *editor, const char *part)
{
    size_t n = strcspn(part, "\n");
    bool goes_on = n && part[n - 1] == '\\';
    baton_buf_append(&editor->text, part, n - goes_on);
    if (goes_on)
        baton_buf_putc(&editor->text, '\n');
    return goes_on;
}

const char *bt_line_editor_read(struct bt_line_editor *editor, const char *prompt)
{
    HistEvent event;
    bool goes_on = true;
    baton_buf_reset(&editor->text);
    editor->prompt = prompt;
    editor->thrown_away = false;
    while (goes_on) {
        const char *part = read_part(editor);
        if (editor->thrown_away)
            return "";
        if (!part)
            return editor->text.len ? baton_buf_text(&editor->text) : NULL;
        if (editor->history && *part != '\n')
            (void)history(editor->history, &event, H_ENTER, part);
        goes_on = append_part(editor, part);
        editor->prompt = "... ";
    }
    return baton_buf_text(&editor->text);
}
