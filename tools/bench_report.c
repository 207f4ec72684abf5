/*
 * bench_report.c: the results of a benchmark as a table and as JSON.
 */
#include "bench.h"

#include "report.h"

#include <math.h>
#include <string.h>

void bench_find_shares(struct bench *bench)
{
    double peak = bench->is_float64 ? bench->machine.peak64 : bench->machine.peak32;
    double memory = machine_memory_seconds(&bench->machine, (double)bench->cost.bytes_read,
                                           (double)bench->cost.bytes_written);
    for (int k = 0; k < bench->row_count; k++) {
        struct bench_row *row = &bench->rows[k];
        row->bandwidth_share = memory / row->seconds.median;
        row->compute_share = peak > 0 ? (double)bench->cost.flops / peak / row->seconds.median : 0;
    }
}

void bench_format_seconds(char *text, size_t size, double seconds)
{
    if (seconds < 1e-6)
        snprintf(text, size, "%.1f ns", seconds * 1e9);
    else if (seconds < 1e-3)
        snprintf(text, size, "%.2f us", seconds * 1e6);
    else if (seconds < 1)
        snprintf(text, size, "%.3f ms", seconds * 1e3);
    else
        snprintf(text, size, "%.3f s", seconds);
}

void bench_format_amount(char *text, size_t size, double amount, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    int step = 0;
    while (amount >= 1000 && step < 4) {
        amount /= 1000;
        step++;
    }
    snprintf(text, size, amount >= 100 || amount == floor(amount) ? "%.0f %s%s" : "%.3g %s%s", amount,
             prefixes[step], unit);
}

static void print_cost(const struct bench *bench)
{
    char read[32], written[32], flops[32];
    bench_format_amount(read, sizeof read, (double)bench->cost.bytes_read, "B");
    bench_format_amount(written, sizeof written, (double)bench->cost.bytes_written, "B");
    bench_format_amount(flops, sizeof flops, (double)bench->cost.flops, "flop");
    printf("%s: reads %s, writes %s, computes %s%s\n", bench->kernel, read, written, flops,
           bench->cost.exact ? "" : " (at most: some of it hangs on data)");
}

static void print_row(const struct bench *bench, const struct bench_row *row)
{
    char name[80], median[32], low[32], high[32], bytes[32], flops[32];
    double seconds = row->seconds.median;
    snprintf(name, sizeof name, "%s%s%s", row->tier, row->compiler ? " " : "",
             row->compiler ? row->compiler : "");
    bench_format_seconds(median, sizeof median, seconds);
    bench_format_seconds(low, sizeof low, row->seconds.low);
    bench_format_seconds(high, sizeof high, row->seconds.high);
    bench_format_amount(bytes, sizeof bytes,
                        (double)(bench->cost.bytes_read + bench->cost.bytes_written) / seconds, "B/s");
    bench_format_amount(flops, sizeof flops, (double)bench->cost.flops / seconds, "flop/s");
    printf("  %-14s %11s  (%s to %s)  %10s %4.0f%%  %12s", name, median, low, high, bytes,
           100 * row->bandwidth_share, flops);
    if (bench->machine.peak32 > 0)
        printf(" %4.0f%%", 100 * row->compute_share);
    putchar('\n');
}

static void print_ratios(const struct bench *bench)
{
    for (int k = 1; k < bench->row_count; k++) {
        const struct bench_row *first = &bench->rows[0], *row = &bench->rows[k];
        printf("  %s%s%s / %s: %.2f%s\n", row->tier, row->compiler ? " " : "",
               row->compiler ? row->compiler : "", first->tier, row->seconds.median / first->seconds.median,
               statistics_differ(&first->seconds, &row->seconds) ? "" : " (no significant difference)");
    }
    if (bench->optimised == BENCH_NOT_BETTER)
        printf("  optimised: the code of the instant tier was kept\n");
    for (int k = 0; k < bench->refused_count; k++)
        printf("  %s\n", bench->refused[k]);
    if (bench->difference > 1e-3)
        printf("  their results differ by up to %.1g\n", bench->difference);
}

void bench_print_table(const struct bench *bench)
{
    char text[32];
    print_cost(bench);
    for (int k = 0; k < bench->row_count; k++)
        print_row(bench, &bench->rows[k]);
    print_ratios(bench);
    if (bench->machine.peak32 <= 0) {
        bench_format_amount(text, sizeof text, bench->machine.triad, "B/s");
        printf("  100%% is a copy of as many bytes on %s: %s\n", bench->machine.cpu, text);
    }
    printf("  compile:");
    for (int k = 0; k < bench->stage_count; k++) {
        bench_format_seconds(text, sizeof text, bench->stages[k].seconds);
        printf("%s %s %s", k ? "," : "", bench->stages[k].name, text);
    }
    for (int k = 0; k < bench->row_count; k++)
        if (bench->rows[k].compiler) {
            bench_format_seconds(text, sizeof text, bench->rows[k].compile_seconds);
            printf(", %s %s", bench->rows[k].compiler, text);
        }
    putchar('\n');
}

static void print_row_json(const struct bench *bench, const struct bench_row *row, FILE *stream)
{
    fprintf(stream, "{\"kernel\": ");
    report_json_string(stream, bench->kernel);
    fprintf(
        stream,
        ", \"tier\": \"%s\", \"threads\": %d, \"median_ns\": %.6g, \"ci_ns\": [%.6g, %.6g], \"bytes\": %lld, "
        "\"flops\": %lld, \"bandwidth_share\": %.4g, \"compute_share\": %.4g, \"compile_us\": %.6g",
        row->tier, bench->machine.threads, row->seconds.median * 1e9, row->seconds.low * 1e9,
        row->seconds.high * 1e9, (long long)(bench->cost.bytes_read + bench->cost.bytes_written),
        (long long)bench->cost.flops, row->bandwidth_share, row->compute_share, row->compile_seconds * 1e6);
    if (row->compiler) {
        fprintf(stream, ", \"compiler\": ");
        report_json_string(stream, row->compiler);
    }
    fputc('}', stream);
}

void bench_print_json(const struct bench *bench, FILE *stream)
{
    bool first = true;
    fprintf(stream, "{\"rows\": [");
    for (int k = 0; k < bench->row_count; k++) {
        fprintf(stream, "%s\n  ", k ? "," : "");
        print_row_json(bench, &bench->rows[k], stream);
    }
    fprintf(stream, "\n], \"machine\": ");
    machine_print_json(&bench->machine, stream);
    fprintf(stream, ", \"compilers\": ["); /* of the rows of the tier cc, in their order */
    for (int k = 0; k < bench->row_count; k++)
        if (bench->rows[k].compiler) {
            fprintf(stream, first ? "" : ", ");
            report_json_string(stream, bench->rows[k].compiler);
            first = false;
        }
    fprintf(stream, "]}}\n");
}
