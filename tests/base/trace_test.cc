#include "base/trace.h"

#include <fstream>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace weir {
namespace {

nlohmann::json Written() {
  const std::string path = ::testing::TempDir() + "/trace.json";
  EXPECT_EQ(WriteTrace(path, "worker 1"), absl::OkStatus());
  std::ifstream file(path);
  return nlohmann::json::parse(file)["traceEvents"];
}

absl::Time At(double milliseconds) { return absl::UnixEpoch() + absl::Milliseconds(milliseconds); }

TEST(TraceTest, HasLanesSpansAndCalls) {
  StartTrace();
  TraceSpan("training", "forward", 7, At(2), At(5));
  TraceSpan("reader", "read", -1, At(1), At(9));
  TraceCall("lookup", "lookup", 3, At(4), At(6));
  TraceCall("lookup", "lookup", 0, At(5), At(8));
  const nlohmann::json events = Written();
  std::map<int, std::string> lanes;
  for (const auto& event : events) {
    if (event["name"] == "thread_name") lanes[event["tid"]] = event["args"]["name"];
  }
  EXPECT_THAT(lanes, ::testing::ElementsAre(std::pair(1, "training"), std::pair(2, "reader"), std::pair(3, "lookup")));
  EXPECT_EQ(events[0]["args"]["name"], "worker 1");
  EXPECT_EQ(events[1], nlohmann::json::parse(R"({"ph": "X", "pid": 1, "tid": 1, "cat": "training", "name": "forward", "ts": 1000.0,
                                                "dur": 3000.0, "args": {"step": 7}})"));
  EXPECT_EQ(events[2]["ts"], 0.0) << "time counts from the first span";
  EXPECT_EQ(events[3]["ph"], "b");
  EXPECT_EQ(events[3]["args"]["peer"], 3);
  EXPECT_EQ(events[4]["ph"], "e");
  EXPECT_EQ(events[4]["id"], events[3]["id"]);
  EXPECT_EQ(events[4]["ts"], 5000.0);
  EXPECT_NE(events[5]["id"], events[3]["id"]);
}

TEST(TraceTest, KeepsNothingWhileItIsOff) {
  TraceSpan("training", "forward", 7, At(2), At(5));
  EXPECT_EQ(Written().size(), 1u) << "the process's name";
}

TEST(TraceTest, SaysWhereItCannotWrite) {
  const absl::Status status = WriteTrace("/nowhere/trace.json", "worker 1");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("/nowhere/trace.json"));
}

}  // namespace
}  // namespace weir
