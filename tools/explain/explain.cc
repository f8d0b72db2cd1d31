#include "tools/explain/explain.h"

#include <cstdint>
#include <cstdio>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tools/explain/account_table.h"
#include "tools/report/run_folder.h"

namespace weir::tools {
namespace {

constexpr char kHelp[] = R"(Example: weir explain runs/demo
  keys     of lookups (and pushes that send them), numbers of held rows, which keys make up a bag
  masks    which entries a frame keeps
  values   the entries, with the scales of quantised ones
  headers  of frames, with their checksums
  rest     what the sockets counted beyond these: messages, HTTP/2; all of it on edges whose content is not taken apart (Gloo)
asked and sent are densities: the share of entries that the job lets through, and that went. Bytes are of training, all processes, both directions;
evaluation is left out. The line "guard" is what the quality guard asked for.)";

}  // namespace

absl::Status Explain(const ExplainRequest& request) {
  for (size_t i = 0; i < request.runs.size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(const RunResult run, ReadRunResult(request.runs[i]));
    const absl::StatusOr<std::string> text =
        request.json ? AccountJson(run) : AccountTable(run, {request.all ? SIZE_MAX : AccountOptions().lines_max});
    if (!text.ok()) return absl::Status(text.status().code(), absl::StrCat(request.runs[i], ": ", text.status().message()));
    std::fputs((i > 0 && !request.json ? "\n" : ""), stdout);
    std::fputs(text->c_str(), stdout);
  }
  return absl::OkStatus();
}

CLI::App* AddExplainCommand(CLI::App* app, ExplainRequest* request) {
  CLI::App* const command = app->add_subcommand("explain", "Says where the bytes and milliseconds of runs went: edge, table, layer, phase");
  command->add_option("run", request->runs, "Run folders, as in runs/demo")->required();
  command->add_flag("--all", request->all, "Every table and layer, not only the largest");
  command->add_flag("--json", request->json, "For programs");
  command->footer(kHelp);
  return command;
}

}  // namespace weir::tools
