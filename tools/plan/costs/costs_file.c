#include "tools/plan/costs/costs_file.h"

#include <string.h>

#include "common/base/os/file.h"

enum { FILE_MAX_BYTES = 1 << 20, MAX_HOST_CORES = 256 };

#define MAX_SECONDS 1e6
#define MAX_SIZE    1e9

/* The position for error messages. */
struct place {
    const char *name, *in; /* the file, and the object's path in it */
    struct baton_why *why;
};

static enum baton_err fail(const struct place *at, const char *field, const char *range)
{
    return baton_fail(at->why, BATON_INVALID, "%s: %s%s: must be %s", at->name, at->in, field,
                      range);
}

/* ---- reading ---- */

static bool is_number(const struct baton_json *value, double min, double max)
{
    enum baton_json_kind kind = baton_json_kind(value);
    double number = baton_json_number(value);
    return (kind == BATON_JSON_INT || kind == BATON_JSON_REAL) && number >= min && number <= max;
}

static enum baton_err read_number(const struct place *at, const struct baton_json *object,
                                  const char *field, double min, double max, double *number)
{
    const struct baton_json *value = baton_json_get(object, field);
    if (!is_number(value, min, max))
        return baton_fail(at->why, BATON_INVALID, "%s: %s%s: must be a number from %g to %g",
                          at->name, at->in, field, min, max);
    *number = baton_json_number(value);
    return BATON_OK;
}

static enum baton_err read_spread(const struct place *at, const struct baton_json *object,
                                  struct sim_spread *spread)
{
    const struct baton_json *array = baton_json_get(object, "spread");
    bool ok = baton_json_size(array) == SIM_N_QUANTILES;
    for (int i = 0; i < SIM_N_QUANTILES && ok; i++) {
        const struct baton_json *value = baton_json_at(array, (size_t)i);
        ok = is_number(value, i ? spread->factor[i - 1] : 0, MAX_SIZE);
        spread->factor[i] = baton_json_number(value);
    }
    return ok ? BATON_OK : fail(at, "spread", "9 quantiles, none below the one before");
}

static enum baton_err read_curve(const struct place *at, const struct baton_json *object,
                                 struct sim_curve *curve)
{
    const struct baton_json *sizes = baton_json_get(object, "at"), *times;
    times = baton_json_get(object, "s");
    size_t n = baton_json_size(sizes);
    bool ok = n >= 1 && n <= SIM_MAX_POINTS && baton_json_size(times) == n;
    curve->n = (int)n;
    for (size_t i = 0; i < n && ok; i++) {
        const struct baton_json *size = baton_json_at(sizes, i), *time = baton_json_at(times, i);
        /* Sizes are whole numbers, so the next one is at least 1 larger. */
        ok = is_number(size, i ? curve->at[i - 1] + 1 : 1, MAX_SIZE) &&
             is_number(time, 1e-9, MAX_SECONDS);
        curve->at[i] = baton_json_number(size);
        curve->s[i] = baton_json_number(time);
    }
    return ok ? BATON_OK
              : fail(at, "at, s",
                     "1 to 16 ascending sizes, and as many times from 1e-9 to 1e6 seconds");
}

static enum baton_err read_stage(const struct place *at, const struct baton_json *object,
                                 struct sim_stage_cost *stage)
{
    enum baton_err err = read_curve(at, object, &stage->curve);
    if (!err)
        err = read_number(at, object, "position_s", 0, MAX_SECONDS, &stage->position_s);
    if (!err)
        err = read_spread(at, object, &stage->spread);
    if (!err)
        err = read_number(at, object, "beside", 1, 1000, &stage->beside);
    return err;
}

static enum baton_err read_entry(const struct place *at, const struct baton_json *object,
                                 struct sim_core_costs *entry)
{
    const struct place pass = {at->name, "cores: pass: ", at->why};
    const struct place step = {at->name, "cores: step: ", at->why};
    double n_cores = 0;
    enum baton_err err = read_number(at, object, "cores", 1, MAX_HOST_CORES, &n_cores);
    if (err)
        return err;
    entry->n_cores = (int)n_cores;
    err = read_stage(&pass, baton_json_get(object, "pass"), &entry->pass);
    return err ? err : read_stage(&step, baton_json_get(object, "step"), &entry->step);
}

static enum baton_err read_entries(const struct place *at, const struct baton_json *root,
                                   struct sim_costs *costs)
{
    const struct place in = {at->name, "cores: ", at->why};
    const struct baton_json *array = baton_json_get(root, "cores");
    size_t n = baton_json_kind(array) == BATON_JSON_ARRAY ? baton_json_size(array) : 0;
    if (!n || n > SIM_MAX_CORES)
        return fail(at, "cores", "an array of 1 to 8 objects");
    for (size_t i = 0; i < n; i++) {
        enum baton_err err = read_entry(&in, baton_json_at(array, i), &costs->cores[i]);
        if (err)
            return err;
        if (i && costs->cores[i].n_cores <= costs->cores[i - 1].n_cores)
            return fail(&in, "cores", "ascending");
        costs->n++;
    }
    return BATON_OK;
}

static enum baton_err read_ways(const struct place *at, const struct baton_json *root,
                                struct sim_costs *costs)
{
    const struct place in_way = {at->name, "way: ", at->why};
    const struct place in_handoff = {at->name, "handoff: ", at->why};
    const struct baton_json *way = baton_json_get(root, "way");
    const struct baton_json *handoff = baton_json_get(root, "handoff");
    enum baton_err err = read_number(&in_way, way, "before_s", 0, MAX_SECONDS, &costs->before_s);
    if (!err)
        err = read_number(&in_way, way, "after_s", 0, MAX_SECONDS, &costs->after_s);
    if (!err)
        err = read_spread(&in_way, way, &costs->way);
    if (!err)
        err = read_number(&in_handoff, handoff, "fixed_s", 0, MAX_SECONDS, &costs->handoff_s);
    if (!err)
        err = read_number(&in_handoff, handoff, "token_s", 0, MAX_SECONDS, &costs->handoff_token_s);
    return err;
}

/* Reads the chunk, which older files lack. */
static enum baton_err read_chunk(const struct place *at, const struct baton_json *root, int *chunk)
{
    double number = 0;
    if (!baton_json_get(root, "chunk"))
        return BATON_OK;
    enum baton_err err = read_number(at, root, "chunk", 0, 1 << 16, &number);
    *chunk = (int)number;
    return err;
}

/* Reads a context's state, which files of models without states lack. */
static enum baton_err read_state(const struct place *at, const struct baton_json *root,
                                 struct sim_costs *costs)
{
    return baton_json_get(root, "state_bytes")
               ? read_number(at, root, "state_bytes", 0, MAX_SIZE, &costs->state_bytes)
               : BATON_OK;
}

/* Reads the window, which files of models without windows lack. */
static enum baton_err read_window(const struct place *at, const struct baton_json *root,
                                  struct sim_window *window)
{
    const struct place in = {at->name, "window: ", at->why};
    const struct baton_json *object = baton_json_get(root, "window");
    if (!object)
        return BATON_OK;
    enum baton_err err = read_number(&in, object, "tokens", 1, MAX_SIZE, &window->n_tokens);
    return err ? err : read_number(&in, object, "share", 0, 1, &window->share);
}

static enum baton_err read_costs(const struct place *at, const struct baton_json *root,
                                 struct sim_costs *costs)
{
    const char *model = baton_json_string(baton_json_get(root, "model"), NULL);
    double version = 0, n_layers = 0;
    enum baton_err err = read_number(at, root, "baton_calibration", 1, 1, &version);
    if (!err && (!model || strlen(model) >= sizeof costs->model))
        err = fail(at, "model", "a string of at most 127 bytes");
    if (err)
        return err;
    memcpy(costs->model, model, strlen(model));
    err = read_number(at, root, "kv_token_bytes", 0, MAX_SIZE, &costs->kv_token_bytes);
    if (!err)
        err = read_state(at, root, costs);
    if (!err)
        err = read_number(at, root, "layers", 0, 65536, &n_layers);
    if (err)
        return err;
    costs->n_layers = (int)n_layers;
    err = read_chunk(at, root, &costs->chunk);
    if (!err)
        err = read_window(at, root, &costs->window);
    if (!err)
        err = read_ways(at, root, costs);
    return err ? err : read_entries(at, root, costs);
}

enum baton_err sim_costs_file_parse(const char *name, const char *text, size_t n,
                                    struct sim_costs *costs, struct baton_why *why)
{
    const struct place at = {name, "", why};
    struct sim_costs read = {.n = 0};
    struct baton_json *root = NULL;
    struct baton_why problem = {""};
    enum baton_err err = baton_json_parse(text, n, &root, &problem);
    if (err)
        return baton_fail(why, err, "%s: %.200s", name, problem.text);
    err = read_costs(&at, root, &read);
    baton_json_free(root);
    if (!err)
        *costs = read;
    return err;
}

enum baton_err sim_costs_file_read(const char *path, struct sim_costs *costs, struct baton_why *why)
{
    struct baton_buf text;
    baton_buf_init(&text, FILE_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &text, why);
    if (!err)
        err = sim_costs_file_parse(path, baton_buf_text(&text), text.len, costs, why);
    baton_buf_fini(&text);
    return err;
}

/* ---- writing ---- */

static void put_numbers(const char *key, const double *numbers, int n, struct baton_json_out *out)
{
    baton_json_open(out, key, '[');
    for (int i = 0; i < n; i++)
        baton_json_put_real(out, NULL, numbers[i]);
    baton_json_close(out, ']');
}

static void put_stage(const char *key, const struct sim_stage_cost *stage,
                      struct baton_json_out *out)
{
    baton_json_open(out, key, '{');
    put_numbers("at", stage->curve.at, stage->curve.n, out);
    put_numbers("s", stage->curve.s, stage->curve.n, out);
    baton_json_put_real(out, "position_s", stage->position_s);
    put_numbers("spread", stage->spread.factor, SIM_N_QUANTILES, out);
    baton_json_put_real(out, "beside", stage->beside);
    baton_json_close(out, '}');
}

static void put_ways(const struct sim_costs *costs, struct baton_json_out *out)
{
    baton_json_open(out, "way", '{');
    baton_json_put_real(out, "before_s", costs->before_s);
    baton_json_put_real(out, "after_s", costs->after_s);
    put_numbers("spread", costs->way.factor, SIM_N_QUANTILES, out);
    baton_json_close(out, '}');
    baton_json_open(out, "handoff", '{');
    baton_json_put_real(out, "fixed_s", costs->handoff_s);
    baton_json_put_real(out, "token_s", costs->handoff_token_s);
    baton_json_close(out, '}');
}

void sim_costs_file_put(const struct sim_costs *costs, const char *key, struct baton_json_out *out)
{
    baton_json_open(out, key, '{');
    baton_json_put_int(out, "baton_calibration", 1);
    baton_json_put_string(out, "model", costs->model);
    baton_json_put_real(out, "kv_token_bytes", costs->kv_token_bytes);
    if (costs->state_bytes > 0)
        baton_json_put_real(out, "state_bytes", costs->state_bytes);
    baton_json_put_int(out, "layers", costs->n_layers);
    baton_json_put_int(out, "chunk", costs->chunk);
    if (costs->window.share > 0) {
        baton_json_open(out, "window", '{');
        baton_json_put_real(out, "tokens", costs->window.n_tokens);
        baton_json_put_real(out, "share", costs->window.share);
        baton_json_close(out, '}');
    }
    put_ways(costs, out);
    baton_json_open(out, "cores", '[');
    for (int i = 0; i < costs->n; i++) {
        baton_json_open(out, NULL, '{');
        baton_json_put_int(out, "cores", costs->cores[i].n_cores);
        put_stage("pass", &costs->cores[i].pass, out);
        put_stage("step", &costs->cores[i].step, out);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

struct sim_core_costs *sim_costs_file_entry(struct sim_costs *costs, int n_cores)
{
    int i = 0;
    while (i < costs->n && costs->cores[i].n_cores < n_cores)
        i++;
    if (i < costs->n && costs->cores[i].n_cores == n_cores)
        return &costs->cores[i];
    if (costs->n == SIM_MAX_CORES)
        return NULL;
    memmove(&costs->cores[i + 1], &costs->cores[i],
            (size_t)(costs->n++ - i) * sizeof costs->cores[0]);
    costs->cores[i] = (struct sim_core_costs){.n_cores = n_cores};
    return &costs->cores[i];
}
