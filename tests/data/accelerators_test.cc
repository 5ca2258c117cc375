// Keyboard accelerators: each kind taken off, and everything that only looks like one left alone.

#include "data/accelerators.h"

#include <gtest/gtest.h>

#include <vector>

namespace zhuyi::data {
namespace {

struct Case {
  TextPair given;
  TextPair expected;
};

void expect_all(const std::vector<Case>& cases) {
  for (const auto& [given, expected] : cases) {
    const TextPair result = without_accelerators(given);
    EXPECT_EQ(result.source, expected.source) << given.source;
    EXPECT_EQ(result.target, expected.target) << given.target;
  }
}

TEST(Accelerators, AreTakenOffWhenTheTargetHasThemInParentheses) {
  expect_all({
      {{"_Open", "打开(_O)"}, {"Open", "打开"}},
      {{"Save _As…", "另存为(_A)…"}, {"Save As…", "另存为…"}},
      {{"E_xit", "退出 (_X)"}, {"Exit", "退出"}},
      {{"&Find && Replace...", "查找并替换(&F)..."}, {"Find & Replace...", "查找并替换..."}},
      {{"~File", "文件（~F）"}, {"File", "文件"}},
      {{"Do _Not Send", "不发送(~N)"}, {"Do Not Send", "不发送"}},       // two kinds of mark
      {{"Raise to Top", "置于顶层(_T)"}, {"Raise to Top", "置于顶层"}},  // on one side alone
      {{"_Copy file_name", "复制 file_name(_C)"}, {"Copy file_name", "复制 file_name"}},
      {{"Zoom &1:1", "缩放 1:1(&1)"}, {"Zoom 1:1", "缩放 1:1"}},
      {{"/_File/_Open", "/文件(_F)/打开(_O)"}, {"/File/Open", "/文件/打开"}},
      {{"Apri (_A)", "打开(_A)"}, {"Apri", "打开"}},
  });
}

TEST(Accelerators, AreTakenOffAtTheStartOfWords) {
  expect_all({
      {{"_X axis", "_X 轴"}, {"X axis", "X 轴"}},
      {{"Position _X:", "位置 _X:"}, {"Position X:", "位置 X:"}},
      {{"Rotate &90° Left", "向左旋转 &90°"}, {"Rotate 90° Left", "向左旋转 90°"}},
      {{"Update preview _live", "实时更新预览"}, {"Update preview live", "实时更新预览"}},
      {{"~Mozilla profile", "~Mozilla 配置"}, {"Mozilla profile", "Mozilla 配置"}},
      {{"\"_Show &amp; hide\"", "“显示和隐藏”"}, {"\"Show &amp; hide\"", "“显示和隐藏”"}},
  });
}

TEST(Accelerators, OtherSignsStay) {
  const std::vector<TextPair> texts{
      {"R&D costs", "研发费用"},
      {"Cut & Paste", "剪切和粘贴"},
      {"a &lt; b", "a 小于 b"},
      {"&#39;x&#39;", "“x”"},
      {"file_name is missing", "缺少文件名"},
      {"_start is undefined", "_start 未定义"},
      {"symbol _GLOBAL_OFFSET_TABLE_ not found", "找不到符号"},
      {"__attribute__ ignored", "忽略属性"},
      {"~a to ~a", "~a至~a"},
      {"Display the ~a report", "显示 ~a 报表"},
      {"~/.bashrc", "主目录中的 .bashrc"},
      {"about ~5 seconds", "大约五秒"},
      {"%s_%d", "%s_%d 个"},
      {"Plan (A)", "计划(A)"},
      {"A_Rake", "A 刮刀"},
      {"The environment variable _JAVA_OPTIONS is set, which changes how it runs", "设置了环境变量"},
  };
  for (const TextPair& text : texts) {
    const TextPair result = without_accelerators(text);
    EXPECT_EQ(result.source, text.source);
    EXPECT_EQ(result.target, text.target);
  }
}

}  // namespace
}  // namespace zhuyi::data
