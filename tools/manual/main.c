/* baton-manual OUT PROGRAM...: writes OUT/man1, OUT/bash and OUT/zsh for these programs. It belongs
 * to the build, not to an installation. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/array.h"
#include "tools/manual/manual.h"

struct form {
    /* before and after surround the program's name in the file's name */
    const char *folder, *before, *after;
    void (*write)(const struct mn_program *program, FILE *out);
};

static const struct form forms[] = {
    {"man1", "", ".1", mn_write_man},
    {"bash", "", "", mn_write_bash},
    {"zsh", "_", "", mn_write_zsh},
};

static enum baton_err write_form(const struct form *form, const char *out_dir,
                                 const struct mn_program *program, struct baton_why *why)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", out_dir, form->folder) < PATH_MAX)
        (void)mkdir(path, 0777);
    if (snprintf(path, sizeof path, "%s/%s/%s%s%s", out_dir, form->folder, form->before,
                 program->name, form->after) >= PATH_MAX)
        return baton_fail(why, BATON_INVALID, "%s: too long a path", out_dir);
    FILE *out = fopen(path, "we");
    if (!out)
        return baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
    form->write(program, out);
    bool failed = ferror(out) != 0;
    if (fclose(out) || failed)
        return baton_fail(why, BATON_IO, "%s: not all could be written", path);
    return BATON_OK;
}

static enum baton_err write_all(const char *out_dir, const char *path, struct baton_why *why)
{
    struct mn_program program;
    enum baton_err err = mn_program_open(path, &program, why);
    for (size_t i = 0; i < BATON_N_OF(forms) && !err; i++)
        err = write_form(&forms[i], out_dir, &program, why);
    mn_program_close(&program);
    return err;
}

int main(int argc, char **argv)
{
    struct baton_why why = {.text = ""};
    enum baton_err err = BATON_OK;
    if (argc < 3) {
        (void)fprintf(stderr, "usage: %s OUT PROGRAM...\n", argv[0]);
        return 2;
    }
    (void)mkdir(argv[1], 0777);
    for (int i = 2; i < argc && !err; i++)
        err = write_all(argv[1], argv[i], &why);
    if (err)
        (void)fprintf(stderr, "baton-manual: %s\n", *why.text ? why.text : baton_err_text(err));
    return err ? 1 : 0;
}
