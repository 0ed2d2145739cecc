#include "common/base/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/array.h"

static const struct {
    const char *name, *text;
} errors[] = {
#define X(name, text) {#name, text},
    BATON_ERRORS(X)
#undef X
};

static int known(enum baton_err err)
{
    return (size_t)err < BATON_N_OF(errors);
}

const char *baton_err_name(enum baton_err err)
{
    return known(err) ? errors[err].name : "?";
}

const char *baton_err_text(enum baton_err err)
{
    return known(err) ? errors[err].text : "unknown error";
}

enum baton_err baton_fail(struct baton_why *why, enum baton_err err, const char *fmt, ...)
{
    if (why) {
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(why->text, sizeof why->text, fmt, args);
        va_end(args);
    }
    return err;
}
