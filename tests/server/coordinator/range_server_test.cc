#include "server/coordinator/range_server.h"

#include <atomic>
#include <future>
#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace weir::server {
namespace {

// Answers with its count of calls, or with an error.
class FakePlanner final : public RangePlanner {
 public:
  absl::StatusOr<NextRangeReply> Next(const NextRangeRequest& request) override {
    if (!error.ok()) return error;
    if (gate.valid()) gate.wait();
    NextRangeReply reply;
    reply.set_rows(++calls);
    return reply;
  }
  absl::StatusOr<bool> CountMore() override {
    if (!count_error.ok()) return count_error;
    return ++counts == 3;
  }
  absl::StatusOr<DataPosition> Position(absl::Span<const WorkerPosition>) override { return DataPosition(); }
  uint64_t total_rows(NextRangeRequest::Set) const override { return 0; }

  absl::Status error;
  absl::Status count_error;
  std::shared_future<void> gate;  // when valid, every call waits for it
  uint64_t calls = 0;
  std::atomic<int> counts{0};
};

// A call whose answer can be waited for.
struct Call {
  std::promise<absl::Status> promise;
  std::future<absl::Status> answer = promise.get_future();
  NextRangeReply reply;
  std::function<void(const absl::Status&)> Finish() {
    return [this](const absl::Status& status) { promise.set_value(status); };
  }
};

class RangeServerTest : public ::testing::Test {
 protected:
  void Start() {
    ranges_ = std::make_unique<RangeServer>(&planner_, [this](const absl::Status& status) { failed_.set_value(status); });
  }
  FakePlanner planner_;
  std::promise<absl::Status> failed_;
  std::unique_ptr<RangeServer> ranges_;
};

TEST_F(RangeServerTest, AnswersInOrder) {
  Start();
  Call first, second;
  ranges_->Next({}, &first.reply, first.Finish());
  ranges_->Next({}, &second.reply, second.Finish());
  EXPECT_TRUE(first.answer.get().ok());
  EXPECT_TRUE(second.answer.get().ok());
  EXPECT_EQ(first.reply.rows(), 1u);
  EXPECT_EQ(second.reply.rows(), 2u);
}

TEST_F(RangeServerTest, DamagedDataFailsTheJob) {
  planner_.error = absl::DataLossError("train.tsv.gz ends early");
  Start();
  Call call;
  ranges_->Next({}, &call.reply, call.Finish());
  EXPECT_EQ(call.answer.get(), planner_.error);
  EXPECT_EQ(failed_.get_future().get(), planner_.error);
}

TEST_F(RangeServerTest, AWrongRequestDoesNot) {
  planner_.error = absl::InvalidArgumentError("request 7 before 3");
  Start();
  Call call;
  ranges_->Next({}, &call.reply, call.Finish());
  EXPECT_EQ(call.answer.get(), planner_.error);
  ranges_ = nullptr;
  EXPECT_EQ(failed_.get_future().wait_for(std::chrono::seconds(0)), std::future_status::timeout);
}

TEST_F(RangeServerTest, AnErrorOfCountingFailsTheJob) {
  planner_.count_error = absl::DataLossError("line 7");
  Start();
  EXPECT_EQ(failed_.get_future().get(), planner_.count_error);
}

TEST_F(RangeServerTest, TheQueueIsBoundedAndEveryCallIsAnswered) {
  std::promise<void> gate;
  planner_.gate = gate.get_future().share();
  Start();
  std::atomic<size_t> refused{0};
  std::atomic<size_t> answered{0};
  NextRangeReply reply;
  const auto finish = [&](const absl::Status& status) {
    if (absl::IsResourceExhausted(status)) ++refused;
    ++answered;
  };
  for (size_t i = 0; i < kRangeRequestsMax + 2; ++i) ranges_->Next({}, &reply, finish);
  // One call may be with the planner already.
  EXPECT_GE(refused.load(), 1u);
  EXPECT_LE(refused.load(), 2u);
  gate.set_value();
  ranges_ = nullptr;
  EXPECT_EQ(answered.load(), kRangeRequestsMax + 2);
}

}  // namespace
}  // namespace weir::server
