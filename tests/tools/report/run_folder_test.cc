#include "tools/report/run_folder.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/report/fake_run.h"

namespace weir::tools {
namespace {

using ::testing::HasSubstr;

std::string ResultWith(absl::string_view old_text, absl::string_view new_text) {
  std::string text = absl::StrReplaceAll(kFakeResult, {{old_text, new_text}});
  EXPECT_NE(text, kFakeResult) << old_text;
  return text;
}

TEST(RunFolderTest, ReadsAllOfIt) {
  const FakeRun run("reads_all");
  run.Write("teacher.json", R"({"rows": 9, "seed": 1, "logloss": 0.44, "auc": 0.79, "ctr": 0.25})");
  const auto folder = ReadRunFolder(run.dir());
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(folder->config, "name: fake\n");
  EXPECT_EQ(folder->result.samples, 1000u);
  EXPECT_EQ(folder->result.training_bytes, (BytesByEdge{38000, 230000, 96000, 51000, 900}));
  EXPECT_EQ(TotalBytes(folder->result.evaluation_bytes), 22000u);
  EXPECT_EQ(folder->result.fingerprint, R"({"dense":"02","rows":"01"})");
  ASSERT_EQ(folder->metrics.points().size(), 2u);
  EXPECT_EQ(folder->metrics.points()[1].samples, 200u);
  EXPECT_EQ(folder->metrics.points()[1].codecs.at(0).threshold, 0.001f);
  EXPECT_EQ(folder->teacher->auc, 0.79);
}

TEST(RunFolderTest, ReadsTheAccountWhereThereIsOne) {
  const FakeRun run("account");
  EXPECT_TRUE(ReadRunResult(run.dir())->account.empty());
  constexpr absl::string_view kAccount =
      R"("servers": 2, "account": [{"edge": "push", "name": "C1", "keys": 1, "masks": 2, "values": 3, "headers": 4, "entries": 5, "kept": 6,
      "density_asked": 0.5, "codec_seconds": 0.25}], "step_seconds": {"read": 1, "lookup_wait": 2, "forward": 3, "backward": 4, "push_wait": 5,
      "guard": 6, "push_encode": 7, "reduce": 8, "update": 9}, "step_waits": {"lookup": 1, "push": 2, "reduce": 3})";
  const std::string text = ResultWith(R"("servers": 2)", kAccount);
  run.Write("result.json", text);
  const auto result = ReadRunResult(run.dir());
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->account.size(), 1u);
  EXPECT_EQ(result->account[0].bytes(), 10u);
  EXPECT_EQ(result->account[0].codec_seconds, 0.25);
  ASSERT_EQ(result->step_seconds.size(), 9u);
  EXPECT_EQ(result->step_seconds[7], (std::pair<std::string, double>("reduce", 8)));
  ASSERT_EQ(result->step_waits.size(), 3u);
  EXPECT_EQ(result->step_waits[2], (std::pair<std::string, uint64_t>("reduce", 3)));
  run.Write("result.json", absl::StrReplaceAll(text, {{R"("lookup": 1)", R"("lookup": -1)"}}));
  EXPECT_THAT(std::string(ReadRunResult(run.dir()).status().message()), HasSubstr("step_waits.lookup"));
  run.Write("result.json", absl::StrReplaceAll(text, {{R"("masks": 2)", R"("masks": -2)"}}));
  EXPECT_THAT(std::string(ReadRunResult(run.dir()).status().message()), HasSubstr("account.masks"));
}

TEST(RunFolderTest, ReadsWhatTheGuardDid) {
  const FakeRun run("guard");
  const std::string line = FakeMetricsLine(1);
  const std::string with = absl::StrCat(
      line.substr(0, line.rfind('}')),
      R"(, "decisions": [{"worker": 1, "step": 40, "edge": "push", "cost": 0.002, "sparsity_before": 0.9, "sparsity_after": 0}]})");
  run.Write("metrics.jsonl", with);
  const auto folder = ReadRunFolder(run.dir());
  ASSERT_TRUE(folder.ok()) << folder.status();
  ASSERT_EQ(folder->guard.size(), 1u);
  EXPECT_EQ(folder->guard[0].step, 40u);
  EXPECT_EQ(folder->guard[0].edge, "push");
  EXPECT_EQ(folder->guard[0].cost, 0.002);
  run.Write("metrics.jsonl", absl::StrReplaceAll(with, {{R"("step": 40)", R"("step": "x")"}}));
  EXPECT_THAT(std::string(ReadRunFolder(run.dir()).status().message()), HasSubstr("decisions.step"));
}

TEST(RunFolderTest, QualityIsAbsentWithoutHeldOutRows) {
  const FakeRun run("no_held_out_rows");
  run.Write("result.json", ResultWith(R"("auc": 0.78)", R"("auc": null)"));
  const auto result = ReadRunResult(run.dir());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->auc, std::nullopt);
  EXPECT_EQ(result->logloss, 0.45);
}

TEST(RunFolderTest, MetricsMayBeUnknownOrNone) {
  const FakeRun run("unknown_metrics");
  run.Write("metrics.jsonl", absl::StrReplaceAll(FakeMetricsLine(1), {{R"("logloss": 0.5)", R"("logloss": null)"}}));
  auto folder = ReadRunFolder(run.dir());
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_TRUE(std::isnan(folder->metrics.points()[0].logloss));
  run.Write("metrics.jsonl", "");
  folder = ReadRunFolder(run.dir());
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_TRUE(folder->metrics.points().empty());
}

TEST(RunFolderTest, NamesTheFileThatIsMissing) {
  for (const absl::string_view file : {"job.yaml", "result.json", "metrics.jsonl"}) {
    const FakeRun run("missing_file");
    run.Remove(file);
    const absl::Status status = ReadRunFolder(run.dir()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(run.dir(), "/", file)));
  }
}

struct BadFile {
  absl::string_view file;
  std::string text;
  absl::string_view message;  // after the folder's name
};

TEST(RunFolderTest, NamesFileLineAndField) {
  const std::string good_line = FakeMetricsLine(1) + "\n";
  const auto bad_line = [](absl::string_view old_text, absl::string_view new_text) {
    return absl::StrReplaceAll(FakeMetricsLine(2), {{old_text, new_text}});
  };
  const std::vector<BadFile> cases = {
      {"result.json", ResultWith(R"("steps": 10,)", ""), "result.json:1: field `steps` is missing"},
      {"result.json", ResultWith(R"("steps": 10)", R"("steps": -10)"), "result.json:1: field `steps` is no count"},
      {"result.json", ResultWith(R"("seconds": 12.5)", R"("seconds": "12.5")"), "result.json:1: field `seconds` is no number"},
      {"result.json", ResultWith(R"("job": "fake")", R"("job": 7)"), "result.json:1: field `job` is no text"},
      {"result.json", ResultWith(R"("push": 96000)", R"("pull": 96000)"), "result.json:1: field `wire_bytes.push` is missing"},
      {"result.json", ResultWith(R"("lookup_reply": 20000)", R"("lookup_reply": 2000000)"),
       "result.json:1: field `wire_bytes_evaluation.lookup_reply` is more than all"},
      {"result.json", ResultWith(R"("bad_rows": 3,)", R"("bad_rows": 3)"), "result.json:6: no JSON"},
      {"result.json", ResultWith("12.5", "1e999"), "result.json:1: no JSON"},
      {"result.json", "[1]", "result.json:1: no JSON object"},
      {"result.json", "", "result.json:1: no JSON"},
      {"result.json", std::string(2 << 20, ' '), "result.json: 2097152 bytes, more than 1048576"},
      {"metrics.jsonl", good_line + "{\"seconds\": 2, \"samp", "metrics.jsonl:2: no JSON"},
      {"metrics.jsonl", good_line + "\n", "metrics.jsonl:2: no JSON"},
      {"metrics.jsonl", good_line + bad_line("\"codecs\": [", "\"codes\": ["), "metrics.jsonl:2: field `codecs` is missing"},
      {"metrics.jsonl", good_line + bad_line("\"density\": 0.1", "\"density\": true"),
       "metrics.jsonl:2: field `codecs.density` is no number"},
      {"metrics.jsonl", good_line + good_line + bad_line("[{", "[1, {"), "metrics.jsonl:3: `codecs` holds something that is no object"},
      {"teacher.json", "{}", "teacher.json:1: field `logloss` is missing"},
  };
  for (const BadFile& bad : cases) {
    const FakeRun run("bad_file");
    run.Write(bad.file, bad.text);
    const absl::Status status = ReadRunFolder(run.dir()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << bad.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(run.dir(), "/", bad.message)));
  }
}

}  // namespace
}  // namespace weir::tools
