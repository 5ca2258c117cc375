// The C++ interface of the library: the translator of the infer room behind a header that needs nothing else.

#include <zhuyi/translator.h>

#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "infer/rescore.h"
#include "library/guarded.h"
#include "library/options.h"

namespace zhuyi {
namespace {

using library::guarded;

// The number of threads of parallel loops that this thread starts, until the end of the scope.
class ThreadCount {
 public:
  explicit ThreadCount(int count) : before_(base::threads()), set_(count > 0) {
    base::check(count >= 0, "options: threads is {}, expected 1 or more, or 0 for all cores", count);
    if (set_) base::set_threads(count);
  }
  ~ThreadCount() {
    if (set_) base::set_threads(before_);
  }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
  bool set_;
};

library::LoadedTranslator load(std::span<const std::filesystem::path> paths, std::span<const double> weights) {
  std::vector<formats::Model> models;
  for (const std::filesystem::path& path : paths) models.push_back(formats::load_model(path));
  infer::Translator translator(std::move(models), {weights.begin(), weights.end()});
  infer::TranslateOptions defaults = translator.defaults();
  return {std::move(translator), std::move(defaults)};
}

}  // namespace

struct Translator::Shared : library::LoadedTranslator {};

struct Shortlist::Shared {
  std::shared_ptr<const infer::Shortlist> shortlist;
  text::Tokenizer source;  // for which it was read
  text::Tokenizer target;
};

Shortlist::Shortlist(const std::filesystem::path& file, const Translator& translator)
    : shared_(guarded([&] {
        const formats::Model& model = translator.shared_->translator.model();
        return std::make_shared<const Shared>(Shared{
            std::make_shared<const infer::Shortlist>(infer::Shortlist::load(file, model)), model.source, model.target});
      })) {}

Translator::Translator(const std::filesystem::path& model) : Translator(std::span(&model, 1)) {}

Translator::Translator(std::span<const std::filesystem::path> models, std::span<const double> weights)
    : shared_(guarded([&] { return std::make_shared<const Shared>(Shared{load(models, weights)}); })) {}

std::string Translator::translate(const std::string& line, const Options& options) const {
  return std::move(translate_lines(std::span(&line, 1), options).front().text);
}

std::vector<Translation> Translator::translate_lines(std::span<const std::string> lines, const Options& options,
                                                     std::span<const LineOptions> own) const {
  return guarded([&] {
    const infer::Translator& translator = shared_->translator;
    const ThreadCount threads(options.threads);
    std::shared_ptr<const infer::Shortlist> shortlist;
    if (options.shortlist.shared_ != nullptr) {
      const Shortlist::Shared& given = *options.shortlist.shared_;
      base::check(given.source.serialized() == translator.model().source.serialized() &&
                      given.target.serialized() == translator.model().target.serialized(),
                  "options: the shortlist was read for a model with another vocabulary");
      shortlist = given.shortlist;
    }
    const infer::TranslateOptions how = library::translate_options(options, *shared_, std::move(shortlist));
    std::vector<infer::Translation> found =
        translator.translate(lines, how, library::line_options(options, own, lines.size()));
    if (options.rescorer != nullptr) {
      found = infer::rescored(std::move(found), lines, options.rescorer->shared_->translator, how.search,
                              {.weight = options.rescore_weight, .reverse = options.rescore_reverse});
    }
    std::vector<Translation> result;
    for (infer::Translation& translation : found) {
      Translation& next = result.emplace_back(library::public_form(std::move(translation)));
      if (std::ssize(next.alternatives) > options.n_best) {
        next.alternatives.resize(static_cast<std::size_t>(options.n_best));
      }
    }
    return result;
  });
}

std::vector<double> Translator::score(std::span<const std::string> sources,
                                      std::span<const std::string> targets) const {
  return guarded([&] {
    std::vector<double> result;
    for (const infer::ScoredPair& pair : shared_->translator.score(sources, targets)) {
      result.push_back(pair.log_probability);
    }
    return result;
  });
}

std::string version() { return ZHUYI_VERSION; }

}  // namespace zhuyi
