// The C interface, from C.

#include <gtest/gtest.h>

#include "library/library_model.h"
#include "running_program.h"

namespace zhuyi::testing {
namespace {

class CInterface : public LibraryModel {};

TEST_F(CInterface, CProgramsUseIt) {
  const std::string shortlist = folder().write("shortlist", "\t</s> <0x41> <0x42>\n");
  const Outcome outcome = run_program(ZHUYI_C_PROGRAM, {model(), "Close the file", shortlist});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, three_best(model(), "Close the file"));
}

}  // namespace
}  // namespace zhuyi::testing
