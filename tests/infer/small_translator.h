#pragma once
// A tiny model with random weights and a tokenizer trained on a few lines, for tests of text-to-text translation.

#include <string>
#include <vector>

#include "base/random.h"
#include "formats/model_file.h"

namespace zhuyi::infer {

// Lines in English, Chinese and a few characters that stand alone.
inline std::vector<std::string> training_lines() {
  return {"The file is open.", "Close the file and save it.", "Save all files now!", "Is the window open?",
          "文件已打开。",      "请关闭文件并保存。",          "现在保存所有文件！",  "窗口打开了吗？",
          "Page 12 of 345",    "第 12 页，共 345 页",         "open, close, save",   "打开、关闭、保存"};
}

inline text::Tokenizer small_tokenizer() {
  text::TokenizerTraining options;
  options.size = 360;
  options.size_is_limit = true;
  options.threads = 1;
  return text::Tokenizer(text::train_tokenizer(training_lines(), options));
}

// Two layers of width 16, all parameters random, so that outputs are long, odd, and sensitive to every error. Learned
// positions when `max_positions` is given; other numbers with another key.
inline formats::Model small_model(std::int64_t max_positions = 0, std::uint64_t key = 11) {
  text::Tokenizer tokenizer = small_tokenizer();
  nn::Config config;
  config.source_vocabulary = config.target_vocabulary = tokenizer.size();
  config.d_model = 16;
  config.d_ff = 24;
  config.heads = 2;
  config.encoder_layers = config.decoder_layers = 2;
  if (max_positions > 0) {
    config.positions = nn::Positions::learned;
    config.max_positions = max_positions;
  }
  auto transformer = std::make_unique<nn::Transformer>(config, tokenizer.bos(), 7);
  base::Random random(key);
  for (const autograd::ParameterPtr& parameter : transformer->parameters().list()) {
    for (float& x : parameter->value.data<float>()) x += static_cast<float>(0.3 * random.normal());
  }
  return {std::move(transformer), tokenizer, tokenizer, {{"made-by", "a test"}}};
}

}  // namespace zhuyi::infer
