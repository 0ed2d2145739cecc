/* The tests of the operator "is". */
#include <string.h>
#include <utf8proc.h>

#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

#define TEST(name, expression)                                                                     \
    static struct jinja_value is_##name(struct jinja_run *run, struct jinja_value self,            \
                                        const struct jinja_args *args)                             \
    {                                                                                              \
        (void)run;                                                                                 \
        (void)args;                                                                                \
        return jinja_bool(expression);                                                             \
    }

/* True when there are letters, all of one case. */
static bool has_case(struct jinja_run *run, struct jinja_value value, bool upper)
{
    const struct jinja_string *string = jinja_str(run, value);
    bool found = false;
    for (size_t at = 0; at < string->n && jinja_step(run, 1);
         at += jinja_char_bytes(string->bytes + at, string->n - at)) {
        int32_t c = (int32_t)jinja_code_point(string->bytes + at, string->n - at);
        bool is_lower = utf8proc_toupper(c) != c, is_upper = utf8proc_tolower(c) != c;
        if (upper ? is_lower : is_upper)
            return false;
        found |= is_lower || is_upper;
    }
    return found;
}

static struct jinja_value rest(struct jinja_run *run, struct jinja_value self, int64_t by)
{
    return jinja_binary(run, '%', self, jinja_int(by));
}

static bool is_zero(struct jinja_value value)
{
    return jinja_is_number(value) && jinja_as_real(value) == 0;
}

static bool is_one(struct jinja_value value)
{
    return jinja_is_number(value) && jinja_as_real(value) == 1;
}

TEST(defined, self.kind != JINJA_UNDEFINED)
TEST(undefined, self.kind == JINJA_UNDEFINED)
TEST(none, self.kind == JINJA_NONE)
TEST(boolean, self.kind == JINJA_BOOL)
TEST(true, self.kind == JINJA_BOOL && self.boolean)
TEST(false, self.kind == JINJA_BOOL && !self.boolean)
TEST(integer, self.kind == JINJA_INT)
TEST(float, self.kind == JINJA_FLOAT)
TEST(number, jinja_is_number(self))
TEST(string, self.kind == JINJA_STRING)
TEST(mapping, self.kind == JINJA_DICT)
TEST(iterable, self.kind == JINJA_UNDEFINED || self.kind == JINJA_STRING ||
                   self.kind == JINJA_DICT || self.kind == JINJA_ITERATOR ||
                   jinja_is_listed(self) || self.kind == JINJA_LOOP)
TEST(sequence, self.kind == JINJA_UNDEFINED || self.kind == JINJA_STRING ||
                   self.kind == JINJA_DICT || (jinja_is_listed(self) && self.kind != JINJA_VIEW))
TEST(callable, self.kind == JINJA_FUNCTION || self.kind == JINJA_UNDEFINED)
TEST(lower, has_case(run, self, false))
TEST(upper, has_case(run, self, true))
TEST(even, is_zero(rest(run, self, 2)))
TEST(odd, is_one(rest(run, self, 2)))
TEST(divisibleby, is_zero(jinja_binary(run, '%', self, args->items[0])))
TEST(escaped, self.kind == JINJA_STRING && self.string->safe)
TEST(in, jinja_contains(run, args->items[0], self))
TEST(eq, jinja_equal(run, self, args->items[0]))
TEST(ne, !jinja_equal(run, self, args->items[0]))
TEST(lt, jinja_compare_op(run, '<', self, args->items[0]))
TEST(le, jinja_compare_op(run, JINJA_OP('<', '='), self, args->items[0]))
TEST(gt, jinja_compare_op(run, '>', self, args->items[0]))
TEST(ge, jinja_compare_op(run, JINJA_OP('>', '='), self, args->items[0]))
TEST(filter, self.kind == JINJA_STRING && jinja_find_filter(self.string))
TEST(test, self.kind == JINJA_STRING && jinja_find_builtin(jinja_tests, self.string))

static struct jinja_value is_sameas(struct jinja_run *run, struct jinja_value self,
                                    const struct jinja_args *args)
{
    struct jinja_value other = args->items[0];
    if (self.kind != other.kind)
        return jinja_bool(false);
    if (self.kind <= JINJA_FLOAT)
        return jinja_bool(jinja_equal(run, self, other));
    /* Containers and texts are the same when they are one object; all pointers share a union. */
    return jinja_bool(self.list == other.list);
}

const struct jinja_builtin jinja_tests[] = {
    {"defined", "", 0, is_defined},
    {"undefined", "", 0, is_undefined},
    {"none", "", 0, is_none},
    {"boolean", "", 0, is_boolean},
    {"true", "", 0, is_true},
    {"false", "", 0, is_false},
    {"integer", "", 0, is_integer},
    {"float", "", 0, is_float},
    {"number", "", 0, is_number},
    {"string", "", 0, is_string},
    {"mapping", "", 0, is_mapping},
    {"iterable", "", 0, is_iterable},
    {"sequence", "", 0, is_sequence},
    {"callable", "", 0, is_callable},
    {"lower", "", 0, is_lower},
    {"upper", "", 0, is_upper},
    {"even", "", 0, is_even},
    {"odd", "", 0, is_odd},
    {"divisibleby", "num", 1, is_divisibleby},
    {"escaped", "", 0, is_escaped},
    {"in", "seq", 1, is_in},
    {"eq", "b", 1, is_eq},
    {"==", "b", 1, is_eq},
    {"equalto", "b", 1, is_eq},
    {"ne", "b", 1, is_ne},
    {"!=", "b", 1, is_ne},
    {"lt", "b", 1, is_lt},
    {"<", "b", 1, is_lt},
    {"lessthan", "b", 1, is_lt},
    {"le", "b", 1, is_le},
    {"<=", "b", 1, is_le},
    {"gt", "b", 1, is_gt},
    {">", "b", 1, is_gt},
    {"greaterthan", "b", 1, is_gt},
    {"ge", "b", 1, is_ge},
    {">=", "b", 1, is_ge},
    {"sameas", "other", 1, is_sameas},
    {"filter", "", 0, is_filter},
    {"test", "", 0, is_test},
    {NULL, NULL, 0, NULL},
};
