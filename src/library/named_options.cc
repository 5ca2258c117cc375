#include "library/named_options.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace zhuyi::library {
namespace {

using base::ErrorKind;
using base::fail;

[[noreturn]] void refuse(const std::string& name, const std::string& value, std::string_view expected) {
  fail(ErrorKind::invalid_argument, "options: {} is '{}', expected {}", name, value, expected);
}

std::vector<std::string> split_at(std::string_view text, char sign) {
  std::vector<std::string> parts;
  for (std::size_t end = text.find(sign); end != std::string_view::npos; end = text.find(sign)) {
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.emplace_back(text);
  return parts;
}

// The value that stands beside a name.
template <class Value>
Value named(const std::string& name, const std::string& value,
            std::initializer_list<std::pair<std::string_view, Value>> values) {
  std::string known;
  for (const auto& [candidate, result] : values) {
    if (candidate == value) return result;
    known += (known.empty() ? "" : " or ") + std::string(candidate);
  }
  refuse(name, value, known);
}

using Setter = std::function<void(Options&, const std::string& name, const std::string& value)>;

// A number, whole or not as the field is.
template <class Number>
Setter number(Number Options::*member) {
  return [member](Options& options, const std::string& name, const std::string& value) {
    Number parsed{};
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    bool good = error == std::errc() && end == value.data() + value.size();
    if constexpr (std::is_floating_point_v<Number>) good = good && std::isfinite(parsed);
    if (!good) refuse(name, value, std::is_floating_point_v<Number> ? "a number" : "a whole number in its range");
    options.*member = parsed;
  };
}

Setter flag(bool Options::*member) {
  return [member](Options& options, const std::string& name, const std::string& value) {
    options.*member = named<bool>(name, value, {{"true", true}, {"false", false}});
  };
}

Setter text(std::string Options::*member) {
  return [member](Options& options, const std::string& /*name*/, const std::string& value) { options.*member = value; };
}

// A text that is added to a list.
Setter added(std::vector<std::string> Options::*member) {
  return [member](Options& options, const std::string& /*name*/, const std::string& value) {
    (options.*member).push_back(value);
  };
}

// Texts with a sign between that are added to a list as one.
Setter added(std::vector<std::vector<std::string>> Options::*member, char sign) {
  return [member, sign](Options& options, const std::string& /*name*/, const std::string& value) {
    (options.*member).push_back(split_at(value, sign));
  };
}

void set_length_penalty(Options& options, const std::string& name, const std::string& value) {
  using enum LengthPenalty;
  options.length_penalty = named<LengthPenalty>(name, value, {{"gnmt", gnmt}, {"power", power}, {"none", none}});
}

void set_stop(Options& options, const std::string& name, const std::string& value) {
  options.stop = named<Stop>(
      name, value,
      {{"bound", Stop::bound}, {"beam-finished", Stop::beam_finished}, {"first-finished", Stop::first_finished}});
}

void set_unknown(Options& options, const std::string& name, const std::string& value) {
  options.unknown =
      named<Unknown>(name, value, {{"forbid", Unknown::forbid}, {"keep", Unknown::keep}, {"copy", Unknown::copy}});
}

void set_alignment(Options& options, const std::string& name, const std::string& value) {
  options.alignment = named<bool>(name, value, {{"none", false}, {"hard", true}, {"soft", true}});
}

void add_glossary_entry(Options& options, const std::string& name, const std::string& value) {
  const std::vector<std::string> columns = split_at(value, '\t');
  if (columns.size() != 2 || columns[0].empty() || columns[1].empty()) {
    refuse(name, value, "a source term, a tab and its translations with | between");
  }
  options.glossary.push_back({columns[0], split_at(columns[1], '|')});
}

std::vector<std::pair<std::string_view, Setter>> setters() {
  return {{"beam", number(&Options::beam)},
          {"n-best", number(&Options::n_best)},
          {"length-penalty", set_length_penalty},
          {"alpha", number(&Options::alpha)},
          {"coverage-penalty", number(&Options::coverage_penalty)},
          {"repetition-penalty", number(&Options::repetition_penalty)},
          {"no-repeat-ngram", number(&Options::no_repeat_ngram)},
          {"max-repeats", number(&Options::max_repeats)},
          {"stop", set_stop},
          {"patience", number(&Options::patience)},
          {"max-length-factor", number(&Options::max_length_factor)},
          {"max-length-extra", number(&Options::max_length_extra)},
          {"max-length", number(&Options::max_length)},
          {"min-length", number(&Options::min_length)},
          {"min-length-factor", number(&Options::min_length_factor)},
          {"sample", flag(&Options::sample)},
          {"temperature", number(&Options::temperature)},
          {"top-k", number(&Options::top_k)},
          {"top-p", number(&Options::top_p)},
          {"seed", number(&Options::seed)},
          {"prefix", text(&Options::prefix)},
          {"phrase", added(&Options::phrases, '|')},
          {"glossary", add_glossary_entry},
          {"ban", added(&Options::banned)},
          {"ban-pieces", added(&Options::banned_pieces, ' ')},
          {"suppress-piece", added(&Options::suppressed_pieces)},
          {"unknown", set_unknown},
          {"split", flag(&Options::split)},
          {"language", text(&Options::language)},
          {"max-source-tokens", number(&Options::max_source_tokens)},
          {"protect", flag(&Options::protect)},
          {"alignment", set_alignment},
          {"alignment-layer", number(&Options::alignment_layer)},
          {"alignment-head", number(&Options::alignment_head)},
          {"rescore-weight", number(&Options::rescore_weight)},
          {"rescore-reverse", flag(&Options::rescore_reverse)},
          {"threads", number(&Options::threads)},
          {"batch", number(&Options::batch)},
          {"batch-tokens", number(&Options::batch_tokens)},
          {"memory", number(&Options::memory)}};
}

}  // namespace

void set_option(Options& options, const std::string& name, const std::string& value) {
  std::string known;
  for (const auto& [candidate, set] : setters()) {
    if (candidate == name) {
      set(options, name, value);
      return;
    }
    known += (known.empty() ? "" : ", ") + std::string(candidate);
  }
  fail(ErrorKind::invalid_argument, "options: there is none named '{}', expected one of {}", name, known);
}

}  // namespace zhuyi::library
