#include "tools/load/workload/number.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

enum { NUMBER_MAX_BYTES = 32 };

bool ld_take_char(const char **p, char c)
{
    if (**p != c)
        return false;
    (*p)++;
    return true;
}

bool ld_take_int(const char **p, int64_t *value)
{
    const char *at = *p;
    int64_t number = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *at - '0', &number))
            return false;
    if (at == *p)
        return false;
    *value = number;
    *p = at;
    return true;
}

/* strtod alone would also accept "inf", "0x1p3" and spaces. */
bool ld_take_real(const char **p, double *value)
{
    char text[NUMBER_MAX_BYTES];
    size_t n = strspn(*p, "0123456789.");
    if (!n || n >= sizeof text)
        return false;
    memcpy(text, *p, n);
    text[n] = 0;
    char *end;
    double number = strtod(text, &end);
    if (*end || end == text)
        return false;
    *value = number;
    *p += n;
    return true;
}

bool ld_take_seconds(const char **p, double *seconds)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"us", 1e-6}, {"s", 1}};
    const char *at = *p;
    double value;
    if (!ld_take_real(&at, &value))
        return false;
    for (size_t i = 0; i < BATON_N_OF(units); i++) {
        size_t n = strlen(units[i].name);
        if (strncmp(at, units[i].name, n) != 0)
            continue;
        value *= units[i].seconds;
        at += n;
        break;
    }
    *seconds = value;
    *p = at;
    return true;
}
