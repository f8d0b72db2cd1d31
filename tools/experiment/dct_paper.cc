#include "tools/experiment/dct_paper.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/compare/arm_figures.h"

namespace weir::tools {
namespace {

constexpr double kNear = 0.001;  // a relative difference that the paper would call none

std::string Percent(double share) { return absl::StrFormat("%+.2f %%", 100 * share); }

// "mp1-90": one table's arm at a sparsity in percent.
PublishedRow RowOf(const std::string& id, const char* percent, double logloss) {
  return {absl::StrCat(id, "-", percent), absl::StrCat(percent, " %"), logloss};
}

std::vector<PublishedTable> MakeTables() {
  return {
      {"mp1",
       "DCT-MP, one split (after two layers of the bottom MLP), a threshold for each sample",
       {RowOf("mp1", "75", 0.4532), RowOf("mp1", "90", 0.4530), RowOf("mp1", "95", 0.4534), RowOf("mp1", "98", 0.4562)}},
      {"mp2",
       "DCT-MP, two splits (after two layers of either MLP)",
       {RowOf("mp2", "75", 0.4536), RowOf("mp2", "90", 0.4537), RowOf("mp2", "95", 0.4546)}},
      {"laplace",
       "DCT-MP, one split, threshold from a Laplace law",
       {RowOf("laplace", "75", 0.4529), RowOf("laplace", "90", 0.4529), RowOf("laplace", "95", 0.4528), RowOf("laplace", "98", 0.4535)}},
      {"dp",
       "DCT-DP, the eight layers, life-span 1000",
       {RowOf("dp", "75", 0.4534), RowOf("dp", "90", 0.4536), RowOf("dp", "95", 0.4538), RowOf("dp", "98", 0.4537),
        RowOf("dp", "99.5", 0.4547)}},
      {"hybrid",
       "Hybrid: DCT-DP and DCT-MP with two splits at the same sparsity",
       {RowOf("hybrid", "75", 0.4535), RowOf("hybrid", "90", 0.4537), RowOf("hybrid", "95", 0.4548)}},
      {"sketch",
       "Control: Gaussian sketch of the activations, one split",
       {RowOf("sketch", "50", 0.4618), RowOf("sketch", "75", 0.4656), RowOf("sketch", "90", 0.4721)}},
      {"gradient",
       "Control: top-k of the activation gradients by themselves, with error feedback, one split",
       {RowOf("gradient", "50", 0.4561), RowOf("gradient", "75", 0.4588), RowOf("gradient", "90", 0.4789)}},
  };
}

std::string Share(const PublishedRow& row) {
  const std::string percent = row.text.substr(0, row.text.find(' '));
  return absl::StrCat(std::stod(percent) / 100);
}

std::string CutsSetting(const PublishedTable& table, const std::string& sparsity) {
  const std::string method = table.id == "laplace"    ? "laplace"
                             : table.id == "sketch"   ? "gaussian_sketch"
                             : table.id == "gradient" ? "gradient_topk"
                                                      : "exact";
  const bool two = table.id == "mp2" || table.id == "hybrid";
  std::vector<std::string> cuts;
  for (const char* after : {"bottom.1", "top.1"}) {
    cuts.push_back(absl::StrCat("{after: ", after, ", method: ", method, ", sparsity: ", sparsity, "}"));
    if (!two) break;
  }
  return absl::StrCat("model.cuts=[", absl::StrJoin(cuts, ", "), "]");
}

ArmSettings ArmOf(const PublishedTable& table, const PublishedRow& row) {
  ArmSettings arm;
  arm.name = row.arm;
  if (table.id != "dp") arm.sets.push_back(CutsSetting(table, Share(row)));
  if (table.id == "dp" || table.id == "hybrid") {
    arm.sets.push_back(absl::StrCat("compression.dense={method: dct, sparsity: ", Share(row), ", refresh_every: 1000, min_elements: 1}"));
  }
  return arm;
}

// What crossed of what the codecs on an edge looked at, over the arm's runs; "-": nothing was looked at.
std::string DensityOf(const std::string& edge, const Arm& arm) {
  double entries = 0, kept = 0;
  for (const Cell& cell : arm.cells) {
    for (const AccountLine& line : cell.result.account) {
      if (line.edge != edge) continue;
      entries += static_cast<double>(line.entries);
      kept += static_cast<double>(line.kept);
    }
  }
  return entries > 0 ? absl::StrFormat("%.3g %%", 100 * kept / entries) : "-";
}

std::string SentText(const PublishedTable& table, const Arm& arm) {
  const std::string cut = DensityOf("cut", arm), dense = DensityOf("dense", arm);
  if (table.id == "hybrid") return absl::StrCat(cut, ", ", dense);
  return table.id == "dp" ? dense : cut;
}

double MeanCalibration(const Arm& arm) {
  double sum = 0, count = 0;
  for (const Cell& cell : arm.cells) {
    if (cell.state != Cell::State::kDone || !cell.result.calibration.has_value()) continue;
    sum += *cell.result.calibration;
    ++count;
  }
  return count > 0 ? sum / count : std::nan("");
}

// A log-loss may move by the mean prediction alone; what the model has learnt moves log-loss and AUC.
std::string Verdict(double published, const ArmFigures& ours) {
  constexpr double kAucNear = 0.0005;
  const double loss = ours.logloss.relative, auc = ours.auc.difference.mean;
  const bool costs = loss > kNear && auc < -kAucNear, gains = loss < -kNear && auc > kAucNear;
  const bool published_costs = published > kNear, published_gains = published < -kNear;
  if (costs) return published_costs ? "as published: it costs" : "costs more than published";
  if (gains) return published_gains ? "as published: it helps" : "better than published";
  if (published_costs) return "costs less than published";
  return published_gains ? "no clear gain, no cost" : "as published: no cost";
}

std::string TableText(const PublishedTable& table, const Comparison& comparison, const Figures& figures) {
  std::string lines;
  for (const PublishedRow& row : table.rows) {
    const auto arm = std::find_if(comparison.arms.begin(), comparison.arms.end(), [&row](const Arm& a) { return a.name == row.arm; });
    if (arm == comparison.arms.end()) continue;
    const ArmFigures& ours = figures.arms[arm - comparison.arms.begin()];
    if (ours.finished == 0) continue;
    const double published = row.logloss / kPublishedDense - 1;
    absl::StrAppend(&lines, "| ", row.text, " | ", absl::StrFormat("%.4f", row.logloss), " | ", Percent(published), " | ",
                    absl::StrFormat("%.5f", ours.logloss.here.mean),
                    ours.logloss.here.count > 1 ? absl::StrFormat(" ± %.5f", ours.logloss.here.spread) : "", " | ",
                    Percent(ours.logloss.relative), " | ", absl::StrFormat("%.4f", ours.auc.here.mean), " | ",
                    absl::StrFormat("%.3f", MeanCalibration(*arm)), " | ", SentText(table, *arm), " | ", Verdict(published, ours), " |\n");
  }
  if (lines.empty()) return "";
  return absl::StrCat(
      "### ", table.title,
      "\n\n| sparsity | published | to dense | here | to dense | AUC | calibration | sent | |\n|---|---|---|---|---|---|---|---|---|\n",
      lines, "\n");
}

}  // namespace

absl::Span<const PublishedTable> PublishedTables() {
  static const auto* const tables = new std::vector<PublishedTable>(MakeTables());
  return *tables;
}

absl::StatusOr<std::vector<ArmSettings>> PaperArms(const std::vector<std::string>& only) {
  std::vector<ArmSettings> arms = {{"dense", {}}};
  std::vector<std::string> ids;
  for (const PublishedTable& table : PublishedTables()) ids.push_back(table.id);
  for (const std::string& id : only) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--only ", id, ": no such table; there are ", absl::StrJoin(ids, ", ")));
    }
  }
  for (const PublishedTable& table : PublishedTables()) {
    if (!only.empty() && std::find(only.begin(), only.end(), table.id) == only.end()) continue;
    for (const PublishedRow& row : table.rows) arms.push_back(ArmOf(table, row));
  }
  return arms;
}

std::string PaperJob(const std::string& name, const PaperData& data) {
  constexpr uint64_t kBatch = 128;
  const uint64_t half = std::max<uint64_t>(1, (data.rows - std::min(data.rows, data.test_rows)) / kBatch / 2);
  std::vector<std::string> quoted;
  for (const std::string& file : data.files) {
    quoted.push_back(absl::StrCat("\"", absl::StrReplaceAll(file, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\""));
  }
  return absl::StrCat("# Written by weir experiment dct-paper.\nname: ", name, "\ndata: {train: [", absl::StrJoin(quoted, ", "),
                      "], test_last_rows: ", data.test_rows,
                      "}\n"
                      "model: {bottom: [512, 256, 64, 16], top: [512, 256, 128, 1], optimizer: {type: sgd, learning_rate: 0.1}}\n"
                      "embeddings: {dim: 16, optimizer: {type: rowwise_adagrad, learning_rate: 0.05}}\n"
                      "training: {batch_size: ",
                      kBatch, ", deterministic: true, schedule: {decay_start: ", half, ", decay_steps: ", half,
                      "}}\n"
                      "compression: {lookup: {method: none}, push: {method: none}, dense: {method: none}}\n"
                      "cluster: {servers: 1, workers: 1}\n");
}

std::string PaperReport(const Comparison& comparison) {
  const Figures figures = FiguresOf(comparison);
  const ArmFigures& dense = figures.arms[figures.base];
  std::string text = "## The tables of the DCT paper\n\n";
  if (dense.finished == 0) return absl::StrCat(text, "The dense arm has no result, so nothing can be held against it.\n");
  absl::StrAppend(&text, "Published: DLRM on Criteo's Kaggle data, one epoch of 39 M rows, log-loss of the test day; dense ",
                  absl::StrFormat("%.4f", kPublishedDense), ".\nHere: ", absl::StrFormat("%.5f", dense.logloss.here.mean),
                  dense.logloss.here.count > 1 ? absl::StrFormat(" ± %.5f", dense.logloss.here.spread) : "", " dense, ", dense.finished,
                  dense.finished == 1 ? " seed" : " seeds", ", ", comparison.arms[figures.base].cells[0].result.samples,
                  " rows trained, AUC ", absl::StrFormat("%.4f", dense.auc.here.mean), ", calibration ",
                  absl::StrFormat("%.3f", MeanCalibration(comparison.arms[figures.base])),
                  ". `sent` is the share of entries that crossed (hybrid: activations, gradients). A verdict needs log-loss and AUC to "
                  "agree: by more than ",
                  "0.1 % and 0.0005.\n\n");
  for (const PublishedTable& table : PublishedTables()) absl::StrAppend(&text, TableText(table, comparison, figures));
  absl::StrAppend(
      &text,
      "What differs from the paper: the rows (and how many: differences of a tenth of a percent need millions of rows and several "
      "seeds), one worker and one server, rowwise Adagrad for embeddings (plain SGD leaves rows of a short run where they began), "
      "rates that fall over the second half (with constant ones the last batches decide the mean prediction, and with it more log-loss "
      "than "
      "any codec). With few steps DCT-DP lives with few thresholds, and lets more through than is asked for.\n");
  return text;
}

}  // namespace weir::tools
