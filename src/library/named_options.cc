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
#include "base/memory_text.h"

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

// A flag, or with `opposite` the one that switches it off.
Setter flag(bool Options::*member, bool opposite = false) {
  return [member, opposite](Options& options, const std::string& name, const std::string& value) {
    options.*member = named<bool>(name, value, {{"true", true}, {"false", false}}) != opposite;
  };
}

Setter text(std::string Options::*member) {
  return [member](Options& options, const std::string& /*name*/, const std::string& value) { options.*member = value; };
}

void add_ban(Options& options, const std::string& /*name*/, const std::string& value) { options.ban.push_back(value); }

void add_ban_pieces(Options& options, const std::string& /*name*/, const std::string& value) {
  options.ban_pieces.push_back(split_at(value, ' '));
}

void add_suppress_pieces(Options& options, const std::string& /*name*/, const std::string& value) {
  for (std::string& piece : split_at(value, ' ')) options.suppress_pieces.push_back(std::move(piece));
}

void add_phrases(Options& options, const std::string& /*name*/, const std::string& value) {
  for (const std::string& phrase : split_at(value, '\t')) options.phrases.push_back(split_at(phrase, '|'));
}

void set_memory(Options& options, const std::string& name, const std::string& value) {
  options.memory = base::within("options", [&] { return base::memory_of(value, name); });
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
          {"phrases", add_phrases},
          {"glossary", add_glossary_entry},
          {"ban", add_ban},
          {"ban-pieces", add_ban_pieces},
          {"suppress-pieces", add_suppress_pieces},
          {"unknown", set_unknown},
          {"split", flag(&Options::split)},
          {"no-split", flag(&Options::split, true)},
          {"language", text(&Options::language)},
          {"max-source-tokens", number(&Options::max_source_tokens)},
          {"protect", flag(&Options::protect)},
          {"no-protect", flag(&Options::protect, true)},
          {"alignment", set_alignment},
          {"alignment-layer", number(&Options::alignment_layer)},
          {"alignment-head", number(&Options::alignment_head)},
          {"rescore-weight", number(&Options::rescore_weight)},
          {"rescore-reverse", flag(&Options::rescore_reverse)},
          {"threads", number(&Options::threads)},
          {"batch", number(&Options::batch)},
          {"batch-tokens", number(&Options::batch_tokens)},
          {"memory", set_memory}};
}

// The name that an option has now, of one that it had in version 0.1; those work for one version more.
std::string present_name(const std::string& name) {
  if (name == "phrase") return "phrases";
  return name == "suppress-piece" ? "suppress-pieces" : name;
}

}  // namespace

void set_option(Options& options, const std::string& name, const std::string& value) {
  std::string known;
  const std::string present = present_name(name);
  for (const auto& [candidate, set] : setters()) {
    if (candidate == present) {
      set(options, name, value);
      return;
    }
    known += (known.empty() ? "" : ", ") + std::string(candidate);
  }
  fail(ErrorKind::invalid_argument, "options: there is none named '{}', expected one of {}", name, known);
}

}  // namespace zhuyi::library
