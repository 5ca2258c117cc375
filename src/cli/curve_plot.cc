#include "cli/curve_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "base/error.h"
#include "text/markup.h"

namespace zhuyi::cli {
namespace {

using text::escaped;

// Beside the frame of the axes, in SVG units. The legend stands to the right of it.
constexpr double kLeft = 76;
constexpr double kTop = 58;
constexpr double kBelow = 70;
constexpr double kLegendWidth = 240;
constexpr double kMargin = 24;
constexpr double kPixelsPerTick[] = {77, 53};  // on the axis to the right, and on that up

// The frame of the axes.
struct Frame {
  double left = kLeft;
  double right = 0;
  double top = kTop;
  double bottom = 0;
};

Frame frame_of(const PlotStyle& style) {
  return {.right = style.width - (style.legend ? kLegendWidth : kMargin), .bottom = style.height - kBelow};
}

// Okabe and Ito's colours (2008): told apart with any colour vision. The dashes serve a print in grey.
constexpr std::array<const char*, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#e69f00", "#56b4e9", "#1f2328", "#8c6d31"};
constexpr std::array<const char*, 4> kDashes = {"none", "9 4", "2 4", "12 3 2 3"};

// One axis: the numbers it covers and where they lie in the picture.
struct Axis {
  double low = 0;
  double high = 1;
  double from = 0;  // the position of low
  double to = 1;    // the position of high
  double step = 1;  // between ticks

  double position(double number) const { return from + (number - low) / (high - low) * (to - from); }
};

// A step of 1, 2 or 5 times a power of ten that gives about so many ticks.
double tick_step(double range, double ticks) {
  const double rough = range / ticks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

// The axis over [low, high], more when both are one number, its ends at `share` of the range further out.
Axis axis_over(double low, double high, double share, double from, double to) {
  const double size = std::max(std::abs(low), std::abs(high));
  // A flat curve, up to rounding, gets a range of its own size, not one of its last digits.
  const double range = high - low > 1e-6 * size ? high - low : std::max(size, 1e-6);
  base::check(std::isfinite(range), "plot: numbers from {} to {} are too far apart to draw", low, high);
  const double middle = (low + high) / 2;
  const double half = range * (0.5 + share);
  const double ticks = std::max(6.0, std::abs(to - from) / kPixelsPerTick[from < to ? 0 : 1]);
  return {middle - half, middle + half, from, to, tick_step(2 * half, ticks)};
}

std::vector<double> ticks_of(const Axis& axis) {
  std::vector<double> ticks;
  const auto first = static_cast<std::int64_t>(std::ceil(axis.low / axis.step));
  const auto last = static_cast<std::int64_t>(std::floor(axis.high / axis.step));
  for (std::int64_t i = first; i <= last; ++i) ticks.push_back(static_cast<double>(i) * axis.step);
  return ticks;
}

using Output = std::back_insert_iterator<std::string>;

void draw_axes(const CurvePlot& plot, const Frame& frame, const Axis& x, const Axis& y, Output out) {
  fmt::format_to(out, "<g stroke=\"#e3e6ea\" stroke-width=\"1\">\n");
  for (const double tick : ticks_of(x)) {
    fmt::format_to(out, "<path d=\"M{0:.2f} {1}V{2}\"/>\n", x.position(tick), frame.top, frame.bottom);
  }
  for (const double tick : ticks_of(y)) {
    fmt::format_to(out, "<path d=\"M{1} {0:.2f}H{2}\"/>\n", y.position(tick), frame.left, frame.right);
  }
  fmt::format_to(out, "</g>\n<g class=\"ticks\" fill=\"#555d66\" font-size=\"13\">\n");
  for (const double tick : ticks_of(x)) {
    fmt::format_to(out, "<text x=\"{:.2f}\" y=\"{}\" text-anchor=\"middle\">{:.8g}</text>\n", x.position(tick),
                   frame.bottom + 20, tick);
  }
  for (const double tick : ticks_of(y)) {
    fmt::format_to(out, "<text x=\"{}\" y=\"{:.2f}\" text-anchor=\"end\">{:.8g}</text>\n", frame.left - 9,
                   y.position(tick) + 4, tick);
  }
  fmt::format_to(out, "</g>\n<path d=\"M{} {}V{}H{}\" fill=\"none\" stroke=\"#555d66\" stroke-width=\"1.2\"/>\n",
                 frame.left, frame.top, frame.bottom, frame.right);
  const double middle_x = (frame.left + frame.right) / 2;
  const double middle_y = (frame.top + frame.bottom) / 2;
  fmt::format_to(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", middle_x, frame.bottom + 48,
                 escaped(plot.x_label));
  fmt::format_to(out, "<text transform=\"translate(24 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", middle_y,
                 escaped(plot.y_label));
  fmt::format_to(out, "<text x=\"{}\" y=\"34\" font-size=\"18\" font-weight=\"600\">{}</text>\n", frame.left,
                 escaped(plot.title));
}

void draw_curves(const CurvePlot& plot, const PlotStyle& style, const Axis& x, const Axis& y, Output out) {
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    fmt::format_to(out, "<polyline class=\"curve\" fill=\"none\" stroke=\"{}\" stroke-dasharray=\"{}\" points=\"",
                   kColours[i % kColours.size()], style.dashes ? kDashes[i % kDashes.size()] : "none");
    for (const PlotPoint& point : plot.curves[i].points) {
      fmt::format_to(out, "{:.2f},{:.2f} ", x.position(point.x), y.position(point.y));
    }
    fmt::format_to(out, "\" stroke-width=\"{}\" stroke-linejoin=\"round\" stroke-linecap=\"round\"/>\n",
                   style.dashes ? 2.6 : 1.8);
    if (!style.dots) continue;
    for (const PlotPoint& point : plot.curves[i].points) {
      fmt::format_to(out, "<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"2.6\" fill=\"{}\"/>\n", x.position(point.x),
                     y.position(point.y), kColours[i % kColours.size()]);
    }
  }
}

constexpr const char* kDot = "<circle class=\"{}\" cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"5.5\" fill=\"#1f2328\"/>\n";
constexpr const char* kRing =
    "<circle class=\"{}\" cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"6\" fill=\"#ffffff\" stroke=\"#1f2328\" "
    "stroke-width=\"2\"/>\n";

void draw_points(const CurvePlot& plot, const Axis& x, const Axis& y, Output out) {
  // The numbers first, so that they hide no point; a white outline keeps them readable over a curve.
  for (const PlotPoint& point : plot.marks.points) {
    fmt::format_to(out,
                   "<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"13\" text-anchor=\"end\" stroke=\"#ffffff\" "
                   "stroke-width=\"4\" paint-order=\"stroke\">({:.5g}, {:.5g})</text>\n",
                   x.position(point.x) - 10, y.position(point.y) - 9, point.x, point.y);
  }
  for (const PlotPoint& point : plot.data.points) {
    fmt::format_to(out, fmt::runtime(kDot), "data", x.position(point.x), y.position(point.y));
  }
  for (const PlotPoint& point : plot.marks.points) {
    fmt::format_to(out, fmt::runtime(kRing), "mark", x.position(point.x), y.position(point.y));
  }
}

void draw_legend(const CurvePlot& plot, const Frame& frame, Output out) {
  const double left = frame.right + 26;
  double y = frame.top + 14;
  const auto label = [&](const std::string& text) {
    fmt::format_to(out, "<text x=\"{}\" y=\"{}\" font-size=\"14\">{}</text>\n", left + 42, y + 4.5, escaped(text));
    y += 27;
  };
  fmt::format_to(out, "<g class=\"legend\">\n");
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    fmt::format_to(out, "<path d=\"M{} {}h32\" stroke=\"{}\" stroke-dasharray=\"{}\" stroke-width=\"2.6\"/>\n", left, y,
                   kColours[i % kColours.size()], kDashes[i % kDashes.size()]);
    label(plot.curves[i].label);
  }
  if (!plot.data.points.empty()) {
    fmt::format_to(out, fmt::runtime(kDot), "key", left + 16, y);
    label(plot.data.label);
  }
  if (!plot.marks.points.empty()) {
    fmt::format_to(out, fmt::runtime(kRing), "key", left + 16, y);
    label(plot.marks.label);
  }
  fmt::format_to(out, "</g>\n");
}

}  // namespace

std::string curve_colour(std::size_t i) { return kColours[i % kColours.size()]; }

std::string svg_element(const CurvePlot& plot, const PlotStyle& style) {
  std::vector<PlotPoint> all;
  for (const PlotSeries& curve : plot.curves) all.insert(all.end(), curve.points.begin(), curve.points.end());
  base::check(!all.empty(), "plot: no curve to draw");
  const auto [left, right] = std::ranges::minmax(all, {}, &PlotPoint::x);
  for (const PlotSeries* series : {&plot.data, &plot.marks}) {
    all.insert(all.end(), series->points.begin(), series->points.end());
  }
  const auto [bottom, top] = std::ranges::minmax(all, {}, &PlotPoint::y);
  const Frame frame = frame_of(style);
  const Axis x = axis_over(left.x, right.x, 0, frame.left, frame.right);
  const Axis y = axis_over(bottom.y, top.y, 0.08, frame.bottom, frame.top);
  std::string svg;
  const Output out(svg);
  fmt::format_to(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
                 "font-family=\"system-ui, 'Noto Sans', 'DejaVu Sans', sans-serif\" font-size=\"15\" "
                 "fill=\"#1f2328\" role=\"img\">\n<title>{2}</title>\n"
                 "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
                 style.width, style.height, escaped(plot.title));
  draw_axes(plot, frame, x, y, out);
  draw_curves(plot, style, x, y, out);
  draw_points(plot, x, y, out);
  if (style.legend) draw_legend(plot, frame, out);
  svg += "</svg>\n";
  return svg;
}

std::string svg_of(const CurvePlot& plot) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg_element(plot, {});
}

}  // namespace zhuyi::cli
