#pragma once
// The options of the library by the names that zhuyi translate has for them, for languages that know no C++.

#include <zhuyi/translator.h>

#include <string>

namespace zhuyi::library {

// Sets the option `name` to what `value` says, or adds `value` where an option is a list. Values have the forms that
// they have for zhuyi translate; where that reads a file, `value` is a line of it. Throws invalid_argument for a name
// that there is not, naming those that there are, and for a value of another form.
void set_option(Options& options, const std::string& name, const std::string& value);

}  // namespace zhuyi::library
