#include "tools/compare/comparison_plan.h"

#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "proto/job_file.h"
#include "tools/compare/grid.h"
#include "tools/report/run_folder.h"

namespace weir::tools {
namespace {

bool HasSetting(const std::string& key) {
  const google::protobuf::Descriptor* group = Job::descriptor();
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(key, '.'))) {
    const google::protobuf::FieldDescriptor* const field = group == nullptr ? nullptr : group->FindFieldByName(word);
    if (field == nullptr) return false;
    group = field->is_repeated() ? nullptr : field->message_type();
  }
  return true;
}

absl::StatusOr<std::vector<Axis>> ReadAxes(const CompareRequest& request) {
  std::vector<Axis> axes;
  for (const std::string& vary : request.varies) {
    WEIR_ASSIGN_OR_RETURN(Axis axis, ParseVary(vary));
    if (!HasSetting(axis.key)) {
      // No arm could be right. Who reads jobs knows which key was meant.
      const absl::Status status = ReadJobFile(request.job_file, {absl::StrCat(axis.key, "=", axis.values[0])}).status();
      if (!status.ok()) return absl::Status(status.code(), absl::StrReplaceAll(status.message(), {{"--set ", "--vary "}}));
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

// Equal for arms that would run the same job under other names.
uint64_t HashWithoutName(Job job) {
  job.clear_name();
  return JobHash(job);
}

// The reason without "--set <key>: " before it, when the key is one of the arm's own: nobody wrote that --set.
std::string Refusal(const absl::Status& status, const std::vector<std::string>& sets) {
  absl::string_view reason = status.message();
  for (const std::string& set : sets) absl::ConsumePrefix(&reason, absl::StrCat("--set ", set.substr(0, set.find('=')), ": "));
  return std::string(reason);
}

class Planner {
 public:
  explicit Planner(const CompareRequest& request) : request_(request) {}

  absl::StatusOr<ComparisonPlan> Plan() {
    WEIR_ASSIGN_OR_RETURN(const std::vector<Axis> axes, ReadAxes(request_));
    std::vector<ArmSettings> grid = request_.arms;
    if (grid.empty()) {
      WEIR_ASSIGN_OR_RETURN(grid, ExpandGrid(axes));
    }
    plan_.comparison.job_file = request_.job_file;
    plan_.comparison.sets = request_.sets;
    for (const Axis& axis : axes) plan_.comparison.varied.push_back(axis.key);
    if (request_.yardsticks) {
      for (const ArmSettings& settings : YardstickArms()) AddArm(settings, true);
    }
    const size_t first = plan_.comparison.arms.size();
    bool accepted = false;
    for (const ArmSettings& settings : grid) accepted = AddArm(settings, false) || accepted;
    if (!accepted) return absl::InvalidArgumentError(plan_.comparison.arms[first].refused);
    AddCells();
    return std::move(plan_);
  }

 private:
  // Whether the job takes the settings.
  bool AddArm(const ArmSettings& settings, bool yardstick) {
    std::vector<std::string> sets = request_.sets;
    sets.insert(sets.end(), settings.sets.begin(), settings.sets.end());
    absl::StatusOr<Job> job = ReadJobFile(request_.job_file, sets);
    Arm arm;
    arm.name = settings.name;
    arm.sets = settings.sets;
    arm.yardstick = yardstick;
    if (job.ok()) {
      const auto [known, is_new] = arm_of_job_.emplace(HashWithoutName(*job), plan_.comparison.arms.size());
      if (!is_new) {
        plan_.comparison.arms[known->second].same.push_back(arm.sets.empty() ? "the job as it is" : absl::StrJoin(arm.sets, ", "));
        return true;
      }
    } else {
      arm.refused = Refusal(job.status(), arm.sets);
    }
    plan_.comparison.arms.push_back(std::move(arm));
    plan_.jobs.push_back(job.ok() ? *job : Job());
    return job.ok();
  }

  void AddCells() {
    // Names, seeds and folders are not varied: any job that is not refused has them.
    for (const Job& job : plan_.jobs) {
      if (!job.has_name()) continue;
      plan_.comparison.job = job.name();
      plan_.dir = request_.out.empty() ? (std::filesystem::path(job.output().dir()) / ("compare-" + job.name())).string() : request_.out;
      for (uint32_t i = 0; i < request_.seeds; ++i) plan_.comparison.seeds.push_back(job.seed() + i);
      break;
    }
    for (Arm& arm : plan_.comparison.arms) {
      if (!arm.refused.empty()) continue;
      for (const uint64_t seed : plan_.comparison.seeds) {
        Cell cell;
        cell.seed = seed;
        cell.folder = absl::StrCat(arm.name, "-", seed);
        arm.cells.push_back(std::move(cell));
      }
    }
  }

  const CompareRequest& request_;
  ComparisonPlan plan_;
  std::map<uint64_t, size_t> arm_of_job_;  // by HashWithoutName
};

}  // namespace

absl::StatusOr<ComparisonPlan> PlanComparison(const CompareRequest& request) {
  if (request.seeds < 1 || request.seeds > kSeedsMax) {
    return absl::InvalidArgumentError(absl::StrCat("--seeds must be at least 1 and at most ", kSeedsMax, ", not ", request.seeds));
  }
  return Planner(request).Plan();
}

Job JobOfCell(const ComparisonPlan& plan, size_t arm, const Cell& cell) {
  Job job = plan.jobs[arm];
  job.set_name(cell.folder);
  job.set_seed(cell.seed);
  job.mutable_output()->set_dir(plan.dir);
  return job;
}

void FindFinishedCells(ComparisonPlan* plan) {
  for (size_t arm = 0; arm < plan->comparison.arms.size(); ++arm) {
    for (Cell& cell : plan->comparison.arms[arm].cells) {
      absl::StatusOr<RunResult> result = ReadRunResult((std::filesystem::path(plan->dir) / cell.folder).string());
      // A result that cannot be read is no result: the cell runs again.
      if (!result.ok() || result->job_hash != absl::StrFormat("%016x", JobHash(JobOfCell(*plan, arm, cell)))) continue;
      cell.state = Cell::State::kDone;
      cell.result = *std::move(result);
    }
  }
}

}  // namespace weir::tools
