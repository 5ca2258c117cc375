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

// The SVG document, ended by a line feed. Throws invalid_argument without a curve.
std::string svg_of(const CurvePlot& plot);

}  // namespace zhuyi::cli
