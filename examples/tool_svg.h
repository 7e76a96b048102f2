/* Line charts as SVG: linear or logarithmic axes, bands, a legend; and maps of matrices. */
#ifndef TOOL_SVG_H
#define TOOL_SVG_H

#include "tool_options.h"

typedef struct svg_series {
    const char *name, *colour;
    bool dashed, dots;          /* dots: points that no line joins             */
    const double *x, *y;        /* what is not finite is left out              */
    size_t n;
    const double *band_x, *lo, *hi;     /* a band around y, or NULL            */
    size_t band_n;
} svg_series;

typedef struct svg_chart {
    const char *title, *subtitle, *xlabel, *ylabel;
    bool log_x, log_y;
    double y_floor;             /* log_y: the axis ends here                   */
    bool legend_low;            /* bottom left instead of top right            */
    const svg_series *series;
    size_t nseries;
} svg_chart;

/* The page's are narrower: telephones. */
#ifndef SVG_WIDTH
#  define SVG_WIDTH 760
#  define SVG_HEIGHT 480
#endif
enum { SVG_W = SVG_WIDTH, SVG_H = SVG_HEIGHT, SVG_LEFT = 84, SVG_RIGHT = 24, SVG_TOP = 64,
       SVG_BOTTOM = 60 };

/* The data's box, in log10 where an axis is logarithmic. */
typedef struct svg_frame { double x0, x1, y0, y1; bool log_x, log_y; double floor; } svg_frame;

TOOL_FN double svg_scaled(bool log_scale, double v)
{
    return log_scale ? log10(v > 1e-300 ? v : 1e-300) : v;
}

TOOL_FN double svg_value(const svg_frame *f, double y) { return svg_scaled(f->log_y, y); }

TOOL_FN double svg_px(const svg_frame *f, double x)
{
    double t = svg_scaled(f->log_x, x) - f->x0;
    return SVG_LEFT + t / (f->x1 - f->x0) * (SVG_W - SVG_LEFT - SVG_RIGHT);
}

TOOL_FN double svg_py(const svg_frame *f, double y)
{
    double t = (svg_value(f, y) - f->y0) / (f->y1 - f->y0);
    return SVG_H - SVG_BOTTOM - t * (SVG_H - SVG_TOP - SVG_BOTTOM);
}

/* A step of 1, 2 or 5 times a power of ten that gives about five ticks. */
TOOL_FN double svg_step(double width)
{
    double raw = width / 5, unit = pow(10, floor(log10(raw)));
    return raw < 1.5 * unit ? unit : raw < 3.5 * unit ? 2 * unit
         : raw < 7.5 * unit ? 5 * unit : 10 * unit;
}

TOOL_FN bool svg_shown(double v) { return v > -1e300 && v < 1e300; }

TOOL_FN svg_frame svg_fit(const svg_chart *c)
{
    svg_frame f = { 1e300, -1e300, 1e300, -1e300, c->log_x, c->log_y, c->y_floor };
    for (size_t s = 0; s < c->nseries; s++) {
        for (size_t i = 0; i < c->series[s].n; i++) {
            double x = svg_scaled(f.log_x, c->series[s].x[i]);
            double y = svg_value(&f, c->series[s].y[i]);
            if (!svg_shown(x) || !svg_shown(y)) continue;
            if (x < f.x0) f.x0 = x;
            if (x > f.x1) f.x1 = x;
            if (y < f.y0) f.y0 = y;
            if (y > f.y1) f.y1 = y;
        }
    }
    if (f.x1 < f.x0) f.x0 = f.x1 = f.y0 = f.y1 = 0;     /* nothing to be seen */
    if (c->log_y && f.y0 < log10(f.floor)) f.y0 = log10(f.floor);
    if (!(f.x1 > f.x0)) { f.x0 -= 1; f.x1 += 1; }
    if (c->log_y) {
        f.y0 = floor(f.y0);
        f.y1 = ceil(f.y1);
    } else if (f.y0 > 0) {
        f.y0 = 0;
    }
    if (!(f.y1 > f.y0)) f.y1 = f.y0 + 1;
    return f;
}

TOOL_FN void svg_text(FILE *out, double x, double y, const char *anchor, const char *style,
                      const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor, style);
    for (; *text; text++) {
        if (*text == '<') fputs("&lt;", out);
        else if (*text == '>') fputs("&gt;", out);
        else if (*text == '&') fputs("&amp;", out);
        else putc(*text, out);
    }
    fputs("</text>\n", out);
}

TOOL_FN void svg_x_tick(FILE *out, const svg_frame *f, double at)
{
    double x = svg_px(f, at), bottom = SVG_H - SVG_BOTTOM;
    char label[40];
    fprintf(out, "<path class=\"grid\" d=\"M%.1f %dV%.1f\"/>\n", x, SVG_TOP, bottom);
    snprintf(label, sizeof label, "%.6g", at);
    svg_text(out, x, bottom + 20, "middle", "", label);
}

/* Powers of ten, or 1, 2 and 5 times them where there are few. */
TOOL_FN void svg_log_x_axis(FILE *out, const svg_frame *f)
{
    static const double digit[] = { 1, 2, 5 };
    int few = f->x1 - f->x0 < 3.5 ? 3 : 1, m = (int)ceil((f->x1 - f->x0) / 12);
    for (int e = (int)floor(f->x0); e <= (int)ceil(f->x1); e++) {
        for (int i = 0; i < few; i++) {
            double at = digit[i] * pow(10, e), x = log10(at);
            if (x < f->x0 - 1e-9 || x > f->x1 + 1e-9 || e % (m > 0 ? m : 1)) continue;
            svg_x_tick(out, f, at);
        }
    }
}

TOOL_FN void svg_x_axis(FILE *out, const svg_frame *f)
{
    double step = svg_step(f->x1 - f->x0);
    if (f->log_x) { svg_log_x_axis(out, f); return; }
    for (double k = ceil(f->x0 / step - 1e-9) + 0.0; k * step <= f->x1 + 1e-9 * step; k++)
        svg_x_tick(out, f, k * step + 0.0);
}

/* Decades, every m-th of them labelled so that labels keep apart. */
TOOL_FN void svg_log_axis(FILE *out, const svg_frame *f)
{
    int m = (int)ceil((f->y1 - f->y0) / 10);
    for (int e = (int)f->y0; e <= (int)f->y1; e++) {
        double y = svg_py(f, pow(10, e));
        if (e % (m > 0 ? m : 1)) continue;
        fprintf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", SVG_LEFT, y,
                SVG_W - SVG_RIGHT);
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">10<tspan dy=\"-6\" "
                "font-size=\"10\">%d</tspan></text>\n", SVG_LEFT - 8, y + 5, e);
    }
}

TOOL_FN void svg_y_axis(FILE *out, const svg_frame *f)
{
    double step = svg_step(f->y1 - f->y0);
    for (double k = ceil(f->y0 / step - 1e-9); k * step <= f->y1 + 1e-9 * step; k++) {
        double y = svg_py(f, k * step);
        char label[40];
        fprintf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", SVG_LEFT, y,
                SVG_W - SVG_RIGHT);
        snprintf(label, sizeof label, "%.6g", k * step + 0.0);
        svg_text(out, SVG_LEFT - 8, y + 4, "end", "", label);
    }
}

TOOL_FN void svg_band(FILE *out, const svg_frame *f, const svg_series *s)
{
    if (!s->lo || !s->hi || !s->band_n) return;
    fprintf(out, "<path fill=\"%s\" fill-opacity=\"0.18\" d=\"", s->colour);
    for (size_t i = 0; i < s->band_n; i++)      /* rounded outwards: y grows downwards */
        fprintf(out, "%s%.2f %.2f", i ? "L" : "M", svg_px(f, s->band_x[i]),
                floor(100 * svg_py(f, s->hi[i])) / 100);
    for (size_t i = s->band_n; i-- > 0; )
        fprintf(out, "L%.2f %.2f", svg_px(f, s->band_x[i]),
                ceil(100 * svg_py(f, s->lo[i])) / 100);
    fputs("Z\"/>\n", out);
}

TOOL_FN void svg_line(FILE *out, const svg_frame *f, const svg_series *s)
{
    fprintf(out, "<path class=\"line\" stroke=\"%s\"%s d=\"", s->colour,
            s->dashed ? " stroke-dasharray=\"6 4\"" : "");
    for (size_t i = 0, pen = 0; i < s->n; i++) {
        bool shown = svg_shown(s->x[i]) && svg_shown(s->y[i]);
        if (shown)
            fprintf(out, "%s%.2f %.2f", pen ? "L" : "M", svg_px(f, s->x[i]), svg_py(f, s->y[i]));
        pen = shown;
    }
    fputs("\"/>\n", out);
}

TOOL_FN void svg_dots(FILE *out, const svg_frame *f, const svg_series *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (svg_shown(s->x[i]) && svg_shown(s->y[i]))
            fprintf(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"4\" fill=\"#fff\" stroke-width=\"2\" "
                    "stroke=\"%s\"/>\n", svg_px(f, s->x[i]), svg_py(f, s->y[i]), s->colour);
}

TOOL_FN void svg_legend(FILE *out, const svg_chart *c)
{
    size_t longest = 0;
    double x, y, width, height = 14 + 20 * (double)c->nseries;
    for (size_t s = 0; s < c->nseries; s++)
        if (strlen(c->series[s].name) > longest) longest = strlen(c->series[s].name);
    width = 60 + 7.3 * (double)longest;
    x = c->legend_low ? SVG_LEFT + 8 : SVG_W - SVG_RIGHT - width - 8;
    y = c->legend_low ? SVG_H - SVG_BOTTOM - height - 8 : SVG_TOP + 8;
    fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" "
            "fill=\"#fff\" fill-opacity=\"0.9\" stroke=\"#ddd\"/>\n", x, y, width, height);
    for (size_t s = 0; s < c->nseries; s++) {
        const svg_series *q = &c->series[s];
        double line = y + 18 + 20 * (double)s;
        if (q->dots)
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#fff\" stroke-width=\"2\" "
                    "stroke=\"%s\"/>\n", x + 24, line - 4, q->colour);
        else
            fprintf(out, "<path class=\"line\" stroke=\"%s\"%s d=\"M%.1f %.1fh28\"/>\n", q->colour,
                    q->dashed ? " stroke-dasharray=\"6 4\"" : "", x + 10, line - 4);
        svg_text(out, x + 46, line, "start", "", q->name);
    }
}

TOOL_FN void svg_write(FILE *out, const svg_chart *c)
{
    svg_frame f = svg_fit(c);
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" "
            "fill=\"#333\">\n<style>.grid{stroke:#e6e6e6;fill:none}.line{fill:none;"
            "stroke-width:2;stroke-linejoin:round}.axis{stroke:#333;fill:none}</style>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", SVG_W, SVG_H, SVG_W, SVG_H,
            SVG_W, SVG_H);
    svg_text(out, SVG_LEFT, 26, "start", " font-size=\"17\" font-weight=\"bold\"", c->title);
    svg_text(out, SVG_LEFT, 46, "start", " fill=\"#666\"", c->subtitle);
    svg_x_axis(out, &f);
    if (c->log_y) svg_log_axis(out, &f); else svg_y_axis(out, &f);
    fprintf(out, "<clipPath id=\"box\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>"
            "</clipPath>\n<g clip-path=\"url(#box)\">\n", SVG_LEFT, SVG_TOP,
            SVG_W - SVG_LEFT - SVG_RIGHT, SVG_H - SVG_TOP - SVG_BOTTOM);
    for (size_t s = 0; s < c->nseries; s++) svg_band(out, &f, &c->series[s]);
    for (size_t s = 0; s < c->nseries; s++)
        if (!c->series[s].dots) svg_line(out, &f, &c->series[s]);
    fputs("</g>\n", out);
    for (size_t s = 0; s < c->nseries; s++)
        if (c->series[s].dots) svg_dots(out, &f, &c->series[s]);
    fprintf(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", SVG_LEFT, SVG_TOP,
            SVG_H - SVG_BOTTOM, SVG_W - SVG_RIGHT);
    svg_text(out, (SVG_LEFT + SVG_W - SVG_RIGHT) / 2.0, SVG_H - 16, "middle", "", c->xlabel);
    fprintf(out, "<g transform=\"translate(22 %.1f) rotate(-90)\">",
            (SVG_TOP + SVG_H - SVG_BOTTOM) / 2.0);
    svg_text(out, 0, 0, "middle", "", c->ylabel);
    fputs("</g>\n", out);
    if (c->nseries > 1) svg_legend(out, c);
    fputs("</svg>\n", out);
}

/* ---- maps of matrices ------------------------------------------------------------ */

/* Values from -most (blue) over 0 (white) to most (red), or around `middle`. */
typedef struct svg_map {
    const char *title;
    const double *v;            /* row-major; not finite: grey                 */
    size_t rows, cols;
    double middle, most;        /* most 0: the largest distance from middle    */
    bool root;                  /* colours by the square root: small ones show */
    const char *xlabel, *ylabel;
} svg_map;

enum { SVG_LEVELS = 24, SVG_MAP = 220, SVG_MAP_STEP = 250 };

TOOL_FN double svg_map_most(const svg_map *m)
{
    double most = m->most;
    for (size_t i = 0; !(m->most > 0) && i < m->rows * m->cols; i++)
        if (svg_shown(m->v[i]) && fabs(m->v[i] - m->middle) > most)
            most = fabs(m->v[i] - m->middle);
    return most > 0 ? most : 1;
}

/* From -SVG_LEVELS to SVG_LEVELS; one more: nothing to show. */
TOOL_FN int svg_level(const svg_map *m, double most, double v)
{
    double t = (v - m->middle) / most;
    if (!svg_shown(v)) return SVG_LEVELS + 1;
    t = t > 1 ? 1 : t < -1 ? -1 : t;
    if (m->root) t = t < 0 ? -sqrt(-t) : sqrt(t);
    return (int)floor(SVG_LEVELS * t + 0.5);
}

TOOL_FN void svg_level_colour(FILE *out, int level)
{
    int fade = 255 - 255 * (level < 0 ? -level : level) / SVG_LEVELS;
    if (level > SVG_LEVELS) fputs("#999", out);
    else if (level < 0) fprintf(out, "rgb(%d,%d,255)", fade, fade);
    else fprintf(out, "rgb(255,%d,%d)", fade, fade);
}

/* Cells of one colour as one path, neighbours of a row as one piece. */
TOOL_FN void svg_map_cells(FILE *out, const svg_map *m, double most, int level)
{
    bool begun = false;
    for (size_t i = 0; i < m->rows; i++) {
        for (size_t j = 0, end; j < m->cols; j = end) {
            bool here = svg_level(m, most, m->v[i * m->cols + j]) == level;
            for (end = j + 1; end < m->cols; end++)
                if ((svg_level(m, most, m->v[i * m->cols + end]) == level) != here) break;
            if (!here) continue;
            if (!begun) {
                fputs("<path fill=\"", out);
                svg_level_colour(out, level);
                fputs("\" d=\"", out);
                begun = true;
            }
            fprintf(out, "M%d %dh%dv1h-%dz", (int)j, (int)i, (int)(end - j), (int)(end - j));
        }
    }
    if (begun) fputs("\"/>\n", out);
}

TOOL_FN void svg_map_draw(FILE *out, const svg_map *m, double x, double y)
{
    double most = svg_map_most(m);
    char range[80];
    svg_text(out, x, y - 8, "start", " font-weight=\"bold\"", m->title);
    fprintf(out, "<g transform=\"translate(%.1f %.1f) scale(%.6g %.6g)\" shape-rendering="
            "\"crispEdges\">\n", x, y, SVG_MAP / (double)m->cols, SVG_MAP / (double)m->rows);
    for (int level = -SVG_LEVELS; level <= SVG_LEVELS + 1; level++)
        if (level) svg_map_cells(out, m, most, level);
    fprintf(out, "</g>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"none\" "
            "stroke=\"#333\"/>\n", x, y, SVG_MAP, SVG_MAP);
    snprintf(range, sizeof range, "blue %.3g, white %.3g, red %.3g", m->middle - most, m->middle,
             m->middle + most);
    svg_text(out, x, y + SVG_MAP + 16, "start", " fill=\"#666\" font-size=\"11\"", range);
    if (m->xlabel) svg_text(out, x, y + SVG_MAP + 30, "start", " font-size=\"11\"", m->xlabel);
    if (m->ylabel) svg_text(out, x, y + SVG_MAP + 44, "start", " font-size=\"11\"", m->ylabel);
}

TOOL_FN int svg_maps_height(size_t n) { return 60 + (int)((n + 2) / 3) * (SVG_MAP_STEP + 50); }

/* Three beside each other. */
TOOL_FN void svg_maps_write(FILE *out, const char *title, const svg_map *m, size_t n)
{
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" "
            "fill=\"#333\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", SVG_W,
            svg_maps_height(n), SVG_W, svg_maps_height(n), SVG_W, svg_maps_height(n));
    svg_text(out, 12, 26, "start", " font-size=\"17\" font-weight=\"bold\"", title);
    for (size_t i = 0; i < n; i++)
        svg_map_draw(out, &m[i], 12 + (int)(i % 3) * SVG_MAP_STEP,
                     68 + (int)(i / 3) * (SVG_MAP_STEP + 50));
    fputs("</svg>\n", out);
}

#endif
