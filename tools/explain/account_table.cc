#include "tools/explain/account_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "tools/report/human_units.h"
#include "tools/report/text_table.h"

namespace weir::tools {
namespace {

using Cells = std::vector<std::string>;
using Json = nlohmann::ordered_json;

// One edge: its accounts added up, and what its sockets counted.
struct EdgeSum {
  std::string name;
  AccountLine sum;
  double socket_bytes = 0;

  double rest() const { return std::max(0.0, socket_bytes - static_cast<double>(sum.bytes())); }
};

std::vector<EdgeSum> EdgesOf(const RunResult& run) {
  const auto socket = [&run](absl::string_view name) {
    const auto edge = std::find(kEdgeNames.begin(), kEdgeNames.end(), name) - kEdgeNames.begin();
    return static_cast<double>(run.training_bytes[edge]);
  };
  std::vector<EdgeSum> edges = {{"lookup", {}, socket("lookup_request") + socket("lookup_reply")},
                                {"push", {}, socket("push")},
                                {"dense", {}, socket("dense")},
                                {"control", {}, socket("control")}};
  for (const AccountLine& line : run.account) {
    for (EdgeSum& edge : edges) {
      if (edge.name == line.edge) edge.sum.Add(line);
    }
  }
  return edges;
}

std::string ShareText(double part, double whole) { return whole > 0 ? absl::StrFormat("%.1f %%", 100 * part / whole) : "-"; }

// In the life of one worker.
double StepsOf(const RunResult& run) { return std::max(1.0, static_cast<double>(run.steps * run.workers)); }

std::string CodecMsText(double seconds, const RunResult& run) { return absl::StrFormat("%.3f", 1000 * seconds / StepsOf(run)); }

std::string EdgeTable(const RunResult& run, absl::Span<const EdgeSum> edges) {
  const auto samples = static_cast<double>(run.samples);
  const double all = static_cast<double>(TotalBytes(run.training_bytes));
  std::vector<Cells> lines = {{"bytes a sample", "keys", "masks", "values", "headers", "rest", "in all", "share", "codec ms a step"}};
  EdgeSum total;
  for (const EdgeSum& edge : edges) {
    const auto text = [samples](double bytes) { return HumanBytes(bytes / samples); };
    const AccountLine& sum = edge.sum;
    lines.push_back({edge.name, text(sum.keys), text(sum.masks), text(sum.values), text(sum.headers), text(edge.rest()),
                     text(edge.socket_bytes), ShareText(edge.socket_bytes, all), CodecMsText(sum.codec_seconds, run)});
    total.sum.Add(sum);
    total.socket_bytes += edge.rest();
  }
  lines.push_back({"all", HumanBytes(total.sum.keys / samples), HumanBytes(total.sum.masks / samples),
                   HumanBytes(total.sum.values / samples), HumanBytes(total.sum.headers / samples),
                   HumanBytes(total.socket_bytes / samples), HumanBytes(all / samples), "", CodecMsText(total.sum.codec_seconds, run)});
  return TextTable(lines);
}

std::string DensityText(double density) { return density > 0 ? absl::StrFormat("%.3g %%", 100 * density) : "-"; }

std::string LinesTable(const RunResult& run, size_t lines_max) {
  const auto samples = static_cast<double>(run.samples);
  std::vector<AccountLine> account = run.account;
  std::stable_sort(account.begin(), account.end(), [](const AccountLine& a, const AccountLine& b) { return a.bytes() > b.bytes(); });
  std::vector<Cells> lines = {
      {"table or layer", "edge", "bytes a sample", "keys", "masks", "values", "headers", "asked", "sent", "codec ms a step"}};
  double left_out = 0;
  for (size_t i = 0; i < account.size(); ++i) {
    const AccountLine& line = account[i];
    if (i >= lines_max) {
      left_out += static_cast<double>(line.bytes());
      continue;
    }
    const double sent = line.entries > 0 ? static_cast<double>(line.kept) / static_cast<double>(line.entries) : 0;
    lines.push_back({line.name, line.edge, HumanBytes(static_cast<double>(line.bytes()) / samples), HumanBytes(line.keys / samples),
                     HumanBytes(line.masks / samples), HumanBytes(line.values / samples), HumanBytes(line.headers / samples),
                     DensityText(line.density_asked), DensityText(sent), CodecMsText(line.codec_seconds, run)});
  }
  std::string text = TextTable(lines);
  if (account.size() > lines_max) {
    absl::StrAppend(&text, "and ", account.size() - lines_max, " more with ", HumanBytes(left_out / samples),
                    " a sample in all; --all shows them\n");
  }
  return text;
}

// Steps that waited in a phase; empty where none can, or it was not counted.
std::string WaitsText(const RunResult& run, absl::string_view phase) {
  for (const auto& [cause, steps] : run.step_waits) {
    if (phase == cause || phase == absl::StrCat(cause, "_wait")) return ShareText(static_cast<double>(steps), StepsOf(run));
  }
  return "";
}

std::string TimeTable(const RunResult& run) {
  const double steps = StepsOf(run);
  double all = 0;
  for (const auto& [phase, seconds] : run.step_seconds) all += seconds;
  std::vector<Cells> lines = {{"a step of one worker", "ms", "share", "steps that waited"}};
  for (const auto& [phase, seconds] : run.step_seconds) {
    lines.push_back({absl::StrReplaceAll(phase, {{"_", " "}}), absl::StrFormat("%.2f", 1000 * seconds / steps), ShareText(seconds, all),
                     WaitsText(run, phase)});
  }
  lines.push_back({"all", absl::StrFormat("%.2f", 1000 * all / steps), "", ""});
  return TextTable(lines);
}

// What makes a term smaller. The first that fits is said.
struct Advice {
  const char* edge;
  const char* term;
  bool selects;  // for edges that do, or that do not yet
  const char* text;
};

constexpr Advice kAdvice[] = {
    {"lookup", "keys", false, "compression.lookup.scope: change names rows that a worker holds by number"},
    {"lookup", "keys", true, "a larger training.batch_size names a row fewer times"},
    {"lookup", "values", false, "compression.lookup.method: int8_rowwise quarters them, scope: change sends only what has moved"},
    {"lookup", "values", true, "compression.lookup.sparsity, and values: fp8 with entropy: huffman make them fewer and shorter"},
    {"push", "values", false, "compression.push.method: dct keeps the largest and holds the rest back for later"},
    {"push", "values", true, "compression.push.sparsity, and values: fp8 with entropy: huffman make them fewer and shorter"},
    {"push", "keys", false, "only compression.push.method: plain sends keys; the others name the lookup"},
    {"dense", "values", false, "compression.dense.method: dct sends the largest of each layer"},
    {"dense", "values", true, "compression.dense.sparsity, and values: fp8 with entropy: huffman make them fewer and shorter"},
    {"dense", "rest", false, "compression.dense.method: dct sends the largest of each layer"},
};

std::string LargestTerm(const RunResult& run, absl::Span<const EdgeSum> edges) {
  struct Term {
    const EdgeSum* edge;
    const char* name;
    double bytes;
  };
  std::vector<Term> terms;
  for (const EdgeSum& edge : edges) {
    terms.push_back({&edge, "keys", static_cast<double>(edge.sum.keys)});
    terms.push_back({&edge, "masks", static_cast<double>(edge.sum.masks)});
    terms.push_back({&edge, "values", static_cast<double>(edge.sum.values)});
    terms.push_back({&edge, "headers", static_cast<double>(edge.sum.headers)});
    terms.push_back({&edge, "rest", edge.rest()});
  }
  const Term& largest = *std::max_element(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.bytes < b.bytes; });
  std::string text =
      absl::StrCat("The largest term is ", largest.name, " of the ", largest.edge->name,
                   " edge: ", ShareText(largest.bytes, static_cast<double>(TotalBytes(run.training_bytes))), " of all bytes.");
  const bool selects = largest.edge->sum.density_asked > 0;
  for (const Advice& advice : kAdvice) {
    if (advice.edge != largest.edge->name || advice.term != absl::string_view(largest.name) || advice.selects != selects) continue;
    return absl::StrCat(text, " What works on it: ", advice.text, ".\n");
  }
  return absl::StrCat(text, "\n");
}

absl::Status CheckAccount(const RunResult& run) {
  if (!run.step_seconds.empty() && run.samples > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("run ", run.job, " kept no account of its bytes: it trained nothing, or an older version made it; run the job again"));
}

}  // namespace

absl::StatusOr<std::string> AccountTable(const RunResult& run, const AccountOptions& options) {
  if (absl::Status status = CheckAccount(run); !status.ok()) return status;
  const std::vector<EdgeSum> edges = EdgesOf(run);
  return absl::StrCat(run.job, ": ", HumanCount(static_cast<double>(run.samples)), " samples in ", run.steps, " steps, ", run.workers,
                      run.workers == 1 ? " worker, " : " workers, ", run.servers, run.servers == 1 ? " server" : " servers", "\n\n",
                      EdgeTable(run, edges), "\n", LinesTable(run, options.lines_max), "\n", TimeTable(run), "\n", LargestTerm(run, edges));
}

absl::StatusOr<std::string> AccountJson(const RunResult& run) {
  if (absl::Status status = CheckAccount(run); !status.ok()) return status;
  Json edges = Json::array();
  for (const EdgeSum& edge : EdgesOf(run)) {
    edges.push_back({{"edge", edge.name},
                     {"bytes", edge.socket_bytes},
                     {"keys", edge.sum.keys},
                     {"masks", edge.sum.masks},
                     {"values", edge.sum.values},
                     {"headers", edge.sum.headers},
                     {"rest", edge.rest()},
                     {"codec_seconds", edge.sum.codec_seconds}});
  }
  Json lines = Json::array();
  for (const AccountLine& line : run.account) {
    lines.push_back({{"edge", line.edge},
                     {"name", line.name},
                     {"keys", line.keys},
                     {"masks", line.masks},
                     {"values", line.values},
                     {"headers", line.headers},
                     {"entries", line.entries},
                     {"kept", line.kept},
                     {"density_asked", line.density_asked},
                     {"codec_seconds", line.codec_seconds}});
  }
  Json phases = Json::object();
  for (const auto& [phase, seconds] : run.step_seconds) phases[phase] = seconds;
  Json waits = Json::object();
  for (const auto& [cause, steps] : run.step_waits) waits[cause] = steps;
  const Json json = {{"job", run.job}, {"samples", run.samples}, {"steps", run.steps},     {"workers", run.workers},
                     {"edges", edges}, {"account", lines},       {"step_seconds", phases}, {"step_waits", waits}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weir::tools
