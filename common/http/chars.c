#include "common/http/chars.h"

#include <string.h>

bool baton_http_is_token_char(char c)
{
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return true;
    return c && strchr("!#$%&'*+-.^_`|~", c);
}

bool baton_http_is_field_char(char c)
{
    unsigned char byte = (unsigned char)c;
    return byte == '\t' || (byte >= ' ' && byte != 0x7f);
}

int baton_http_hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}
