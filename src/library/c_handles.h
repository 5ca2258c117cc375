#pragma once
// What the handles of the C interface hold.

#include <zhuyi/translator.h>

#include <vector>

// Its functions are seen from outside.
#pragma GCC visibility push(default)
#include <zhuyi/zhuyi.h>
#pragma GCC visibility pop

struct zhuyi_translator {
  zhuyi::Translator translator;
};
struct zhuyi_options {
  zhuyi::Options options;
};
struct zhuyi_result {
  std::vector<zhuyi::Translation> lines;
};
