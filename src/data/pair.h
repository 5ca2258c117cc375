#pragma once
// A sentence in two languages: what every reader gives and every filter takes.

#include <cstdint>
#include <string>

namespace zhuyi::data {

struct SentencePair {
  std::string source;
  std::string target;
  std::string document;   // what is held out together when a corpus is split
  std::int64_t line = 0;  // where it stood in its file, from 1; 0 where that has no meaning
  double weight = 1;      // how often it is seen in training, beside others
};

}  // namespace zhuyi::data
