#include "tools/bench/program_output.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/launch/stop_signals.h"

namespace weir::tools {
namespace {

using ::testing::HasSubstr;

class ProgramOutputTest : public ::testing::Test {
 protected:
  absl::StatusOr<double> Number(const std::string& script, const std::string& pointer) {
    return programs_.NumberOf({{"/bin/sh", "-c", script}, pointer});
  }

  std::unique_ptr<StopSignals> signals_ = *StopSignals::Create();
  ProgramOutput programs_{::testing::TempDir(), signals_.get()};
};

TEST_F(ProgramOutputTest, FindsTheNumber) {
  EXPECT_EQ(*Number(R"(echo '{"benchmarks": [{"rows/s": 2.5e6}]}'; echo words >&2)", "/benchmarks/0/rows~1s"), 2.5e6);
}

TEST_F(ProgramOutputTest, RunsACommandOnce) {
  const std::string count = ::testing::TempDir() + "/count";
  const std::string script = "echo x >> " + count + "; wc -l < " + count + " | sed 's/.*/{\"a\": &, \"b\": 7}/'";
  EXPECT_EQ(*Number(script, "/a"), 1);
  EXPECT_EQ(*Number(script, "/b"), 7);
  EXPECT_EQ(*Number(script, "/a"), 1);
}

TEST_F(ProgramOutputTest, WhatIsNotInstalledIsNoFailure) {
  const absl::Status status = Number("echo 'pandas is not installed: tools/bench_peers' >&2; exit 3", "/a").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "pandas is not installed: tools/bench_peers");
}

TEST_F(ProgramOutputTest, FailuresSayWhat) {
  const absl::Status failed = Number("echo no table >&2; exit 1", "/a").status();
  EXPECT_EQ(failed.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(failed.message()), HasSubstr("sh exited with code 1"));
  EXPECT_THAT(std::string(failed.message()), HasSubstr("no table"));
  EXPECT_THAT(std::string(Number("echo rows", "/a").status().message()), HasSubstr("printed no JSON document"));
  EXPECT_THAT(std::string(Number("echo '{\"b\": 1}'", "/a").status().message()), HasSubstr("no number at /a"));
  EXPECT_THAT(std::string(Number("echo '{\"a\": \"1\"}'", "/a").status().message()), HasSubstr("no number at /a"));
}

}  // namespace
}  // namespace weir::tools
