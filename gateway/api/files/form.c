#include "gateway/api/files/form.h"

#include <string.h>
#include <strings.h>

enum { MAX_BOUNDARY_BYTES = 70 };

/* The value behind NAME= in a header's value, with or without quotes; empty: none. */
static struct gw_view parameter(struct gw_view value, const char *name, bool *has)
{
    size_t n = strlen(name);
    bool is_quoted = false;
    *has = false;
    for (size_t i = 1; i + n < value.n; i++) {
        is_quoted ^= value.p[i] == '"';
        if (is_quoted || (value.p[i - 1] != ';' && value.p[i - 1] != ' ') ||
            strncasecmp(value.p + i, name, n) != 0 || value.p[i + n] != '=')
            continue;
        struct gw_view rest = {value.p + i + n + 1, value.n - i - n - 1};
        *has = true;
        if (!rest.n || *rest.p != '"')
            return gw_view_trim(gw_view_cut(&rest, ';'));
        rest = (struct gw_view){rest.p + 1, rest.n - 1};
        return gw_view_cut(&rest, '"');
    }
    return (struct gw_view){0};
}

bool gw_form_begin(struct gw_form *form, const char *content_type, struct gw_view body)
{
    struct gw_view value = {content_type, strlen(content_type)}, type = value;
    bool has;
    *form = (struct gw_form){.rest = body};
    form->boundary = parameter(value, "boundary", &has);
    return gw_view_equals_nocase(gw_view_trim(gw_view_cut(&type, ';')), "multipart/form-data") &&
           form->boundary.n && form->boundary.n <= MAX_BOUNDARY_BYTES;
}

/* Cuts off what comes before the next line with the boundary, and that. False: there is none. */
static bool cut_boundary(struct gw_form *form, struct gw_view *before, bool is_first)
{
    char mark[4 + MAX_BOUNDARY_BYTES] = "\r\n--";
    struct gw_view *rest = &form->rest;
    size_t n = 4 + form->boundary.n, skip = is_first ? 2 : 0;
    memcpy(mark + 4, form->boundary.p, form->boundary.n);
    const char *at = rest->n ? memmem(rest->p, rest->n, mark + skip, n - skip) : NULL;
    if (!at || (is_first && at != rest->p))
        return false;
    *before = (struct gw_view){rest->p, (size_t)(at - rest->p)};
    rest->n -= before->n + n - skip;
    rest->p = at + n - skip;
    form->has_ended = rest->n >= 2 && !memcmp(rest->p, "--", 2);
    if (form->has_ended || rest->n < 2 || memcmp(rest->p, "\r\n", 2) != 0)
        return form->has_ended;
    rest->p += 2;
    rest->n -= 2;
    return true;
}

static void read_head(struct gw_view head, struct gw_form_part *part)
{
    bool has;
    while (head.n) {
        const char *end = memmem(head.p, head.n, "\r\n", 2);
        size_t n = end ? (size_t)(end - head.p) : head.n;
        struct gw_view line = {head.p, n}, value = line;
        if (gw_view_equals_nocase(gw_view_trim(gw_view_cut(&value, ':')), "content-disposition")) {
            part->name = parameter(value, "name", &has);
            part->filename = parameter(value, "filename", &part->is_file);
        }
        head.p += end ? n + 2 : n;
        head.n -= end ? n + 2 : n;
    }
}

bool gw_form_next(struct gw_form *form, struct gw_form_part *part)
{
    struct gw_view before, whole;
    bool is_first = form->rest.n >= 2 && !memcmp(form->rest.p, "--", 2);
    *part = (struct gw_form_part){0};
    if (form->has_ended || (is_first && !cut_boundary(form, &before, true)))
        return false;
    if (form->has_ended || !cut_boundary(form, &whole, false))
        return false;
    const char *blank = memmem(whole.p, whole.n, "\r\n\r\n", 4);
    if (!blank)
        return false;
    read_head((struct gw_view){whole.p, (size_t)(blank - whole.p)}, part);
    part->contents = (struct gw_view){blank + 4, whole.n - (size_t)(blank + 4 - whole.p)};
    return true;
}
