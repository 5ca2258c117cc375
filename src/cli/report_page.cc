#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "base/error.h"
#include "cli/run_report.h"
#include "text/markup.h"

namespace zhuyi::cli {
namespace {

using text::escaped;

constexpr std::size_t kMostPoints = 400;      // of a curve; more are averaged in groups
constexpr std::size_t kFewPoints = 60;        // of a curve whose points are drawn
constexpr std::size_t kMostTranslations = 8;  // of a sentence, the first and the last among them
constexpr double kOutlier = 3;                // times the range of the middle 96 %: further out is not drawn

constexpr const char* kStyle = R"(
body { font: 15px/1.5 system-ui, "Noto Sans", "Noto Sans CJK SC", "DejaVu Sans", sans-serif; color: #1f2328;
       max-width: 1240px; margin: 2em auto; padding: 0 1.5em; background: #fff; }
h1 { font-size: 1.6em; margin-bottom: .2em; } h2 { font-size: 1.2em; margin-top: 2em; }
table { border-collapse: collapse; } th, td { padding: .3em .8em; border-bottom: 1px solid #e3e6ea; text-align: right; }
th { font-weight: 600; color: #555d66; border-bottom-width: 2px; } td.text, th.text { text-align: left; }
.key { display: inline-block; width: 1em; height: 1em; border-radius: 3px; margin-right: .5em; vertical-align: -.12em; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 1em 1.5em; }
.charts svg { width: 100%; height: auto; border: 1px solid #e3e6ea; border-radius: 6px; }
.sample { border: 1px solid #e3e6ea; border-radius: 6px; padding: .6em 1em; margin: .8em 0; }
.sample table { width: 100%; } .sample td { border: 0; overflow-wrap: anywhere; padding: .1em .8em .1em 0; vertical-align: top; }
.sample td.step { width: 11em; color: #555d66; white-space: nowrap; text-align: left; }
.source { font-weight: 600; } .reference { color: #0a6b3d; }
p.note { color: #555d66; }
)";

// A figure of the metrics, and which lines hold it.
struct Chart {
  const char* title;
  const char* key;
  bool validation;
};

constexpr Chart kCharts[] = {{"Validation loss (nll a token)", "valid_nll", true},
                             {"Validation BLEU", "bleu", true},
                             {"Validation chrF", "chrf", true},
                             {"Training loss (smoothed, a token)", "loss", false},
                             {"Speed (target tokens a second)", "target_tokens_per_second", false},
                             {"Learning rate", "learning_rate", false},
                             {"Norm of the gradient", "gradient_norm", false}};

struct AxisText {
  const char* label;
  double (*position)(const MetricsLine&);
};

AxisText axis_text(ReportAxis axis) {
  switch (axis) {
    case ReportAxis::tokens:
      return {"million target tokens", [](const MetricsLine& line) { return line.tokens / 1e6; }};
    case ReportAxis::steps:
      return {"steps", [](const MetricsLine& line) { return line.steps; }};
    case ReportAxis::minutes:
      return {"minutes", [](const MetricsLine& line) { return line.seconds / 60; }};
  }
  base::fail(base::ErrorKind::internal, "report: an axis without a name");
}

// The means of groups of neighbours, so that at most kMostPoints are left.
std::vector<PlotPoint> thinned(const std::vector<PlotPoint>& points) {
  if (points.size() <= kMostPoints) return points;
  std::vector<PlotPoint> result;
  for (std::size_t group = 0; group < kMostPoints; ++group) {
    const std::size_t begin = group * points.size() / kMostPoints;
    const std::size_t end = (group + 1) * points.size() / kMostPoints;
    PlotPoint mean;
    for (std::size_t i = begin; i < end; ++i) {
      mean.x += points[i].x / static_cast<double>(end - begin);
      mean.y += points[i].y / static_cast<double>(end - begin);
    }
    result.push_back(mean);
  }
  return result;
}

PlotSeries series_of(const RunRecord& run, const Chart& chart, const AxisText& axis) {
  PlotSeries series{run.name, {}};
  for (const MetricsLine& line : chart.validation ? run.validations : run.training) {
    const auto found = line.numbers.find(chart.key);
    if (found == line.numbers.end() || !std::isfinite(found->second)) continue;
    series.points.push_back({axis.position(line), found->second});
  }
  series.points = thinned(series.points);
  return series;
}

// Cuts what is far above the rest (the loss of the first steps, a leap of the gradient), which would flatten the rest.
void cut_outliers(std::vector<PlotSeries>& curves) {
  std::vector<double> values;
  for (const PlotSeries& curve : curves) {
    for (const PlotPoint& point : curve.points) values.push_back(point.y);
  }
  if (values.size() < 50) return;
  std::sort(values.begin(), values.end());
  const double low = values[values.size() / 50];
  const double high = values[values.size() - 1 - values.size() / 50];
  const double top = high + kOutlier * (high - low) / 2;
  for (PlotSeries& curve : curves) {
    for (PlotPoint& point : curve.points) point.y = std::min(point.y, top);
  }
}

std::string chart_of(const std::vector<RunRecord>& runs, const Chart& chart, const AxisText& axis) {
  CurvePlot plot{.title = chart.title, .x_label = axis.label, .y_label = "", .curves = {}, .data = {}, .marks = {}};
  std::size_t points = 0;
  std::size_t longest = 0;
  for (const RunRecord& run : runs) {
    plot.curves.push_back(series_of(run, chart, axis));
    points += plot.curves.back().points.size();
    longest = std::max(longest, plot.curves.back().points.size());
  }
  if (points == 0) return "";
  cut_outliers(plot.curves);
  return svg_element(plot,
                     {.width = 600, .height = 360, .legend = false, .dashes = false, .dots = longest <= kFewPoints});
}

std::string key_of(std::size_t run) {
  return fmt::format("<span class=\"key\" style=\"background:{}\"></span>", curve_colour(run));
}

// The best of a figure over all validations, as text; "–" when there is none.
std::string best_of(const RunRecord& run, const std::string& key, bool lowest, int digits) {
  double best = std::nan("");
  for (const MetricsLine& line : run.validations) {
    const auto found = line.numbers.find(key);
    if (found == line.numbers.end()) continue;
    if (std::isnan(best) || (lowest ? found->second < best : found->second > best)) best = found->second;
  }
  return std::isnan(best) ? "\u2013" : fmt::format("{:.{}f}", best, digits);
}

// Tokens a second over all of the training lines, each for the time it took.
std::string speed_of(const RunRecord& run) {
  std::vector<double> speeds;
  for (const MetricsLine& line : run.training) {
    const auto found = line.numbers.find("target_tokens_per_second");
    if (found != line.numbers.end()) speeds.push_back(found->second);
  }
  if (speeds.empty()) return "\u2013";
  std::nth_element(speeds.begin(), speeds.begin() + static_cast<std::ptrdiff_t>(speeds.size() / 2), speeds.end());
  return fmt::format("{:.0f}", speeds[speeds.size() / 2]);
}

MetricsLine last_of(const RunRecord& run) {
  MetricsLine last;
  for (const std::vector<MetricsLine>* lines : {&run.training, &run.validations}) {
    if (!lines->empty() && lines->back().steps >= last.steps) last = lines->back();
  }
  return last;
}

std::string table_of(const std::vector<RunRecord>& runs) {
  std::string html =
      "<table class=\"runs\"><tr><th class=\"text\">run</th><th>steps</th><th>target tokens</th><th>minutes</th>"
      "<th>tokens a second</th><th>best nll</th><th>best BLEU</th><th>best chrF</th></tr>\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const MetricsLine last = last_of(runs[i]);
    html += fmt::format(
        "<tr><td class=\"text\">{}{}</td><td>{:.0f}</td><td>{:.2f} M</td><td>{:.1f}</td><td>{}</td><td>{}</td>"
        "<td>{}</td><td>{}</td></tr>\n",
        key_of(i), escaped(runs[i].name), last.steps, last.tokens / 1e6, last.seconds / 60, speed_of(runs[i]),
        best_of(runs[i], "valid_nll", true, 3), best_of(runs[i], "bleu", false, 1), best_of(runs[i], "chrf", false, 1));
  }
  return html + "</table>\n";
}

// The options in which the runs differ; of one run, what shaped it.
std::string options_of(const std::vector<RunRecord>& runs) {
  std::set<std::string> names;
  for (const RunRecord& run : runs) {
    for (const auto& [name, value] : run.options) names.insert(name);
  }
  const auto value_of = [](const RunRecord& run, const std::string& name) {
    const auto found = run.options.find(name);
    return found == run.options.end() ? std::string() : found->second;
  };
  std::string rows;
  for (const std::string& name : names) {
    const auto same = [&](const RunRecord& run) { return value_of(run, name) == value_of(runs.front(), name); };
    const bool telling = runs.size() == 1 ? !value_of(runs.front(), name).empty()
                                          : !std::all_of(runs.begin(), runs.end(), same) && name != "output";
    if (!telling) continue;
    rows += fmt::format("<tr><td class=\"text\">{}</td>", escaped(name));
    for (const RunRecord& run : runs) rows += fmt::format("<td class=\"text\">{}</td>", escaped(value_of(run, name)));
    rows += "</tr>\n";
  }
  if (rows.empty()) return "";
  std::string head = "<tr><th class=\"text\">option</th>";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    head += fmt::format("<th class=\"text\">{}{}</th>", key_of(i), escaped(runs[i].name));
  }
  const std::string table = "<table class=\"options\">" + head + "</tr>\n" + rows + "</table>\n";
  if (runs.size() > 1) return "<h2>What differs</h2>\n" + table;
  return "<h2>Options</h2>\n<details><summary>all of them</summary>\n" + table + "</details>\n";
}

// Some of the translations, evenly spread: the first and the last always.
std::vector<SampleLine> some_of(const std::vector<SampleLine>& all) {
  if (all.size() <= kMostTranslations) return all;
  std::vector<SampleLine> some;
  for (std::size_t i = 0; i < kMostTranslations; ++i) {
    some.push_back(all[i * (all.size() - 1) / (kMostTranslations - 1)]);
  }
  return some;
}

std::string samples_of(const std::vector<RunRecord>& runs) {
  std::vector<const Sample*> sentences;  // of all runs, each source once
  for (const RunRecord& run : runs) {
    for (const Sample& sample : run.samples) {
      const auto same = [&](const Sample* known) { return known->source == sample.source; };
      if (std::none_of(sentences.begin(), sentences.end(), same)) sentences.push_back(&sample);
    }
  }
  if (sentences.empty()) return "";
  std::string html = "<h2>Translations over time</h2>\n";
  for (const Sample* sentence : sentences) {
    html += fmt::format(
        "<div class=\"sample\"><table><tr><td class=\"step\">source</td><td class=\"text source\">{}</td></tr>\n"
        "<tr><td class=\"step\">reference</td><td class=\"text reference\">{}</td></tr>\n",
        escaped(sentence->source), escaped(sentence->reference));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (const Sample& sample : runs[i].samples) {
        if (sample.source != sentence->source) continue;
        for (const SampleLine& line : some_of(sample.translations)) {
          html += fmt::format("<tr><td class=\"step\">{}step {:.0f}</td><td class=\"text\">{}</td></tr>\n", key_of(i),
                              line.steps, escaped(line.translation));
        }
      }
    }
    html += "</table></div>\n";
  }
  return html;
}

}  // namespace

std::string report_page(const std::vector<RunRecord>& runs, ReportAxis axis) {
  base::check(!runs.empty(), "report: no runs");
  const AxisText text = axis_text(axis);
  std::string charts;
  for (const Chart& chart : kCharts) charts += chart_of(runs, chart, text);
  std::string names;
  for (const RunRecord& run : runs) names += (names.empty() ? "" : ", ") + run.name;
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<h1>Training: {0}</h1>\n{2}<h2>Curves</h2>\n<div class=\"charts\">\n{3}"
      "</div>\n{4}{5}</body>\n</html>\n",
      escaped(names), kStyle, table_of(runs), charts, samples_of(runs), options_of(runs));
}

}  // namespace zhuyi::cli
