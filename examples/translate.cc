// Translates standard input line by line: example_translate MODEL < text
#include <zhuyi/translator.h>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const zhuyi::Translator translator(argv[1]);
  for (std::string line; std::getline(std::cin, line);) std::cout << translator.translate(line) << "\n";
}
