// Errors: kind, message, and where they passed.

#include "base/error.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace zhuyi::base {
namespace {

TEST(Error, CarriesKindAndMessage) {
  try {
    fail(ErrorKind::not_found, "{} of {}", 3, "four");
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "3 of four");
    EXPECT_EQ(dynamic_cast<const Error&>(error).kind(), ErrorKind::not_found);
  }
}

TEST(Error, CheckThrowsOnlyWhenItMust) {
  EXPECT_NO_THROW(check(true, "never"));
  EXPECT_NO_THROW(check_kind(true, ErrorKind::system, "never"));
  try {
    check(false, "rows are {}", 2);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_EQ(error.message(), "rows are 2");
  }
  try {
    check_kind(false, ErrorKind::bad_model, "{}", "broken");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_model);
  }
}

TEST(Within, PutsTheOutermostPlaceFirst) {
  EXPECT_EQ(within("here", [] { return 5; }), 5);
  try {
    within("a file", [] { within("a header", [] { fail(ErrorKind::bad_file, "too short"); }); });
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a file: a header: too short");
    EXPECT_EQ(error.kind(), ErrorKind::bad_file);
  }
  // What is no Error of ours passes as it is.
  EXPECT_THROW(within("here", []() -> int { throw std::out_of_range("x"); }), std::out_of_range);
}

}  // namespace
}  // namespace zhuyi::base
