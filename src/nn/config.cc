#include "nn/config.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"

namespace zhuyi::nn {

using base::check;
using base::ErrorKind;
using base::fail;
using nlohmann::json;

template <class E>
std::string word_of(E value) {
  for (const auto& [known, word] : Names<E>::values) {
    if (known == value) return std::string(word);
  }
  fail(ErrorKind::internal, "an enumeration value without a name");
}

template <class E>
E value_of(const std::string& word) {
  std::string words;
  for (const auto& [value, known] : Names<E>::values) {
    if (known == word) return value;
    words += (words.empty() ? "" : ", ") + std::string(known);
  }
  fail(ErrorKind::invalid_argument, "'{}' is not one of: {}", word, words);
}

template std::string word_of(NormPlacement);
template std::string word_of(NormKind);
template std::string word_of(Positions);
template std::string word_of(Tying);
template std::string word_of(kernels::SmoothingForm);
template std::string word_of(kernels::Activation);
template std::string word_of(kernels::Similarity);
template NormPlacement value_of(const std::string&);
template NormKind value_of(const std::string&);
template Positions value_of(const std::string&);
template Tying value_of(const std::string&);
template kernels::SmoothingForm value_of(const std::string&);
template kernels::Activation value_of(const std::string&);
template kernels::Similarity value_of(const std::string&);

void validate(const Config& c) {
  std::string problems;
  const auto require = [&](bool holds, const std::string& problem) {
    if (!holds) problems += (problems.empty() ? "" : "; ") + problem;
  };
  const auto in_range = [&](const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
    require(value >= least && value <= most, fmt::format("{} is {}, expected {} to {}", name, value, least, most));
  };
  const auto rate = [&](const char* name, double value) {
    require(value >= 0 && value < 1, fmt::format("{} is {}, expected 0 <= {} < 1", name, value, name));
  };
  constexpr std::int64_t kMostPieces = 1 << 24;
  in_range("source-vocabulary", c.source_vocabulary, 4, kMostPieces);
  in_range("target-vocabulary", c.target_vocabulary, 4, kMostPieces);
  in_range("d-model", c.d_model, 1, 1 << 16);
  in_range("d-ff", c.d_ff, 1, 1 << 18);
  in_range("heads", c.heads, 1, 1 << 12);
  in_range("d-k", c.d_k, 0, 1 << 14);
  in_range("d-v", c.d_v, 0, 1 << 14);
  in_range("encoder-layers", c.encoder_layers, 1, 1024);
  in_range("decoder-layers", c.decoder_layers, 1, 1024);
  in_range("max-positions", c.max_positions, 1, 1 << 20);
  if (c.heads > 0 && (c.d_k == 0 || c.d_v == 0)) {
    require(c.d_model % c.heads == 0, fmt::format("heads is {}, which does not divide d-model {}", c.heads, c.d_model));
  }
  require(c.d_model % 2 == 0 || c.positions == Positions::learned || c.positions == Positions::none,
          fmt::format("d-model is {}, sinusoidal positions need an even width", c.d_model));
  rate("dropout", c.dropout);
  rate("attention-dropout", c.attention_dropout);
  rate("feed-forward-dropout", c.feed_forward_dropout);
  rate("label-smoothing", c.label_smoothing);
  require(c.norm_epsilon > 0 && c.norm_epsilon < 1, fmt::format("norm-epsilon is {}, expected 0 to 1", c.norm_epsilon));
  require(c.bandwidth > 0 && std::isfinite(c.bandwidth),
          fmt::format("bandwidth is {}, expected more than 0", c.bandwidth));
  require(c.tying != Tying::all || c.source_vocabulary == c.target_vocabulary,
          fmt::format("tying is all, but the vocabularies have {} and {} pieces", c.source_vocabulary,
                      c.target_vocabulary));
  check(problems.empty(), "configuration: {}", problems);
}

json to_json(const Config& config) {
  json out = json::object();
  for_each_field(config, [&](const char* name, const char*, const auto& value) {
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
      out[name] = word_of(value);
    } else {
      out[name] = value;
    }
  });
  return out;
}

Config config_from_json(const json& in) {
  Config config;
  try {
    check(in.is_object(), "configuration: expected a JSON object");
    std::set<std::string> known;
    for_each_field(config, [&](const char* name, const char*, auto& value) {
      using V = std::remove_cvref_t<decltype(value)>;
      known.insert(name);
      check(in.contains(name), "configuration: '{}' is missing", name);
      if constexpr (std::is_enum_v<V>) {
        check(in.at(name).is_string(), "configuration: {} is {}, expected a word", name, in.at(name).dump());
        value = base::within(name, [&] { return value_of<V>(in.at(name).template get<std::string>()); });
      } else {
        // The conversions of the library would turn 1.5 into 1 and true into 1 without a word.
        const json& found = in.at(name);
        const bool fits = std::is_same_v<V, bool>     ? found.is_boolean()
                          : std::is_same_v<V, double> ? found.is_number()
                                                      : found.is_number_integer();
        check(fits, "configuration: {} is {}, expected {}", name, found.dump(),
              std::is_same_v<V, bool> ? "true or false" : (std::is_same_v<V, double> ? "a number" : "a whole number"));
        value = found.template get<V>();
      }
    });
    for (const auto& [name, value] : in.items()) check(known.contains(name), "configuration: unknown field '{}'", name);
    validate(config);
  } catch (const json::exception& error) {
    fail(ErrorKind::bad_model, "configuration: {}", error.what());
  } catch (const base::Error& error) {
    fail(ErrorKind::bad_model, "{}", error.message());
  }
  return config;
}

namespace {

// Name and what differs from `base`.
struct Preset {
  const char* name;
  void (*change)(Config&);
};

// The rows of "Attention Is All You Need", Table 3, and our small sizes, which learn sooner with pre-norm
// (docs/training.md).
constexpr Preset kPresets[] = {
    {"tiny",
     [](Config& c) {
       c.d_model = 128, c.d_ff = 512, c.heads = 4, c.encoder_layers = c.decoder_layers = 2;
       c.norm_placement = NormPlacement::pre;
     }},
    {"small",
     [](Config& c) {
       c.d_model = 256, c.d_ff = 1024, c.heads = 4, c.encoder_layers = c.decoder_layers = 4;
       c.norm_placement = NormPlacement::pre;
     }},
    {"base", [](Config&) {}},
    {"big", [](Config& c) { c.d_model = 1024, c.d_ff = 4096, c.heads = 16, c.dropout = 0.3; }},
    {"table3-a-h1", [](Config& c) { c.heads = 1, c.d_k = c.d_v = 512; }},
    {"table3-a-h4", [](Config& c) { c.heads = 4, c.d_k = c.d_v = 128; }},
    {"table3-a-h16", [](Config& c) { c.heads = 16, c.d_k = c.d_v = 32; }},
    {"table3-a-h32", [](Config& c) { c.heads = 32, c.d_k = c.d_v = 16; }},
    {"table3-b-dk16", [](Config& c) { c.d_k = 16; }},
    {"table3-b-dk32", [](Config& c) { c.d_k = 32; }},
    {"table3-c-n2", [](Config& c) { c.encoder_layers = c.decoder_layers = 2; }},
    {"table3-c-n4", [](Config& c) { c.encoder_layers = c.decoder_layers = 4; }},
    {"table3-c-n8", [](Config& c) { c.encoder_layers = c.decoder_layers = 8; }},
    {"table3-c-d256", [](Config& c) { c.d_model = 256, c.d_k = c.d_v = 32; }},
    {"table3-c-d1024", [](Config& c) { c.d_model = 1024, c.d_k = c.d_v = 128; }},
    {"table3-c-ff1024", [](Config& c) { c.d_ff = 1024; }},
    {"table3-c-ff4096", [](Config& c) { c.d_ff = 4096; }},
    {"table3-d-dropout0", [](Config& c) { c.dropout = 0; }},
    {"table3-d-dropout0.2", [](Config& c) { c.dropout = 0.2; }},
    {"table3-d-smoothing0", [](Config& c) { c.label_smoothing = 0; }},
    {"table3-d-smoothing0.2", [](Config& c) { c.label_smoothing = 0.2; }},
    {"table3-e-learned", [](Config& c) { c.positions = Positions::learned; }},
};

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& known : kPresets) names.emplace_back(known.name);
  return names;
}

Config preset(const std::string& name) {
  for (const Preset& known : kPresets) {
    if (name != known.name) continue;
    Config config;
    known.change(config);
    return config;
  }
  fail(ErrorKind::invalid_argument, "no preset '{}'; there are: {}", name, fmt::join(preset_names(), ", "));
}

}  // namespace zhuyi::nn
