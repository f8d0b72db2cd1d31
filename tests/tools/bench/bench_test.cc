#include "tools/bench/bench.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace weir::tools {
namespace {

using ::testing::HasSubstr;

// Programs that print what the real ones would.
class BenchTest : public ::testing::Test {
 protected:
  BenchTest() {
    std::filesystem::create_directories(programs_);
    Program("table_bench", R"(echo '{"benchmarks": [{"rows/s": 30, "raw": 60}, {"memory/row": 87, "payload/row": 76}]}')");
    request_.benches = programs_;
    request_.programs = programs_;
    request_.dir = absl::StrCat(::testing::TempDir(), "/out");
    request_.json = absl::StrCat(::testing::TempDir(), "/bench.json");
    request_.rows = 10;
  }

  void Program(const std::string& name, const std::string& script) const {
    const std::string path = absl::StrCat(programs_, "/", name);
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), 0755);
  }

  absl::Status Run() { return Bench(request_, signals_.get()); }
  nlohmann::json Result() const {
    std::ifstream file(request_.json);
    return nlohmann::json::parse(file);
  }

  const std::string programs_ = absl::StrCat(::testing::TempDir(), "/programs");
  std::unique_ptr<StopSignals> signals_ = *StopSignals::Create();
  BenchRequest request_;
};

TEST_F(BenchTest, RunsWhatIsAskedFor) {
  request_.only = {"table_memory", "table_lookup"};
  EXPECT_EQ(Run(), absl::OkStatus());
  EXPECT_EQ(Result()["scenarios"][0]["name"], "table_memory");
  EXPECT_EQ(Result()["scenarios"][1]["ratio"], 0.5);
}

TEST_F(BenchTest, OneFailureCostsOneScenario) {
  Program("growth_bench", "echo no memory >&2; exit 1");
  request_.only = {"table_growth", "table_lookup"};
  const absl::Status status = Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no memory"));
  EXPECT_THAT(Result()["scenarios"][0]["missing"].get<std::string>(), HasSubstr("no memory"));
  EXPECT_EQ(Result()["scenarios"][1]["ratio"], 0.5);
}

TEST_F(BenchTest, WrongRequestsSayWhatThereIs) {
  request_.only = {"lookup"};
  EXPECT_THAT(std::string(Run().message()), HasSubstr("no such scenario; there are table_lookup, table_update"));
  request_.only = {};
  request_.compare = "nowhere.json";
  EXPECT_EQ(Run().code(), absl::StatusCode::kNotFound);
  request_.compare = "";
  request_.benches = "/nowhere";
  EXPECT_THAT(std::string(Run().message()), HasSubstr("bazel build //tests/bench/..."));
}

}  // namespace
}  // namespace weir::tools
