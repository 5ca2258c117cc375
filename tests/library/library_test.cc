// The library from C++: what its header promises.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zhuyi/translator.h>

#include <atomic>
#include <functional>
#include <thread>

#include "infer/rescore.h"
#include "infer/shortlist.h"
#include "library/library_model.h"

namespace zhuyi::testing {
namespace {

using ::testing::HasSubstr;

class Library : public LibraryModel {};

// The kind and the message of what a body throws.
std::pair<ErrorKind, std::string> thrown(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {ErrorKind::internal, "nothing was thrown"};
}

void expect_same(const std::vector<Translation>& found, const std::vector<infer::Translation>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].text, expected[i].text);
    EXPECT_EQ(found[i].score, expected[i].score);
    EXPECT_EQ(found[i].parts, expected[i].parts);
    EXPECT_EQ(found[i].cut, expected[i].cut);
    EXPECT_EQ(found[i].source_pieces, expected[i].source_pieces);
    ASSERT_EQ(found[i].alternatives.size(), expected[i].alternatives.size());
    for (std::size_t rank = 0; rank < found[i].alternatives.size(); ++rank) {
      const Alternative& a = found[i].alternatives[rank];
      const infer::Alternative& b = expected[i].alternatives[rank];
      EXPECT_EQ(a.text, b.text);
      EXPECT_EQ(a.score, b.score);
      EXPECT_EQ(a.log_probability, b.log_probability);
      EXPECT_EQ(a.end_log_probability, b.end_log_probability);
      EXPECT_EQ(a.finished, b.finished);
      EXPECT_EQ(a.pieces, b.pieces);
      EXPECT_EQ(a.attention, b.alignment);
      ASSERT_EQ(a.words.size(), b.words.size());
      for (std::size_t w = 0; w < a.words.size(); ++w) {
        EXPECT_EQ(a.words[w].text, b.words[w].text);
        EXPECT_EQ(a.words[w].log_probability, b.words[w].log_probability);
      }
    }
  }
}

TEST_F(Library, TranslatesAsTheRoomsBehindIt) {
  const Translator translator(model());
  for (const std::string& line : infer::training_lines()) EXPECT_EQ(translator.translate(line), expected(line));
  EXPECT_EQ(translator.translate(" "), "");
  EXPECT_EQ(version(), ZHUYI_VERSION);
}

// An option by its public name, and the same asked of the room behind.
struct OptionCase {
  const char* name;
  std::function<void(Options&)> ask;
  std::function<void(infer::TranslateOptions&, std::vector<infer::LineOptions>&)> expected;
  bool changes = true;  // the translations of the lines below
};

using Behind = infer::TranslateOptions;
using Own = std::vector<infer::LineOptions>;

std::vector<OptionCase> search_cases() {
  return {
      {"beam", [](Options& o) { o.beam = 2; }, [](Behind& b, Own&) { b.search.beam_size = 2; }},
      {"n_best", [](Options& o) { o.n_best = 3; }, [](Behind& b, Own&) { b.search.n_best = 3; }},
      {"power", [](Options& o) { o.length_penalty = LengthPenalty::power; },
       [](Behind& b, Own&) { b.search.length_penalty = infer::LengthPenalty::power; }},
      {"none", [](Options& o) { o.length_penalty = LengthPenalty::none; },
       [](Behind& b, Own&) { b.search.length_penalty = infer::LengthPenalty::none; }},
      {"alpha", [](Options& o) { o.alpha = 2; }, [](Behind& b, Own&) { b.search.alpha = 2; }},
      {"coverage", [](Options& o) { o.coverage_penalty = 1; }, [](Behind& b, Own&) { b.search.coverage_penalty = 1; }},
      {"repetition", [](Options& o) { o.repetition_penalty = 2; },
       [](Behind& b, Own&) { b.search.repetition_penalty = 2; }},
      {"no_repeat", [](Options& o) { o.no_repeat_ngram = 1; }, [](Behind& b, Own&) { b.search.no_repeat_ngram = 1; }},
      {"max_repeats", [](Options& o) { o.max_repeats = 1; }, [](Behind& b, Own&) { b.search.max_repeats = 1; }},
      {"first", [](Options& o) { o.stop = Stop::first_finished; },
       [](Behind& b, Own&) { b.search.stop = infer::Stop::first_finished; }},
      {"patience", [](Options& o) { o.stop = Stop::beam_finished, o.patience = 0.25; },
       [](Behind& b, Own&) { b.search.stop = infer::Stop::beam_finished, b.search.patience = 0.25; }},
      {"max_factor", [](Options& o) { o.max_length_factor = 0.25; },
       [](Behind& b, Own&) { b.search.max_length_factor = 0.25; }},
      {"max_extra", [](Options& o) { o.max_length_extra = 2; }, [](Behind& b, Own&) { b.search.max_length_extra = 2; }},
      {"max", [](Options& o) { o.max_length = 7; }, [](Behind& b, Own&) { b.search.max_length = 7; }},
      {"min", [](Options& o) { o.min_length = 20; }, [](Behind& b, Own&) { b.search.min_length = 20; }},
      {"min_factor", [](Options& o) { o.min_length_factor = 2; },
       [](Behind& b, Own&) { b.search.min_length_factor = 2; }},
      {"sample", [](Options& o) { o.sample = true; }, [](Behind& b, Own&) { b.search.sampling.on = true; }},
      {"sampling", [](Options& o) { o.sample = true, o.temperature = 2, o.top_k = 9, o.top_p = 0.9, o.seed = 5; },
       [](Behind& b, Own&) {
         b.search.sampling = {.on = true, .temperature = 2, .top_k = 9, .top_p = 0.9, .seed = 5};
       }},
  };
}

std::vector<OptionCase> text_cases() {
  return {
      {"prefix", [](Options& o) { o.prefix = "请"; },
       [](Behind&, Own& own) {
         for (auto& line : own) line.prefix = "请";
       }},
      {"phrases",
       [](Options& o) {
         o.phrases = {{"文件", "窗口"}};
       },
       [](Behind&, Own& own) {
         for (auto& line : own) line.phrases = {{"文件", "窗口"}};
       }},
      {"glossary",
       [](Options& o) {
         o.glossary = {{"file", {"文件"}}};
       },
       [](Behind& b, Own&) {
         b.glossary = {{"file", {"文件"}}};
       }},
      {"ban",
       [](Options& o) {
         o.ban = {"A", "e"};
       },
       [](Behind& b, Own&) {
         b.banned = {"A", "e"};
       }},
      {"keep", [](Options& o) { o.unknown = Unknown::keep; },
       [](Behind& b, Own&) { b.unknown = infer::Unknown::keep; }},
      {"copy", [](Options& o) { o.unknown = Unknown::copy; },
       [](Behind& b, Own&) { b.unknown = infer::Unknown::copy; }},
      {"split", [](Options& o) { o.split = false; }, [](Behind& b, Own&) { b.split = false; }},
      {"language", [](Options& o) { o.language = "de"; },
       [](Behind& b, Own&) { b.splitter = text::SentenceSplitter("de"); }},
      {"max_source", [](Options& o) { o.max_source_tokens = 16; }, [](Behind& b, Own&) { b.max_source_tokens = 16; }},
      {"protect", [](Options& o) { o.protect = false; }, [](Behind& b, Own&) { b.protect = false; }},
      {"alignment", [](Options& o) { o.alignment = true; }, [](Behind& b, Own&) { b.alignment.on = true; }},
      {"layer", [](Options& o) { o.alignment = true, o.alignment_layer = 1, o.alignment_head = 2; },
       [](Behind& b, Own&) { b.alignment = {.on = true, .layer = 0, .head = 1}; }},
      {"batch", [](Options& o) { o.batch = 1; }, [](Behind&, Own&) {}, false},
      {"batch_tokens", [](Options& o) { o.batch_tokens = 1; }, [](Behind&, Own&) {}, false},
      {"threads", [](Options& o) { o.threads = 1; }, [](Behind&, Own&) {}, false},
  };
}

// Everything that two lists of translations may differ in.
std::string summary(const std::vector<infer::Translation>& translations) {
  std::string text;
  for (const infer::Translation& translation : translations) {
    text += fmt::format("{} {} {}\n", translation.parts, translation.source_pieces.size(), translation.cut);
    for (const infer::Alternative& a : translation.alternatives) text += fmt::format("{} {}\n", a.score, a.text);
  }
  return text;
}

TEST_F(Library, EveryOptionReachesTheTranslation) {
  const std::vector<std::string> lines = {
      "Close the file and save it.", "Is %s open? Save all files now!", "Das Fenster ist evtl. Offen.",
      "Save all files and close the window and open the file on page 12 of 345, save it and close it again now"};
  // A model, and so few pieces, the end and the unknown one among them, that every option matters.
  constexpr std::uint64_t kKey = 35;
  formats::save_model(file("changing.safetensors"), infer::small_model(0, kKey));
  const Translator translator(file("changing.safetensors"));
  const infer::Translator behind(infer::small_model(0, kKey));
  std::vector<OptionCase> cases = search_cases();
  for (OptionCase& option : text_cases()) cases.push_back(std::move(option));
  const std::string few = folder().write("few", "\t</s> <unk> <0x41> e a o s t n\n");
  const Shortlist shortlist(few, translator);
  Behind plain = behind.defaults();
  plain.search.max_length_extra = 12;
  plain.search.shortlist = std::make_shared<infer::Shortlist>(infer::Shortlist::load(few, behind.model()));
  const std::string unchanged = summary(behind.translate(lines, plain));
  for (const OptionCase& option : cases) {
    SCOPED_TRACE(option.name);
    Options options;
    options.max_length_extra = 12;
    options.shortlist = shortlist;
    option.ask(options);
    Behind how = plain;
    Own own(lines.size());
    option.expected(how, own);
    const std::vector<infer::Translation> expected = behind.translate(lines, how, own);
    expect_same(translator.translate_lines(lines, options), expected);
    EXPECT_EQ(summary(expected) != unchanged, option.changes);
  }
}

TEST_F(Library, PiecesCanBeForbidden) {
  const Translator translator(model());
  Options options;
  options.max_length_extra = 12;
  const std::string line = "Close the file";
  const auto pieces = [&] { return translator.translate_lines({&line, 1}, options)[0].alternatives[0].pieces; };
  const std::vector<std::string> before = pieces();
  ASSERT_GE(before.size(), 3u);
  options.ban_pieces = {{before[1], before[2]}};
  const std::vector<std::string> banned = pieces();
  EXPECT_EQ(std::search(banned.begin(), banned.end(), before.begin() + 1, before.begin() + 3), banned.end());
  options.suppress_pieces = {before[0]};
  EXPECT_THAT(pieces(), ::testing::Not(::testing::Contains(before[0])));
  options.suppress_pieces = {"no such piece"};
  EXPECT_EQ(thrown(pieces), std::pair(ErrorKind::invalid_argument,
                                      std::string("options: the vocabulary has no piece 'no such piece'")));
}

TEST_F(Library, OldNamesAskForTheSame) {
  const Translator translator(model());
  const std::vector<std::string> lines = {"Close the file"};
  const auto texts = [&](const Options& options) { return translator.translate_lines(lines, options)[0].text; };
  Options plain;
  plain.max_length_extra = 12;
  const std::vector<std::string> found = translator.translate_lines(lines, plain)[0].alternatives[0].pieces;
  ASSERT_GE(found.size(), 3u);
  const std::string begin = texts(plain).substr(0, 1);
  Options now = plain;
  Options before = plain;
  now.ban = before.banned = {begin};
  EXPECT_EQ(texts(before), texts(now));
  EXPECT_NE(texts(before), texts(plain));
  now = before = plain;
  now.ban_pieces = before.banned_pieces = {{found[1], found[2]}};
  EXPECT_EQ(texts(before), texts(now));
  EXPECT_NE(texts(before), texts(plain));
  now = before = plain;
  now.suppress_pieces = before.suppressed_pieces = {found[0]};
  EXPECT_EQ(texts(before), texts(now));
  EXPECT_NE(texts(before), texts(plain));
}

TEST_F(Library, ShortlistsAndRescoring) {
  const Translator translator(model());
  const infer::Translator behind(infer::small_model());
  const std::vector<std::string> lines = {"Close the file", "Save it!"};
  const std::string list = folder().write("list", "\t</s> ▁ <0x41> <0x42> <0x43>\n");
  Options options;
  options.n_best = 2;
  options.max_length_extra = 12;
  options.shortlist = Shortlist(list, translator);
  infer::TranslateOptions how = behind.defaults();
  how.search.n_best = 2;
  how.search.max_length_extra = 12;
  how.search.shortlist = std::make_shared<infer::Shortlist>(infer::Shortlist::load(list, behind.model()));
  expect_same(translator.translate_lines(lines, options), behind.translate(lines, how));
  options.shortlist = {};
  how.search.shortlist = nullptr;
  for (const bool reverse : {false, true}) {
    options.rescorer = std::make_shared<const Translator>(other());
    options.rescore_weight = 0.5;
    options.rescore_reverse = reverse;
    how.search.n_best = 4;
    std::vector<infer::Translation> expected = behind.translate(lines, how);
    const std::string unchanged = summary(expected);
    expected = infer::rescored(std::move(expected), lines, infer::Translator(infer::small_model(0, 5)), how.search,
                               {.weight = 0.5, .reverse = reverse});
    EXPECT_NE(summary(expected), unchanged);
    for (infer::Translation& translation : expected) translation.alternatives.resize(2);
    expect_same(translator.translate_lines(lines, options), expected);
  }
}

TEST_F(Library, EachLineMayHaveOptionsOfItsOwn) {
  const Translator translator(model());
  const std::vector<std::string> lines = {"Close the file", "Save it!", "Is it open?"};
  Options options;
  options.prefix = "打开";  // of lines without options of their own
  const std::vector<LineOptions> own = {{.prefix = "关闭"}, {}, {.phrases = {{"窗口"}}}};
  const std::vector<Translation> found = translator.translate_lines(lines, options, own);
  EXPECT_TRUE(found[0].text.starts_with("关闭")) << found[0].text;
  EXPECT_EQ(found[1].text, expected(lines[1]));
  EXPECT_THAT(found[2].text, HasSubstr("窗口"));
  EXPECT_TRUE(translator.translate(lines[1], options).starts_with("打开"));
  EXPECT_THAT(thrown([&] {
                translator.translate_lines({lines.data(), 2}, options, own);
              }).second,
              HasSubstr("2 lines, but options of 3"));
}

TEST_F(Library, AlignmentsPointAtTheLargestWeight) {
  const std::string line = "Close the file";
  Options options;
  options.alignment = true;
  options.max_length_extra = 4;
  const Translation found = Translator(model()).translate_lines({&line, 1}, options)[0];
  const Alternative& best = found.alternatives[0];
  ASSERT_FALSE(best.alignment.empty());
  ASSERT_EQ(best.alignment.size(), best.attention.size());
  for (const auto& [source, target] : best.alignment) {
    const std::vector<float>& row = best.attention.at(static_cast<std::size_t>(target));
    ASSERT_EQ(row.size(), found.source_pieces.size());
    for (const float weight : row) EXPECT_LE(weight, row.at(static_cast<std::size_t>(source)));
  }
}

TEST_F(Library, ErrorsAreOfOneType) {
  EXPECT_EQ(thrown([] { Translator(file("missing")); }).first, ErrorKind::not_found);
  EXPECT_EQ(thrown([] { Translator(folder().write("junk", "no model")); }).first, ErrorKind::bad_model);
  const Translator translator(model());
  EXPECT_EQ(thrown([&] { Shortlist(file("missing"), translator); }).first, ErrorKind::not_found);
  EXPECT_EQ(thrown([&] { Shortlist(folder().write("bad", "x\ty z\n"), translator); }).first, ErrorKind::bad_file);
  const auto message = [&](const std::function<void(Options&)>& ask) {
    Options options;
    ask(options);
    const auto [kind, text] = thrown([&] { translator.translate("Save it!", options); });
    EXPECT_EQ(kind, ErrorKind::invalid_argument);
    return text;
  };
  EXPECT_THAT(message([](Options& o) { o.n_best = 9; }), HasSubstr("n_best is 9"));
  EXPECT_THAT(message([&](Options& o) { o.n_best = -1, o.rescorer = std::make_shared<Translator>(translator); }),
              HasSubstr("n_best is -1"));
  EXPECT_THAT(message([](Options& o) { o.threads = -1; }), HasSubstr("threads is -1"));
  EXPECT_THAT(message([](Options& o) { o.batch = 0; }), HasSubstr("0"));
  EXPECT_THAT(message([](Options& o) { o.alignment_layer = -1; }), HasSubstr("alignment_layer is -1"));
  EXPECT_THAT(message([](Options& o) { o.alignment = true, o.alignment_head = 3; }), HasSubstr("head"));
  EXPECT_THAT(message([](Options& o) { o.beam = 0; }), HasSubstr("beam"));
  EXPECT_EQ(thrown([&] {
              Options options;
              options.interrupted = [] { return true; };
              translator.translate("Save it!", options);
            }).first,
            ErrorKind::interrupted);
}

TEST_F(Library, ScoresAndEnsembles) {
  const std::vector<std::filesystem::path> both = {model(), other()};
  const std::vector<double> weights = {1, 3};
  const std::vector<std::string> sources = {"Close the file", "Save it"};
  const std::vector<std::string> targets = {"关闭", "保存"};
  std::vector<formats::Model> models;
  models.push_back(infer::small_model());
  models.push_back(infer::small_model(0, 5));
  const std::vector<infer::ScoredPair> expected = infer::Translator(std::move(models), weights).score(sources, targets);
  const std::vector<double> found = Translator(both, weights).score(sources, targets);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(found[i], expected[i].log_probability);
}

TEST_F(Library, ManyThreadsShareOneModel) {
  const Translator translator(model());
  const std::vector<std::string> lines = infer::training_lines();
  std::vector<std::string> texts;
  for (const std::string& line : lines) texts.push_back(expected(line));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const Translator copy = translator;
      Options options;
      options.threads = static_cast<int>(t % 3);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::size_t at = (i + t) % lines.size();
        if (copy.translate(lines[at], options) != texts[at]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace zhuyi::testing
