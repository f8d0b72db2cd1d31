#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/tools/report/fake_run.h"
#include "tools/report/report.h"

namespace weir::tools {
namespace {

TEST(SummaryTableTest, PutsRunsSideBySide) {
  const FakeRun fake("fake");
  const FakeRun plain("plain");
  plain.Write("result.json", absl::StrReplaceAll(kFakeResult, {{R"("job": "fake")", R"("job": "plain")"},
                                                               {R"("logloss": 0.45)", R"("logloss": 0.4498)"},
                                                               {R"("auc": 0.78)", R"("auc": 0.7805)"},
                                                               {R"("lookup_reply": 250000)", R"("lookup_reply": 1725000)"},
                                                               {R"("push": 96000)", R"("push": 6048000)"},
                                                               {R"("seconds": 12.5)", R"("seconds": 75)"},
                                                               {R"("samples_per_second": 80)", R"("samples_per_second": 53.3)"}}));
  const auto table = SummaryTable({fake.dir(), plain.dir()});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(*table,
            "                     fake        plain   fake vs plain\n"
            "log-loss           0.4500       0.4498         +0.04 %\n"
            "AUC                0.7800       0.7805         -0.0005\n"
            "NE                 0.8000       0.8000         +0.00 %\n"
            "calibration        1.0100       1.0100         +0.0000\n"
            "bytes/sample        416 B      7.84 kB       19x fewer\n"
            "  lookup request     38 B         38 B            same\n"
            "  lookup reply      230 B      1.71 kB      7.4x fewer\n"
            "  push               96 B      6.05 kB       63x fewer\n"
            "  dense              51 B         51 B            same\n"
            "  control          0.90 B       0.90 B            same\n"
            "wall time          12.5 s   1 min 15 s       6.0x less\n"
            "samples/s              80         53.3     50 % faster\n");
}

TEST(SummaryTableTest, OneRunHasNoComparison) {
  const FakeRun fake("alone");
  fake.Write("result.json",
             absl::StrReplaceAll(kFakeResult, {{R"("auc": 0.78)", R"("auc": null)"}, {R"("samples": 1000)", R"("samples": 0)"}}));
  const auto table = SummaryTable({fake.dir()});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(*table,
            "                     fake\n"
            "log-loss           0.4500\n"
            "AUC                     -\n"
            "NE                 0.8000\n"
            "calibration        1.0100\n"
            "bytes/sample            -\n"
            "  lookup request        -\n"
            "  lookup reply          -\n"
            "  push                  -\n"
            "  dense                 -\n"
            "  control               -\n"
            "wall time          12.5 s\n"
            "samples/s              80\n");
}

TEST(SummaryTableTest, RefusesNoRunAndABadOne) {
  EXPECT_EQ(SummaryTable({}).status().code(), absl::StatusCode::kInvalidArgument);
  const FakeRun fake("broken");
  fake.Write("result.json", "{");
  EXPECT_EQ(SummaryTable({fake.dir()}).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace weir::tools
