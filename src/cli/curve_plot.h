#pragma once
// Curves over one axis as a standalone SVG picture with axes, tick labels and a legend.

#include <string>
#include <vector>

namespace zhuyi::cli {

struct PlotPoint {
  double x = 0;
  double y = 0;
};

struct PlotSeries {
  std::string label;
  std::vector<PlotPoint> points;  // finite
};

struct CurvePlot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<PlotSeries> curves;  // drawn as lines, x ascending; each needs a point
  PlotSeries data;                 // drawn as filled dots
  PlotSeries marks;                // drawn as rings, with their numbers beside them
};

// How large a picture is, in SVG units, and what is in it beside the curves.
struct PlotStyle {
  double width = 860;
  double height = 500;
  bool legend = true;  // to the right of the axes
  bool dashes = true;  // tell the curves apart in a print in grey
  bool dots = false;   // at every point of a curve
};

// The colour of the i-th curve, as "#rrggbb"; after eight they come again.
std::string curve_colour(std::size_t i);

// The <svg> element. Throws invalid_argument without a curve.
std::string svg_element(const CurvePlot& plot, const PlotStyle& style);

// The SVG document in the usual style, ended by a line feed.
std::string svg_of(const CurvePlot& plot);

}  // namespace zhuyi::cli
