/* The files of an item and the page of all: written under temporary names, renamed when they
 * are whole, ID.html in parts/ last: an item is there if that is, and its first and last
 * lines say for which version, seed and form.                                          */
#ifndef REPRODUCE_FILES_H
#define REPRODUCE_FILES_H

#include "reproduce_frame.h"

#include <sys/stat.h>

enum { PAGE_LINES = 40 };       /* of the numbers that the page shows          */

static const char *const COLOUR[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00",
                                      "#56b4e9", "#000000", "#999999", "#7a4fbf", "#8c564b",
                                      "#2f4f4f" };
enum { NCOLOUR = sizeof COLOUR / sizeof COLOUR[0] };

typedef struct path { char text[700]; } path;

TOOL_FN path path_of(const frame *f, const char *directory, const char *id, const char *suffix)
{
    path p;
    put_text(p.text, sizeof p.text, "%s/%s%s%s", f->out, directory, id, suffix);
    return p;
}

TOOL_FN FILE *open_part(const path *p)
{
    char part[720];
    FILE *f;
    put_text(part, sizeof part, "%s.part", p->text);
    f = fopen(part, "w");
    if (!f) failed("cannot write \"%s\": %s", part, strerror(errno));
    return f;
}

TOOL_FN void close_part(FILE *f, const path *p)
{
    char part[720];
    put_text(part, sizeof part, "%s.part", p->text);
    close_written(f, part);
    if (rename(part, p->text)) failed("cannot write \"%s\": %s", p->text, strerror(errno));
}

/* ---- numbers: CSV and JSON ------------------------------------------------------------- */

TOOL_FN void csv_number(FILE *f, double x)
{
    char buf[40];
    putc(',', f);
    if (x > 1.7e308) fputs("inf", f);
    else if (x > -1.7e308) fputs(exact_text(x + 0.0, buf, sizeof buf), f);
}

TOOL_FN void csv_name(FILE *f, const char *name)
{
    putc('"', f);
    for (; *name; name++) {
        if (*name == '"') putc('"', f);
        putc(*name, f);
    }
    putc('"', f);
}

/* At most `most` lines; how many there are. */
TOOL_FN size_t write_csv(FILE *f, const report *r, size_t most)
{
    size_t lines = 0;
    fputs("series,x,y,lower,upper,sigma,bands,error,samples,seconds\n", f);
    for (size_t i = 0; i < r->nline; i++) {
        for (size_t j = 0; j < r->line[i].n; j++) {
            const point *p = &r->line[i].p[j];
            double v[] = { p->x, p->y, p->lower, p->upper, p->sigma, p->bands, p->error,
                           p->samples, NONE };
            if (lines++ >= most) continue;
            csv_name(f, r->line[i].name);
            for (size_t k = 0; k < sizeof v / sizeof v[0]; k++) csv_number(f, v[k]);
            putc('\n', f);
        }
    }
    for (size_t i = 0; i < r->nmap; i++) {      /* x: column; entries of 0 left out */
        const map_of *m = &r->map[i];
        for (size_t k = 0; k < m->map.rows * m->map.cols; k++) {
            char name[120];
            if (!(fabs(m->v[k]) > 0) || lines++ >= most) continue;
            put_text(name, sizeof name, "%s, row %lu", m->title, (unsigned long)(k / m->map.cols));
            csv_name(f, name);
            csv_number(f, (double)(k % m->map.cols));
            csv_number(f, m->v[k]);
            fputs(",,,,,,,\n", f);
        }
    }
    return lines;
}

TOOL_FN void json_finding(FILE *f, const finding *q)
{
    json j = { f, 2, true, false };
    putc('{', f);
    json_text(&j, "what", q->what);
    json_text(&j, "source", q->source);
    json_text(&j, "printed", q->printed);
    json_text(&j, "ours", q->ours);
    json_text(&j, "verdict", VERDICT_TEXT[q->verdict]);
    if (q->why[0]) json_text(&j, "why", q->why);
    fputs("}", f);
}

TOOL_FN void write_json(FILE *f, const report *r)
{
    json j;
    json_open(&j, f);
    json_text(&j, "id", r->it->id);
    json_text(&j, "title", r->it->title);
    json_text(&j, "source", r->it->source);
    json_text(&j, "version", MCAMP_VERSION_TEXT);
    json_count(&j, "seed", r->f->seed);
    json_bool(&j, "quick", r->f->quick);
    json_text(&j, "method", r->it->method);
    json_key(&j, "parameters");
    putc('{', f);
    for (size_t i = 0; i < r->nparam; i++) {
        json in = { f, 2, i == 0, false };
        json_text(&in, r->param[i].key, r->param[i].value);
    }
    putc('}', f);
    json_key(&j, "notes");
    putc('[', f);
    for (size_t i = 0; i < r->nnote; i++) {
        json in = { f, 2, i == 0, false };
        json_text(&in, NULL, r->note[i]);
    }
    putc(']', f);
    json_key(&j, "findings");
    for (size_t i = 0; i < r->nfinding; i++) {
        fputs(i ? ",\n    " : "[", f);
        json_finding(f, &r->finding[i]);
    }
    fputs(r->nfinding ? "]" : "[]", f);
    json_close(&j);
}

/* ---- pictures ---------------------------------------------------------------------------- */

/* The lines of one chart as the chart writer wants them; free x. */
TOOL_FN size_t chart_lines(const report *r, int chart, svg_series *out, double **x)
{
    size_t n = 0, all = 0, at = 0;
    for (size_t i = 0; i < r->nline; i++) all += r->line[i].chart == chart ? r->line[i].n : 0;
    *x = numbers_of(4 * all);
    for (size_t i = 0; i < r->nline; i++) {
        const line_of *l = &r->line[i];
        double *v = *x + at;
        bool limits = l->n > 0;
        if (l->chart != chart) continue;
        memset(&out[n], 0, sizeof *out);
        for (size_t k = 0; k < l->n; k++) {
            v[k] = l->p[k].x;
            v[all + k] = l->p[k].y;
            v[2 * all + k] = l->p[k].lower;
            v[3 * all + k] = l->p[k].upper;
            limits = limits && l->p[k].lower <= l->p[k].upper;
        }
        out[n].name = l->name;
        out[n].colour = COLOUR[n % NCOLOUR];
        out[n].dashed = l->dashed;
        out[n].dots = l->dots;
        out[n].x = v;
        out[n].y = v + all;
        out[n].n = l->n;
        out[n].band_x = v;
        out[n].band_n = limits ? l->n : 0;
        out[n].lo = v + 2 * all;
        out[n].hi = v + 3 * all;
        at += l->n;
        n++;
    }
    return n;
}

TOOL_FN void write_chart(FILE *f, const report *r, size_t c)
{
    const picture *p = &r->chart[c];
    svg_series *s = (svg_series *)enough(calloc(r->nline + 1, sizeof *s));
    svg_chart chart;
    double *x;
    memset(&chart, 0, sizeof chart);
    chart.title = p->title;
    chart.subtitle = p->subtitle;
    chart.xlabel = p->xlabel;
    chart.ylabel = p->ylabel;
    chart.log_x = p->log_x;
    chart.log_y = p->log_y;
    chart.y_floor = p->floor;
    chart.legend_low = p->legend_low;
    chart.nseries = chart_lines(r, (int)c, s, &x);
    chart.series = s;
    svg_write(f, &chart);
    free(x);
    free(s);
}

/* All charts under each other, the maps last. */
TOOL_FN void write_svg(FILE *f, const report *r)
{
    svg_map *maps = (svg_map *)enough(calloc(r->nmap + 1, sizeof *maps));
    int height = SVG_H * (int)r->nchart + (r->nmap ? svg_maps_height(r->nmap) : 0);
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\">\n", SVG_W, height, SVG_W, height);
    for (size_t c = 0; c < r->nchart; c++) {
        fprintf(f, "<g transform=\"translate(0 %d)\">\n", SVG_H * (int)c);
        write_chart(f, r, c);
        fputs("</g>\n", f);
    }
    for (size_t i = 0; i < r->nmap; i++) {
        const map_of *m = &r->map[i];
        maps[i] = m->map;
        maps[i].v = m->v;
        maps[i].title = m->title;
        maps[i].xlabel = m->xlabel[0] ? m->xlabel : NULL;
        maps[i].ylabel = m->ylabel[0] ? m->ylabel : NULL;
    }
    if (r->nmap) {
        fprintf(f, "<g transform=\"translate(0 %d)\">\n", SVG_H * (int)r->nchart);
        svg_maps_write(f, r->maps_title, maps, r->nmap);
        fputs("</g>\n", f);
    }
    fputs("</svg>\n", f);
    free(maps);
}

/* ---- the item's part of the page ------------------------------------------------------------ */

TOOL_FN void html(FILE *f, const char *text)
{
    for (; *text; text++) {
        if (*text == '<') fputs("&lt;", f);
        else if (*text == '>') fputs("&gt;", f);
        else if (*text == '&') fputs("&amp;", f);
        else putc(*text, f);
    }
}

TOOL_FN void html_cell(FILE *f, const char *text)
{
    fputs("<td>", f);
    html(f, text);
    fputs("</td>", f);
}

TOOL_FN void html_findings(FILE *f, const report *r)
{
    static const char *const kind[NVERDICT] = { "same", "better", "differs", "open" };
    if (!r->nfinding) return;
    fputs("<table>\n<tr><th>what</th><th>where</th><th>the paper</th><th>here</th><th>verdict"
          "</th></tr>\n", f);
    for (size_t i = 0; i < r->nfinding; i++) {
        const finding *q = &r->finding[i];
        fputs("<tr>", f);
        html_cell(f, q->what);
        html_cell(f, q->source);
        html_cell(f, q->printed);
        html_cell(f, q->ours);
        fprintf(f, "<td class=\"%s\">%s", kind[q->verdict], VERDICT_TEXT[q->verdict]);
        if (q->why[0]) {
            fputs(" ", f);
            html(f, q->why);
        }
        fputs("</td></tr>\n", f);
    }
    fputs("</table>\n", f);
}

/* The files beside the page: their sizes stand in its key line, so that one which was cut
 * or edited later is not taken for whole.                                           */
static const char *const BESIDE[] = { ".csv", ".json", ".svg" };
enum { NBESIDE = 3 };

TOOL_FN long size_beside(const frame *f, const item *it, size_t k)
{
    path p = path_of(f, "", it->id, BESIDE[k]);
    struct stat s;
    return stat(p.text, &s) ? -1 : (long)s.st_size;
}

TOOL_FN void key_line(char *to, size_t size, const frame *f, const item *it)
{
    put_text(to, size, "<!-- %s, mcamp %s, seed %llu, %s, %lu%s%s:", it->id, MCAMP_VERSION_TEXT,
             (unsigned long long)f->seed, f->quick ? "quick" : "whole",
             (unsigned long)(it >= f->training ? f->runs : 0),
             it >= f->training && f->images ? " " : "",
             it >= f->training && f->images ? f->images : "");
}

TOOL_FN void write_part_of_page(FILE *f, const report *r)
{
    char key[200];
    int count[NVERDICT] = { 0 };
    size_t lines;
    for (size_t i = 0; i < r->nfinding; i++) count[r->finding[i].verdict]++;
    key_line(key, sizeof key, r->f, r->it);
    fprintf(f, "%s %d %d %d %d", key, count[0], count[1], count[2], count[3]);
    for (size_t k = 0; k < NBESIDE; k++) fprintf(f, " %ld", size_beside(r->f, r->it, k));
    fprintf(f, " -->\n<section id=\"%s\">\n<h2>%s: ", r->it->id, r->it->id);
    html(f, r->it->title);
    fputs("</h2>\n<p class=\"source\">", f);
    html(f, r->it->source);
    fputs("</p>\n", f);
    write_svg(f, r);
    html_findings(f, r);
    for (size_t i = 0; i < r->nnote; i++) {
        fputs("<p class=\"note\">", f);
        html(f, r->note[i]);
        fputs("</p>\n", f);
    }
    fputs("<p>How: ", f);
    html(f, r->it->method);
    fputs("</p>\n<p class=\"parameters\">", f);
    for (size_t i = 0; i < r->nparam; i++) {
        fputs(i ? "; " : "", f);
        html(f, r->param[i].key);
        fputs(" = ", f);
        html(f, r->param[i].value);
    }
    fputs("</p>\n<details><summary>the numbers</summary><pre>\n", f);
    lines = write_csv(f, r, PAGE_LINES);
    fputs("</pre>", f);
    if (lines > PAGE_LINES)
        fprintf(f, "<p>%lu lines more in %s.csv</p>", (unsigned long)(lines - PAGE_LINES),
                r->it->id);
    fprintf(f, "</details>\n</section>\n<!-- end of %s -->\n", r->it->id);
}

TOOL_FN void write_seconds(FILE *f, const report *r)
{
    fputs("what,seconds\n", f);
    for (size_t i = 0; i < r->nseconds; i++) {
        csv_name(f, r->timed[i]);
        fprintf(f, ",%.3f\n", r->seconds[i]);
    }
}

TOOL_FN void write_numbers(FILE *f, const report *r) { write_csv(f, r, SIZE_MAX); }

/* One file of the item: whole under its name, or not there. */
TOOL_FN void write_file(const report *r, const char *directory, const char *suffix,
                        void (*write)(FILE *f, const report *r))
{
    path p = path_of(r->f, directory, r->it->id, suffix);
    FILE *f = open_part(&p);
    write(f, r);
    close_part(f, &p);
}

/* The part of the page last: it says that the others are there. */
TOOL_FN void write_item(const report *r)
{
    write_file(r, "", ".csv", write_numbers);
    write_file(r, "", ".json", write_json);
    write_file(r, "", ".svg", write_svg);
    if (r->nseconds) write_file(r, "", ".seconds.csv", write_seconds);
    write_file(r, "parts/", ".html", write_part_of_page);
}

/* ---- what is there already ----------------------------------------------------------------- */

/* The verdicts of an item that is there and whole; false if it is not. */
TOOL_FN bool is_whole(const frame *f, const item *it, int count[NVERDICT])
{
    path p = path_of(f, "parts/", it->id, ".html");
    char key[200], line[300], end[120];
    long size[NBESIDE];
    size_t n;
    FILE *in = fopen(p.text, "r");
    if (!in) return false;
    key_line(key, sizeof key, f, it);
    n = strlen(key);
    put_text(end, sizeof end, "<!-- end of %s -->\n", it->id);
    bool ok = fgets(line, sizeof line, in) && !strncmp(line, key, n) &&
              sscanf(line + n, "%d %d %d %d %ld %ld %ld", &count[0], &count[1], &count[2],
                     &count[3], &size[0], &size[1], &size[2]) == 4 + NBESIDE &&
              !fseek(in, -(long)strlen(end), SEEK_END) && fgets(line, sizeof line, in) &&
              !strcmp(line, end);
    for (size_t k = 0; ok && k < NBESIDE; k++)
        ok = size[k] >= 0 && size[k] == size_beside(f, it, k);
    fclose(in);
    return ok;
}

TOOL_FN void forget(const frame *f, const item *it)
{
    path p = path_of(f, "parts/", it->id, ".html");
    remove(p.text);
}

/* ---- the page ------------------------------------------------------------------------------ */

static const char PAGE_HEAD[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>The papers again"
    "</title>\n<style>body{font-family:Helvetica,Arial,sans-serif;max-width:1000px;margin:2em "
    "auto;padding:0 1em;color:#222}table{border-collapse:collapse;margin:1em 0;font-size:14px}"
    "td,th{border:1px solid #ddd;padding:3px 8px;text-align:left;vertical-align:top}"
    ".same{background:#e8f5e9}.better{background:#d7ecff}.differs{background:#fff3cd}"
    ".open{background:#f8d7da}.source,.parameters,.note{color:#555;font-size:14px}"
    "svg{max-width:100%;height:auto}pre{overflow:auto;font-size:12px}section{border-top:1px "
    "solid #ccc;margin-top:2em}</style></head><body>\n<h1>The papers again</h1>\n"
    "<p>Figures and tables of five documents, computed anew; beside what they print. "
    "<b>Same</b>: to the digits printed. <b>Better</b>: smaller noise, error or &epsilon;. "
    "<b>Differs</b>: with the reason, which is computed too. Numbers on this page are for "
    "comparison: what a run may claim is what <code>mcamp</code> certifies for it.</p>\n";

TOOL_FN void copy_part(FILE *out, const frame *f, const item *it)
{
    path p = path_of(f, "parts/", it->id, ".html");
    char buf[4096];
    size_t n;
    FILE *in = fopen(p.text, "r");
    if (!in) failed("cannot read \"%s\": %s", p.text, strerror(errno));
    while ((n = fread(buf, 1, sizeof buf, in)) > 0) fwrite(buf, 1, n, out);
    fclose(in);
}

TOOL_FN void page_row(FILE *out, const frame *f, const item *it)
{
    int count[NVERDICT] = { 0 };
    fputs("<tr>", out);
    if (is_whole(f, it, count)) {
        fprintf(out, "<td><a href=\"#%s\">%s</a></td>", it->id, it->id);
        html_cell(out, it->title);
        for (int v = 0; v < NVERDICT; v++) fprintf(out, "<td>%d</td>", count[v]);
    } else {
        html_cell(out, it->id);
        html_cell(out, it->title);
        fputs("<td colspan=\"4\">", out);
        html(out, it->run ? "not run" : "not yet: ");
        if (!it->run) html(out, it->method);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

TOOL_FN void write_page(const frame *f, const item *items, size_t n)
{
    path p = path_of(f, "", "index", ".html");
    int count[NVERDICT];
    FILE *out = open_part(&p);
    fputs(PAGE_HEAD, out);
    fprintf(out, "<p>mcamp %s, seed %llu, %s.</p>\n<table>\n<tr><th>id</th><th>what</th><th>same"
            "</th><th>better</th><th>differs</th><th>not explained</th></tr>\n",
            MCAMP_VERSION_TEXT, (unsigned long long)f->seed,
            f->quick ? "quick: small grids" : "whole");
    for (size_t i = 0; i < n; i++) page_row(out, f, &items[i]);
    fputs("</table>\n", out);
    for (size_t i = 0; i < n; i++)
        if (is_whole(f, &items[i], count)) copy_part(out, f, &items[i]);
    fputs("</body></html>\n", out);
    close_part(out, &p);
}

#endif
