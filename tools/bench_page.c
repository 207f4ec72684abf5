/*
 * bench_page.c: the results of a benchmark as one HTML page that needs nothing else: the table, and a
 * roofline: speed over operations per byte, both on logarithmic axes, under what memory and arithmetic allow.
 */
#include "bench.h"

#include <math.h>

enum { WIDTH = 640, HEIGHT = 380, LEFT = 70, RIGHT = 20, TOP = 20, BOTTOM = 50 };

/* The part of the plane that is shown, in powers of ten. */
struct plot {
    double low_x, high_x, low_y, high_y;
    double roof, bandwidth; /* operations and bytes per second */
    FILE *stream;
};

static double place_x(const struct plot *plot, double x)
{
    double part = (log10(x) - plot->low_x) / (plot->high_x - plot->low_x);
    return LEFT + fmin(fmax(part, 0), 1) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const struct plot *plot, double y)
{
    double part = (log10(y) - plot->low_y) / (plot->high_y - plot->low_y);
    return HEIGHT - BOTTOM - fmin(fmax(part, 0), 1) * (HEIGHT - TOP - BOTTOM);
}

static void print_escaped(const char *text, FILE *stream)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", stream);
        else if (*text == '&')
            fputs("&amp;", stream);
        else if (*text == '"')
            fputs("&quot;", stream);
        else
            fputc(*text, stream);
    }
}

/* ---- the roofline ------------------------------------------------------------------ */

static void print_grid(const struct plot *plot)
{
    char text[32];
    for (double power = plot->low_x; power <= plot->high_x; power++) {
        double x = place_x(plot, pow(10, power));
        fprintf(plot->stream,
                "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                x, TOP, x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 18, pow(10, power));
    }
    for (double power = plot->low_y; power <= plot->high_y; power++) {
        double y = place_y(plot, pow(10, power));
        bench_format_amount(text, sizeof text, pow(10, power), "flop/s");
        fprintf(plot->stream,
                "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                LEFT, y, WIDTH - RIGHT, y, LEFT - 4, y + 4, text);
    }
    fprintf(plot->stream, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">operations per byte</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10);
}

static void print_roof(const struct plot *plot)
{
    double ridge = plot->roof / plot->bandwidth, low = pow(10, plot->low_x), high = pow(10, plot->high_x);
    fprintf(plot->stream, "<polyline class=\"roof\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>\n",
            place_x(plot, low), place_y(plot, low * plot->bandwidth), place_x(plot, ridge),
            place_y(plot, plot->roof), place_x(plot, high), place_y(plot, plot->roof));
}

static void print_points(const struct plot *plot, const struct bench *bench, double intensity)
{
    for (int k = 0; k < bench->row_count; k++) {
        const struct bench_row *row = &bench->rows[k];
        double x = place_x(plot, intensity);
        double y = place_y(plot, (double)bench->cost.flops / row->seconds.median);
        fprintf(plot->stream,
                "<circle class=\"point%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/><text x=\"%.1f\" y=\"%.1f\">", k,
                x, y, x + 8, y + 4 + 12 * k);
        print_escaped(row->compiler ? row->compiler : row->tier, plot->stream);
        fprintf(plot->stream, "</text>\n");
    }
}

static void print_roofline(const struct bench *bench, FILE *stream)
{
    double bytes = (double)(bench->cost.bytes_read + bench->cost.bytes_written);
    if (bench->cost.flops == 0 || bytes == 0) {
        fprintf(stream, "<p>It has no operation on floats, so there is no roofline to show.</p>\n");
        return;
    }
    double intensity = (double)bench->cost.flops / bytes;
    struct plot plot = {.roof = bench->is_float64 ? bench->machine.peak64 : bench->machine.peak32,
                        .bandwidth = bench->machine.triad,
                        .stream = stream};
    plot.low_x = floor(fmin(log10(intensity), -2));
    plot.high_x = ceil(fmax(log10(intensity), 3));
    plot.high_y = ceil(log10(plot.roof));
    plot.low_y = plot.high_y - 5;
    fprintf(stream, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", WIDTH, HEIGHT,
            WIDTH, HEIGHT);
    print_grid(&plot);
    print_roof(&plot);
    print_points(&plot, bench, intensity);
    fprintf(stream, "</svg>\n");
}

/* ---- the page ------------------------------------------------------------------------- */

static void print_head(const struct bench *bench, FILE *stream)
{
    fprintf(stream, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    print_escaped(bench->kernel, stream);
    fprintf(
        stream,
        "</title>\n<style>\n"
        "body { font: 15px/1.5 sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em; }\n"
        "table { border-collapse: collapse; }\n"
        "td, th { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ccc; }\n"
        "td:first-child, th:first-child { text-align: left; }\n"
        "svg text { font-size: 12px; }\n"
        ".grid { stroke: #ddd; }\n"
        ".roof { fill: none; stroke: #333; stroke-width: 2; }\n"
        ".point0 { fill: #c33; } .point1 { fill: #36c; } .point2 { fill: #393; } .point3 { fill: #939; }\n"
        "</style>\n</head>\n<body>\n<h1>");
    print_escaped(bench->kernel, stream);
    fprintf(stream, "</h1>\n");
}

static void print_machine(const struct bench *bench, FILE *stream)
{
    char read[32], triad[32], peak32[32], peak64[32];
    const struct machine *machine = &bench->machine;
    bench_format_amount(read, sizeof read, machine->read, "B/s");
    bench_format_amount(triad, sizeof triad, machine->triad, "B/s");
    bench_format_amount(peak32, sizeof peak32, machine->peak32, "flop/s");
    bench_format_amount(peak64, sizeof peak64, machine->peak64, "flop/s");
    fprintf(stream, "<p>");
    print_escaped(machine->cpu, stream);
    fprintf(
        stream,
        ", %d of %d processors, vectors of %s. Measured: reading %s, triad %s, multiply-add %s (float32), %s "
        "(float64).</p>\n",
        machine->threads, machine->processors, machine->vectors, read, triad, peak32, peak64);
}

static void print_table_row(const struct bench *bench, const struct bench_row *row, FILE *stream)
{
    char median[32], low[32], high[32], compile[32];
    bench_format_seconds(median, sizeof median, row->seconds.median);
    bench_format_seconds(low, sizeof low, row->seconds.low);
    bench_format_seconds(high, sizeof high, row->seconds.high);
    bench_format_seconds(compile, sizeof compile, row->compile_seconds);
    fprintf(stream, "<tr><td>%s ", row->tier);
    print_escaped(row->compiler ? row->compiler : "", stream);
    fprintf(stream,
            "</td><td>%s</td><td>%s to %s</td><td>%.0f%%</td><td>%.0f%%</td><td>%s</td><td>%.2f</td></tr>\n",
            median, low, high, 100 * row->bandwidth_share, 100 * row->compute_share, compile,
            row->seconds.median / bench->rows[0].seconds.median);
}

void bench_print_page(const struct bench *bench, FILE *stream)
{
    char read[32], written[32], flops[32];
    bench_format_amount(read, sizeof read, (double)bench->cost.bytes_read, "B");
    bench_format_amount(written, sizeof written, (double)bench->cost.bytes_written, "B");
    bench_format_amount(flops, sizeof flops, (double)bench->cost.flops, "operations");
    print_head(bench, stream);
    fprintf(stream, "<p>");
    print_escaped(bench->file, stream);
    fprintf(stream, ": one call reads %s, writes %s and does %s on floats%s.</p>\n", read, written, flops,
            bench->cost.exact ? "" : ", at most");
    print_machine(bench, stream);
    fprintf(stream, "<table>\n<tr><th></th><th>median</th><th>95%% interval</th><th>of bandwidth</th>"
                    "<th>of peak</th><th>compile</th><th>ratio</th></tr>\n");
    for (int k = 0; k < bench->row_count; k++)
        print_table_row(bench, &bench->rows[k], stream);
    fprintf(stream, "</table>\n<h2>Roofline</h2>\n");
    print_roofline(bench, stream);
    fprintf(stream, "<h2>Compile time</h2>\n<table>\n");
    for (int k = 0; k < bench->stage_count; k++) {
        char text[32];
        bench_format_seconds(text, sizeof text, bench->stages[k].seconds);
        fprintf(stream, "<tr><td>%s</td><td>%s</td></tr>\n", bench->stages[k].name, text);
    }
    fprintf(stream, "</table>\n</body>\n</html>\n");
}
