#include <inttypes.h>
#include <math.h>

#include "common/base/clock.h"
#include "tools/load/report/report.h"

/* Writes a field that may hold a comma or a quote, in quotes. A line break becomes a space. */
static void put_text(const char *text, FILE *to)
{
    (void)fputc('"', to);
    for (; *text; text++) {
        if (*text == '"')
            (void)fputc('"', to);
        (void)fputc(*text == '\n' || *text == '\r' ? ' ' : *text, to);
    }
    (void)fputc('"', to);
}

static void put_seconds(double seconds, FILE *to)
{
    if (isnan(seconds))
        (void)fputc(',', to);
    else
        (void)fprintf(to, ",%.6f", seconds);
}

static void put_count(int64_t count, FILE *to)
{
    if (count < 0)
        (void)fputc(',', to);
    else
        (void)fprintf(to, ",%" PRId64, count);
}

static double reported(double seconds)
{
    return seconds >= 0 ? seconds : NAN;
}

void ld_report_csv_head(FILE *to)
{
    (void)fputs("run,concurrency,group,index,start_s,sent_s,ttft_s,e2el_s,end_s,tpot_s,max_gap_s,"
                "prompt_tokens,output_tokens,events,cached_tokens,server_ttft_s,server_e2el_s,"
                "outcome,status,failure,finish,attempts,refused,slow,prefix,good\n",
                to);
}

static void put_record(const struct ld_run *run, const struct ld_record *record,
                       const struct ld_slo *slo, FILE *to)
{
    const struct ld_server_view *server = &record->server;
    (void)fprintf(to, "%d,%d,%s,%" PRIu64, run->number, run->concurrency, record->group,
                  record->plan.index);
    put_seconds(baton_seconds(record->start_ns - run->began_ns), to);
    put_seconds(baton_seconds(record->sent_ns - run->began_ns), to);
    put_seconds(ld_record_ttft_s(record), to);
    put_seconds(ld_record_e2el_s(record), to);
    put_seconds(baton_seconds(record->end_ns - run->began_ns), to);
    put_seconds(ld_record_tpot_s(record), to);
    put_seconds(ld_record_max_gap_s(record), to);
    put_count(ld_record_prompt_tokens(record), to);
    put_count(ld_record_output_tokens(record), to);
    put_count(record->n_arrivals, to);
    put_count(server->cached_tokens, to);
    put_seconds(reported(server->ttft_s), to);
    put_seconds(reported(server->e2el_s), to);
    (void)fprintf(to, ",%s,%d,", ld_outcome_name(record->outcome), record->status);
    put_text(record->outcome == LD_FAILED ? record->failure : "", to);
    (void)fputc(',', to);
    put_text(server->finish, to);
    (void)fprintf(to, ",%d,%d,%d", record->n_attempts, record->n_refused, record->plan.slow);
    put_count(record->plan.prefix, to);
    (void)fprintf(to, ",%d\n", ld_is_good(record, slo));
}

void ld_report_csv(const struct ld_command *command, const struct ld_run *run, FILE *to)
{
    for (size_t i = 0; i < run->records.n; i++)
        put_record(run, run->records.items[i], &command->slo, to);
}

void ld_report_itl_head(FILE *to)
{
    (void)fputs("run,group,request,event,token,time_s,gap_s\n", to);
}

void ld_report_itl(const struct ld_run *run, FILE *to)
{
    for (size_t i = 0; i < run->records.n; i++) {
        const struct ld_record *record = run->records.items[i];
        const int64_t *arrivals_ns = record->arrivals_ns;
        (void)fprintf(to, "%d,%s,%" PRIu64 ",start,,%.6f,\n", run->number, record->group,
                      record->plan.index, baton_seconds(record->start_ns - run->began_ns));
        for (int64_t k = 0; k < record->n_arrivals; k++) {
            (void)fprintf(to, "%d,%s,%" PRIu64 ",token,%" PRId64 ",%.6f", run->number,
                          record->group, record->plan.index, k,
                          baton_seconds(arrivals_ns[k] - run->began_ns));
            put_seconds(k ? baton_seconds(arrivals_ns[k] - arrivals_ns[k - 1]) : NAN, to);
            (void)fputc('\n', to);
        }
    }
}
