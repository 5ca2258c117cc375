// zhuyi attention: the idea in one line, a lookup that weighs. What a small table of keys and values says about a
// query.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/curve_plot.h"
#include "nn/config.h"
#include "nn/estimator.h"
#include "tensor/tensor.h"

namespace zhuyi::cli {
namespace {

using kernels::Similarity;
using kernels::SimilarityOptions;
using tensor::DType;
using tensor::Tensor;

// Waists in cm and weights in kg of three people, and a waist whose weight is asked for.
constexpr const char* kKeys = "51,56,58";
constexpr const char* kValues = "40,43,48";
constexpr const char* kQuery = "57";

struct Options {
  std::vector<std::string> keys = {kKeys};
  std::vector<std::string> values = {kValues};
  std::vector<std::string> queries = {kQuery};
  std::string kernel = "gaussian";
  double bandwidth = 1;
  std::string plot;
  bool json = false;
};

struct Table {
  Tensor keys;     // [keys, d]
  Tensor values;   // [keys, width]
  Tensor queries;  // [queries, d]
  SimilarityOptions similarity;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

double number_of(std::string_view option, std::string_view text) {
  const std::string_view digits = trimmed(text);
  double number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  base::check(problem == std::errc{} && end == digits.data() + digits.size() && std::isfinite(number),
              "{}: '{}' is not a number; expected numbers separated by commas, such as {}", option, digits, kKeys);
  return number;
}

// The points of an option, one a row: numbers separated by commas, the numbers of one vector by colons.
Tensor points_of(std::string_view option, const std::vector<std::string>& texts) {
  std::vector<double> numbers;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  for (const std::string& text : texts) {
    if (trimmed(text).empty()) continue;
    for (const std::string_view point : split(text, ',')) {
      const std::vector<std::string_view> coordinates = split(point, ':');
      const auto count = static_cast<std::int64_t>(coordinates.size());
      if (rows == 0) width = count;
      base::check(count == width, "{}: '{}' has {} numbers, those before it {}; expected equally many", option,
                  trimmed(point), count, width);
      for (const std::string_view coordinate : coordinates) numbers.push_back(number_of(option, coordinate));
      ++rows;
    }
  }
  base::check(rows > 0, "{}: no numbers; expected at least one", option);
  return Tensor::of(rows, width, numbers, DType::f64);
}

Table table_of(const Options& options) {
  Table table{points_of("--keys", options.keys), points_of("--values", options.values),
              points_of("--query", options.queries),
              SimilarityOptions{nn::value_of<Similarity>(options.kernel), options.bandwidth}};
  base::check(table.keys.rows() == table.values.rows(),
              "{} keys and {} values; each key needs one value (--keys {} --values {})", table.keys.rows(),
              table.values.rows(), kKeys, kValues);
  base::check(table.keys.columns() == table.queries.columns(),
              "keys of {} numbers and queries of {}; a query is compared with keys of its own kind",
              table.keys.columns(), table.queries.columns());
  base::check(std::isfinite(options.bandwidth) && options.bandwidth > 0,
              "--bandwidth: {} is not a positive number; it is the distance at which a key still counts",
              options.bandwidth);
  return table;
}

// The mean of the values of some keys, for each column of the values: what one has without attention.
Tensor mean_of(const Tensor& values, const std::vector<std::int64_t>& rows) {
  Tensor mean = Tensor::zeros(1, values.columns(), DType::f64);
  for (std::int64_t column = 0; column < values.columns(); ++column) {
    double sum = 0;
    for (const std::int64_t row : rows) sum += values.at(row, column);
    mean.matrix<double>()(0, column) = sum / static_cast<double>(rows.size());
  }
  return mean;
}

// The keys in order of their distance to a query; of equally distant ones the earlier first.
std::vector<std::int64_t> by_distance(const Table& table, std::int64_t query) {
  const auto distance = [&](std::int64_t key) {
    double square = 0;
    for (std::int64_t c = 0; c < table.keys.columns(); ++c) {
      square += std::pow(table.queries.at(query, c) - table.keys.at(key, c), 2);
    }
    return square;
  };
  std::vector<std::int64_t> order(static_cast<std::size_t>(table.keys.rows()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, {}, distance);
  return order;
}

struct Means {
  Tensor nearest_two;  // of the only one, when the table has one key
  Tensor all;
};

Means means_of(const Table& table, std::int64_t query) {
  std::vector<std::int64_t> order = by_distance(table, query);
  const Tensor all = mean_of(table.values, order);
  if (order.size() > 2) order.resize(2);
  return {mean_of(table.values, order), all};
}

// "57", or "1:2" for a vector. Nine digits show a weight of 0.0000000126 as well as one of 0.499999994.
std::string text_of(const Tensor& points, std::int64_t row) {
  std::string text;
  for (std::int64_t column = 0; column < points.columns(); ++column) {
    text += fmt::format("{}{:.9g}", column == 0 ? "" : ":", points.at(row, column));
  }
  return text;
}

std::string formula_of(const SimilarityOptions& similarity, std::int64_t d) {
  switch (similarity.kind) {
    case Similarity::gaussian:
      return similarity.bandwidth == 1
                 ? "-|q - k|^2 / 2 (gaussian, bandwidth 1)"
                 : fmt::format("-|q - k|^2 / (2 b^2) (gaussian, bandwidth b = {:.9g})", similarity.bandwidth);
    case Similarity::dot:
      return "q.k (dot)";
    case Similarity::scaled_dot:
      return fmt::format("q.k / sqrt({}) (scaled-dot)", d);
  }
  return "";
}

bool is_default_table(const Options& options) {
  return options.keys == std::vector<std::string>{kKeys} && options.values == std::vector<std::string>{kValues};
}

void print_text(const Options& options, const Table& table, const nn::Estimate& estimate) {
  if (is_default_table(options)) {
    std::cout << "Three people's waist (key, cm) and weight (value, kg). What does someone with the waist of the query "
                 "weigh?\n";
  }
  std::cout << "f(q) = sum of weight * value; weights = softmax over the keys of "
            << formula_of(table.similarity, table.keys.columns()) << "\n";
  for (std::int64_t query = 0; query < table.queries.rows(); ++query) {
    std::cout << "\nquery " << text_of(table.queries, query) << "\n";
    std::cout << fmt::format("  {:>12}  {:>12}  {}\n", "key", "value", "weight");
    for (std::int64_t key = 0; key < table.keys.rows(); ++key) {
      std::cout << fmt::format("  {:>12}  {:>12}  {:.9g}\n", text_of(table.keys, key), text_of(table.values, key),
                               estimate.weights.at(query, key));
    }
    const Means means = means_of(table, query);
    const auto line = [](const std::string& name, const std::string& number) {
      std::cout << fmt::format("  {:<26}  {}\n", name, number);
    };
    line("f(q), the weighted mean", text_of(estimate.values, query));
    if (table.keys.rows() > 2) line("mean of the two nearest", text_of(means.nearest_two, 0));
    if (table.keys.rows() > 1) line(fmt::format("mean of all {}", table.keys.rows()), text_of(means.all, 0));
  }
}

// A number, or an array for a vector.
nlohmann::ordered_json json_of(const Tensor& points, std::int64_t row) {
  if (points.columns() == 1) return points.at(row, 0);
  const auto numbers = points.slice(row, row + 1).data<double>();
  return std::vector<double>(numbers.begin(), numbers.end());
}

nlohmann::ordered_json json_of(const Tensor& points) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::int64_t row = 0; row < points.rows(); ++row) list.push_back(json_of(points, row));
  return list;
}

void print_json(const Table& table, const nn::Estimate& estimate) {
  nlohmann::ordered_json object = {{"kernel", nn::word_of(table.similarity.kind)}};
  if (table.similarity.kind == Similarity::gaussian) object["bandwidth"] = table.similarity.bandwidth;
  object["keys"] = json_of(table.keys);
  object["values"] = json_of(table.values);
  object["estimates"] = nlohmann::ordered_json::array();
  for (std::int64_t query = 0; query < table.queries.rows(); ++query) {
    const Means means = means_of(table, query);
    const auto weights = estimate.weights.slice(query, query + 1).data<double>();
    object["estimates"].push_back({{"query", json_of(table.queries, query)},
                                   {"weights", std::vector<double>(weights.begin(), weights.end())},
                                   {"estimate", json_of(estimate.values, query)},
                                   {"mean_of_two_nearest", json_of(means.nearest_two, 0)},
                                   {"mean_of_all", json_of(means.all, 0)}});
  }
  std::cout << object.dump() << "\n";
}

// f over the queries from left to right, as the model's attention computes it: all of them are one matrix.
PlotSeries curve_of(const Table& table, const SimilarityOptions& similarity, double left, double right) {
  constexpr std::int64_t count = 481;
  std::vector<double> queries;
  for (std::int64_t i = 0; i < count; ++i) {
    queries.push_back(std::lerp(left, right, static_cast<double>(i) / (count - 1)));
  }
  const nn::Estimate estimate =
      nn::estimate(Tensor::of(count, 1, queries, DType::f64), table.keys, table.values, similarity);
  PlotSeries curve;
  curve.label = similarity.kind == Similarity::gaussian ? fmt::format("bandwidth {:.9g}", similarity.bandwidth)
                                                        : nn::word_of(similarity.kind) + " similarity";
  for (std::int64_t i = 0; i < count; ++i) {
    curve.points.push_back({queries[static_cast<std::size_t>(i)], estimate.values.at(i, 0)});
  }
  return curve;
}

void write_plot(const Options& options, const Table& table, const nn::Estimate& estimate) {
  base::check(table.keys.columns() == 1 && table.values.columns() == 1,
              "--plot: keys of {} numbers, values of {}; a curve needs one of each", table.keys.columns(),
              table.values.columns());
  const bool people = is_default_table(options);
  CurvePlot plot{.title = "f(q) = Σ α(q, kᵢ) vᵢ",
                 .x_label = people ? "waist (cm): keys and query" : "keys and query",
                 .y_label = people ? "weight (kg): values and f(q)" : "values and f(q)",
                 .curves = {},
                 .data = {"the table", {}},
                 .marks = {table.queries.rows() == 1 ? "the query" : "the queries", {}}};
  for (std::int64_t i = 0; i < table.keys.rows(); ++i) {
    plot.data.points.push_back({table.keys.at(i, 0), table.values.at(i, 0)});
  }
  for (std::int64_t i = 0; i < table.queries.rows(); ++i) {
    plot.marks.points.push_back({table.queries.at(i, 0), estimate.values.at(i, 0)});
  }
  std::vector<PlotPoint> all = plot.data.points;
  all.insert(all.end(), plot.marks.points.begin(), plot.marks.points.end());
  const auto [first, last] = std::ranges::minmax(all, {}, &PlotPoint::x);
  const bool gaussian = table.similarity.kind == Similarity::gaussian;
  // Far enough to see the curves become flat; one key alone still needs a range.
  const double margin = last.x > first.x ? 0.25 * (last.x - first.x) : std::max(1.0, std::abs(first.x) / 4);
  for (const double factor : gaussian ? std::vector<double>{0.25, 1, 4} : std::vector<double>{1}) {
    plot.curves.push_back(curve_of(table, {table.similarity.kind, factor * table.similarity.bandwidth},
                                   first.x - margin, last.x + margin));
  }
  base::write_file(options.plot, svg_of(plot));
  std::cerr << "wrote " << options.plot << "\n";
}

}  // namespace

Action attention_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  // One text an option, split here: an option then never swallows the word after it, and -3 can be a number.
  const auto points = [&](const std::string& name, std::vector<std::string>& target, const std::string& help,
                          const std::string& initial) {
    return app.add_option(name, target, help)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->option_text("NUMBERS [" + initial + "]");
  };
  points("--keys", options->keys, "what is known: numbers separated by commas, or vectors such as 1:2,3:4", kKeys);
  points("--values", options->values, "what each key stands for, one a key", kValues);
  points("--query", options->queries, "what is asked; several with commas or by giving the option again", kQuery);
  app.add_option("--kernel", options->kernel, "how alike query and key are: gaussian, dot or scaled-dot")
      ->check(CLI::IsMember({"gaussian", "dot", "scaled-dot"}))
      ->option_text("NAME [gaussian]");
  CLI::Option* bandwidth =
      app.add_option("--bandwidth", options->bandwidth, "width of the gaussian kernel, in units of the keys")
          ->option_text("NUMBER [1]");
  app.add_option("--plot", options->plot,
                 "a drawing of f over a range of queries, for a quarter, once and four times the bandwidth")
      ->option_text("FILE.svg");
  app.add_flag("--json", options->json, "one JSON object, its numbers in full precision");
  return [options, bandwidth] {
    base::check(bandwidth->count() == 0 || options->kernel == "gaussian",
                "--bandwidth belongs to the gaussian kernel; {} has none", options->kernel);
    const Table table = table_of(*options);
    const nn::Estimate estimate = nn::estimate(table.queries, table.keys, table.values, table.similarity);
    if (!options->plot.empty()) write_plot(*options, table, estimate);
    if (options->json) {
      print_json(table, estimate);
    } else {
      print_text(*options, table, estimate);
    }
  };
}

}  // namespace zhuyi::cli
