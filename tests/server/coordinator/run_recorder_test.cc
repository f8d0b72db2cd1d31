#include "server/coordinator/run_recorder.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/server/coordinator/event_file.h"
#include "tests/testing/data_file.h"

namespace weir::server {
namespace {

using Json = nlohmann::json;

const absl::Time kNow = absl::FromUnixSeconds(1000);

WireBytes SomeBytes() {
  WireBytes bytes;
  bytes.set_lookup_request(1);
  bytes.set_lookup_reply(2);
  bytes.set_push(3);
  bytes.set_dense(4);
  bytes.set_control(5);
  return bytes;
}

const Json kSomeBytes = {{"lookup_request", 1}, {"lookup_reply", 2}, {"push", 3}, {"dense", 4}, {"control", 5}};

MetricsLine SomeLine() {
  MetricsLine line;
  line.seconds = 1.5;
  line.samples = 300;
  line.steps = 3;
  line.logloss = 0.5;
  line.auc = 0.75;
  line.samples_per_second = 200;
  line.wire_bytes = SomeBytes();
  line.codecs = {{"push", "C1", 0.1, 0.125, 0.25, 1.5}};
  line.wait_seconds = 0.125;
  return line;
}

std::map<std::string, float> Scalars(const tensorboard::Event& event) {
  std::map<std::string, float> scalars;
  for (const auto& value : event.summary().value()) scalars[value.tag()] = value.simple_value();
  return scalars;
}

TEST(RunRecorderTest, MetricsAreLinesOfJson) {
  const std::string dir = ::testing::TempDir() + "/lines";
  const auto recorder = RunRecorder::Create(dir, kNow);
  ASSERT_TRUE(recorder.ok()) << recorder.status();
  MetricsLine line = SomeLine();
  ASSERT_TRUE((*recorder)->Append(line, kNow).ok());
  line.logloss = std::numeric_limits<double>::quiet_NaN();
  line.codecs[0].name = "\xff";  // no UTF-8
  ASSERT_TRUE((*recorder)->Append(line, kNow).ok());

  std::istringstream lines(testing::ReadWholeFile(dir + "/metrics.jsonl"));
  std::string text;
  ASSERT_TRUE(std::getline(lines, text));
  EXPECT_EQ(Json::parse(text), Json({{"seconds", 1.5},
                                     {"samples", 300},
                                     {"steps", 3},
                                     {"logloss", 0.5},
                                     {"auc", 0.75},
                                     {"samples_per_second", 200.0},
                                     {"wire_bytes", kSomeBytes},
                                     {"codecs", Json::array({{{"edge", "push"},
                                                              {"name", "C1"},
                                                              {"density", 0.1},
                                                              {"density_asked", 0.125},
                                                              {"threshold", 0.25},
                                                              {"residual_ratio", 1.5}}})},
                                     {"wait_seconds", 0.125}}));
  ASSERT_TRUE(std::getline(lines, text));
  EXPECT_TRUE(Json::parse(text)["logloss"].is_null());
  EXPECT_FALSE(std::getline(lines, text));
}

TEST(RunRecorderTest, CurvesGoToTensorBoard) {
  const std::string dir = ::testing::TempDir() + "/curves";
  const auto recorder = RunRecorder::Create(dir, kNow);
  ASSERT_TRUE(recorder.ok()) << recorder.status();
  ASSERT_TRUE((*recorder)->Append(SomeLine(), kNow).ok());
  JobResult result;
  result.steps = 9;
  result.quality = BinaryQuality{10, 0.5, 0.75, 0.875, 1.25};
  ASSERT_TRUE((*recorder)->Finish(result, kNow).ok());

  const std::vector<tensorboard::Event> events = testing::ReadEvents(dir + "/tensorboard");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].step(), 3);
  const std::map<std::string, float> train = {
      {"train/logloss", 0.5f},        {"train/auc", 0.75f},        {"train/samples_per_second", 200}, {"wire_bytes/lookup_request", 1},
      {"wire_bytes/lookup_reply", 2}, {"wire_bytes/push", 3},      {"wire_bytes/dense", 4},           {"wire_bytes/control", 5},
      {"density/push/C1", 0.1f},      {"threshold/push/C1", 0.25f}};
  EXPECT_EQ(Scalars(events[1]), train);
  EXPECT_EQ(events[2].step(), 9);
  const std::map<std::string, float> eval = {{"eval/logloss", 0.5f}, {"eval/auc", 0.75f}, {"eval/ne", 0.875f}, {"eval/calibration", 1.25f}};
  EXPECT_EQ(Scalars(events[2]), eval);
}

TEST(RunRecorderTest, ResultWithoutHeldOutRowsHasNoQuality) {
  const std::string dir = ::testing::TempDir() + "/plain";
  const auto recorder = RunRecorder::Create(dir, kNow);
  ASSERT_TRUE(recorder.ok()) << recorder.status();
  ASSERT_TRUE((*recorder)->Finish(JobResult(), kNow).ok());
  const Json result = Json::parse(testing::ReadWholeFile(dir + "/result.json"));
  for (const char* field : {"logloss", "auc", "ne", "calibration", "ctr"}) {
    ASSERT_TRUE(result.contains(field)) << field;
    EXPECT_TRUE(result[field].is_null()) << field;
  }
  EXPECT_EQ(result["evaluation_samples"], 0);
  EXPECT_EQ(result["samples_per_second"], 0.0);
}

TEST(RunRecorderTest, ARunThatGoesOnKeepsWhatWasBefore) {
  const std::string dir = ::testing::TempDir() + "/resumed";
  std::filesystem::remove_all(dir);
  MetricsLine line = SomeLine();
  const auto steps = [&dir] {
    std::vector<int64_t> found;
    std::istringstream lines(testing::ReadWholeFile(dir + "/metrics.jsonl"));
    for (std::string text; std::getline(lines, text);) found.push_back(Json::parse(text)["steps"]);
    return found;
  };
  {
    const auto first = RunRecorder::Create(dir, kNow, 5);
    ASSERT_TRUE(first.ok()) << "nothing was there yet: " << first.status();
    for (line.steps = 2; line.steps <= 8; line.steps += 2) ASSERT_TRUE((*first)->Append(line, kNow).ok());
  }
  std::ofstream(dir + "/metrics.jsonl", std::ios::app) << R"({"steps": 10, "half)";
  {
    const auto again = RunRecorder::Create(dir, kNow, 100);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(steps(), (std::vector<int64_t>{2, 4, 6, 8}));
  }
  const auto back = RunRecorder::Create(dir, kNow + absl::Seconds(1), 5);
  ASSERT_TRUE(back.ok()) << back.status();
  line.steps = 6;
  ASSERT_TRUE((*back)->Append(line, kNow).ok());
  EXPECT_EQ(steps(), (std::vector<int64_t>{2, 4, 6}));
}

TEST(RunRecorderTest, ResultOfAnEarlierRunDoesNotStay) {
  const std::string dir = ::testing::TempDir() + "/stale";
  const auto first = RunRecorder::Create(dir, kNow);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE((*first)->Finish(JobResult(), kNow).ok());
  ASSERT_TRUE(RunRecorder::Create(dir, kNow).ok());
  EXPECT_FALSE(std::filesystem::exists(dir + "/result.json"));
}

}  // namespace
}  // namespace weir::server
