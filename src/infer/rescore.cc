#include "infer/rescore.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace zhuyi::infer {

std::vector<Translation> rescored(std::vector<Translation> translations, std::span<const std::string> lines,
                                  const Translator& other, const SearchOptions& search, const RescoreOptions& options) {
  base::check(translations.size() == lines.size(), "rescore: {} translations of {} lines", translations.size(),
              lines.size());
  base::check(std::isfinite(options.weight), "rescore: a weight of {}, expected a number", options.weight);
  std::vector<std::string> sources;
  std::vector<std::string> targets;
  std::vector<Alternative*> scored;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (Alternative& alternative : translations[i].alternatives) {
      const std::string& source = options.reverse ? alternative.text : lines[i];
      const std::string& target = options.reverse ? lines[i] : alternative.text;
      if (!other.can_score(source, target)) continue;
      sources.push_back(source);
      targets.push_back(target);
      scored.push_back(&alternative);
    }
  }
  const std::vector<ScoredPair> scores = other.score(sources, targets);
  for (std::size_t i = 0; i < scored.size(); ++i) {
    const auto length = std::ssize(scores[i].token_log_probabilities);
    scored[i]->score +=
        options.weight * scores[i].log_probability / length_penalty(search.length_penalty, search.alpha, length);
  }
  for (Translation& translation : translations) {
    std::stable_sort(translation.alternatives.begin(), translation.alternatives.end(),
                     [](const Alternative& a, const Alternative& b) {
                       return a.finished != b.finished ? a.finished : a.score > b.score;
                     });
    if (translation.alternatives.empty()) continue;
    translation.text = translation.alternatives.front().text;
    translation.score = translation.alternatives.front().score;
  }
  return translations;
}

}  // namespace zhuyi::infer
