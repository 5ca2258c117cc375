#pragma once
// Gettext's binary message catalogues (.mo), which hold the texts of most free programs in many languages.

#include <filesystem>
#include <string_view>
#include <vector>

#include "data/pair.h"

namespace zhuyi::data {

// The messages of a catalogue, in its order, as msgid -> msgstr: contexts (before U+0004) are taken off, a plural entry
// gives singular -> first form and plural -> last form (Chinese has one form, which then goes with both), the header is
// left out. Keyboard accelerators and formatting tags (<b>, <span ...>) are taken off both sides; placeholders stay.
// Documents: where a context is written "part|...", as in LibreOffice, "NAME:part"; else "NAME#n" for each 50 entries
// that follow one another (part_name()); NAME is `name`. `line` is the number of the entry, from 1.
// Format: GNU gettext manual, "The Format of GNU MO Files"; either byte order. Throws bad_file for anything that is no
// such file or points outside itself, unsupported for a text encoding other than UTF-8.
std::vector<SentencePair> parse_mo(std::string_view bytes, std::string_view name);

// parse_mo() of a file, under its file name; of a folder, all its .mo files, those in folders below included, in the
// order of their paths. Throws as parse_mo(), not_found, and bad_file when a folder has none.
std::vector<SentencePair> read_mo(const std::filesystem::path& path);

}  // namespace zhuyi::data
