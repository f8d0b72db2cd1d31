#include "tools/bench/program_output.h"

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "tools/launch/child_process.h"

namespace weir::tools {
namespace {

constexpr absl::Duration kPollPeriod = absl::Milliseconds(50);
constexpr int kLogLinesShown = 8;

}  // namespace

absl::StatusOr<nlohmann::json> ProgramOutput::Run(const std::vector<std::string>& command) {
  const std::string program = std::filesystem::path(command.size() > 1 && command[1][0] != '-' ? command[1] : command[0]).filename();
  const std::string base = absl::StrCat(folder_, "/", outputs_.size(), "-", program);
  // The document alone on standard output; the rest is for a person.
  const std::string out = base + ".json", log = base + ".log";
  std::vector<std::string> argv = {"/bin/sh", "-c", "out=$1; shift; exec \"$@\" > \"$out\"", "sh", out};
  argv.insert(argv.end(), command.begin(), command.end());
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Start({program, argv, log}));
  std::optional<ProcessEnd> end;
  while (!(end = child->Poll()).has_value()) {
    if (!signals_->Wait(kPollPeriod)) continue;
    child->Signal(SIGTERM);
    return absl::CancelledError(absl::StrCat("interrupted while ", program, " ran"));
  }
  if (!end->ok()) {
    const std::string words = absl::StrCat(program, " ", end->Text(), "; the end of ", log, ":\n", LastLines(log, kLogLinesShown));
    if (end->exit_code == kNotInstalled) return absl::FailedPreconditionError(LastLines(log, 1));
    return absl::InternalError(words);
  }
  std::ifstream file(out);
  nlohmann::json document = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return absl::InternalError(absl::StrCat(program, " printed no JSON document; see ", out));
  return document;
}

absl::StatusOr<double> ProgramOutput::NumberOf(const Source& source) {
  auto known = outputs_.find(source.command);
  if (known == outputs_.end()) known = outputs_.emplace(source.command, Run(source.command)).first;
  if (!known->second.ok()) return known->second.status();
  const nlohmann::json::json_pointer pointer(source.pointer);
  const nlohmann::json& document = *known->second;
  if (!document.contains(pointer) || !document[pointer].is_number()) {
    return absl::InternalError(
        absl::StrCat("no number at ", source.pointer, " of what this printed: ", absl::StrJoin(source.command, " ")));
  }
  return document[pointer].get<double>();
}

}  // namespace weir::tools
