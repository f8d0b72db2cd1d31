#include "tools/datagen/datagen.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "tools/datagen/row_file.h"
#include "tools/datagen/teacher_quality.h"

namespace weir::tools {
namespace {

constexpr uint64_t kBlockRows = 8192;
constexpr uint64_t kRowsMax = uint64_t{1} << 48;
constexpr uint32_t kThreadsMax = 256;
constexpr absl::Duration kProgressPeriod = absl::Milliseconds(100);

// Rows [begin, end) of the stream.
struct RowSpan {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Rows made ready by one thread.
class Block {
 public:
  void Generate(const RowGenerator& generator, RowSpan span) {
    text_.resize((span.end - span.begin) * kRowBytesMax);
    outcomes_.clear();
    char* out = text_.data();
    for (uint64_t i = span.begin; i < span.end; ++i) {
      const GeneratedRow row = generator.Row(i);
      out = FormatRow(row, out);
      outcomes_.push_back({row.probability, row.label});
    }
    bytes_ = static_cast<size_t>(out - text_.data());
  }

  absl::Status Write(RowFile* file, TeacherQuality* quality) const {
    for (const Outcome& outcome : outcomes_) quality->Add(outcome.probability, outcome.label);
    return file->Write({text_.data(), bytes_});
  }

 private:
  struct Outcome {
    double probability;
    uint8_t label;
  };
  std::vector<char> text_;
  size_t bytes_ = 0;
  std::vector<Outcome> outcomes_;
};

// A bar on a terminal, nothing elsewhere.
class Progress {
 public:
  explicit Progress(uint64_t rows) : rows_(rows), terminal_(isatty(STDERR_FILENO) != 0), start_(absl::Now()) {}
  ~Progress() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }

  void Show(uint64_t written) {
    const absl::Time now = absl::Now();
    if (!terminal_ || now < next_) return;
    next_ = now + kProgressPeriod;
    shown_ = true;
    constexpr int kWidth = 30;
    const int filled = static_cast<int>(written * kWidth / rows_);
    const double seconds = std::max(absl::ToDoubleSeconds(now - start_), 1e-3);
    absl::FPrintF(stderr, "\r\x1b[K%3d%% [%s%s] %d rows, %.0fk rows/s", static_cast<int>(written * 100 / rows_), std::string(filled, '#'),
                  std::string(kWidth - filled, '-'), written, static_cast<double>(written) / seconds / 1e3);
  }

 private:
  const uint64_t rows_;
  const bool terminal_;
  const absl::Time start_;
  absl::Time next_ = absl::InfinitePast();
  bool shown_ = false;
};

// Writes rows in order; the threads make one block each at a time.
absl::Status WriteRows(const RowGenerator& generator, RowSpan span, uint32_t threads, RowFile* file, TeacherQuality* quality) {
  Progress progress(span.end - span.begin);
  std::vector<Block> blocks(threads);
  for (uint64_t round = span.begin; round < span.end; round += threads * kBlockRows) {
    const auto span_of = [&](uint32_t i) {
      return RowSpan{std::min(round + i * kBlockRows, span.end), std::min(round + (i + 1) * kBlockRows, span.end)};
    };
    std::vector<std::thread> running;
    for (uint32_t i = 1; i < threads; ++i) {
      running.emplace_back([&, i] { blocks[i].Generate(generator, span_of(i)); });
    }
    blocks[0].Generate(generator, span_of(0));
    for (std::thread& thread : running) thread.join();
    for (const Block& block : blocks) WEIR_RETURN_IF_ERROR(block.Write(file, quality));
    progress.Show(std::min(round + threads * kBlockRows, span.end) - span.begin);
  }
  return absl::OkStatus();
}

absl::Status WriteQuality(const std::string& path, const RowOptions& options, const TeacherQuality& quality) {
  WEIR_ASSIGN_OR_RETURN(RowFile file, RowFile::Create(path));
  WEIR_RETURN_IF_ERROR(file.Write(
      absl::StrFormat("{\"rows\": %d, \"seed\": %d, \"teacher_seed\": %d, \"ctr\": %.6f, \"logloss\": %.6f, \"auc\": %.6f}\n",
                      quality.rows(), options.seed, options.teacher_seed, quality.click_rate(), quality.logloss(), quality.auc())));
  return file.Commit();
}

absl::Status WriteFile(const RowGenerator& generator, const std::string& path, RowSpan span, const DatagenOptions& options) {
  const absl::Time start = absl::Now();
  WEIR_ASSIGN_OR_RETURN(RowFile file, RowFile::Create(path));
  TeacherQuality quality;
  WEIR_RETURN_IF_ERROR(WriteRows(generator, span, options.threads, &file, &quality));
  WEIR_RETURN_IF_ERROR(file.Commit());
  if (path != "-") WEIR_RETURN_IF_ERROR(WriteQuality(absl::StrCat(path, ".json"), options.row, quality));
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  absl::FPrintF(
      stderr,
      "%s: %d rows in %.1f s (%.0fk rows/s), %.1f %% clicks. The teacher's own log-loss is %.4f, its AUC %.4f: no model does better.\n",
      path == "-" ? "standard output" : path, quality.rows(), seconds, static_cast<double>(quality.rows()) / seconds / 1e3,
      100 * quality.click_rate(), quality.logloss(), quality.auc());
  return absl::OkStatus();
}

absl::Status CheckPath(absl::string_view option, const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError(absl::StrCat(option, " names no file"));
  for (const absl::string_view ending : {".gz", ".xz", ".zst"}) {
    if (absl::EndsWith(path, ending)) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, " ", path, ": rows are written plain; write to - and pack them behind a pipe"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const DatagenOptions& options) {
  if (options.rows == 0 || options.rows > kRowsMax)
    return absl::InvalidArgumentError(absl::StrCat("--rows: 1 to ", kRowsMax, " are possible"));
  if (options.test_rows > kRowsMax) return absl::InvalidArgumentError(absl::StrCat("--test-rows: at most ", kRowsMax, " are possible"));
  if (options.threads > kThreadsMax) return absl::InvalidArgumentError(absl::StrCat("--threads: at most ", kThreadsMax, " are possible"));
  WEIR_RETURN_IF_ERROR(CheckPath("--out", options.out));
  if ((options.test_rows > 0) != !options.test_out.empty()) return absl::InvalidArgumentError("--test-rows and --test-out go together");
  if (options.test_rows > 0) {
    WEIR_RETURN_IF_ERROR(CheckPath("--test-out", options.test_out));
    if (options.test_out == options.out) return absl::InvalidArgumentError("--out and --test-out are the same");
  }
  return CheckRowOptions(options.row);
}

// What the command line says, before it is checked.
struct Arguments {
  DatagenOptions options;
  std::vector<uint32_t> vocabulary;
};

absl::Status RunArguments(Arguments* arguments) {
  const std::vector<uint32_t>& sizes = arguments->vocabulary;
  if (sizes.size() == 1) {
    arguments->options.row.vocabulary = KaggleVocabulary(sizes[0]);
  } else if (sizes.size() == kCategories) {
    std::copy(sizes.begin(), sizes.end(), arguments->options.row.vocabulary.begin());
  } else if (!sizes.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--vocabulary takes 1 or ", kCategories, " numbers, not ", sizes.size()));
  }
  return RunDatagen(arguments->options);
}

}  // namespace

absl::Status RunDatagen(const DatagenOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckOptions(options));
  DatagenOptions effective = options;
  if (effective.threads == 0) effective.threads = std::clamp(std::thread::hardware_concurrency(), 1u, kThreadsMax);
  const RowGenerator generator(effective.row);
  WEIR_RETURN_IF_ERROR(WriteFile(generator, effective.out, {0, effective.rows}, effective));
  if (effective.test_rows == 0) return absl::OkStatus();
  return WriteFile(generator, effective.test_out, {effective.rows, effective.rows + effective.test_rows}, effective);
}

void AddDatagenCommand(CLI::App* app, absl::Status* status) {
  const auto arguments = std::make_shared<Arguments>();
  DatagenOptions* const options = &arguments->options;
  CLI::App* const command = app->add_subcommand("datagen", "Writes Criteo-shaped rows with labels of a hidden teacher");
  command->add_option("--rows", options->rows, "How many rows")->required();
  command->add_option("--out", options->out, "File to write, or - for standard output")->required();
  command->add_option("--seed", options->row.seed, "Of the rows")->capture_default_str();
  command->add_option("--test-rows", options->test_rows, "Write this many further rows to --test-out");
  command->add_option("--test-out", options->test_out, "File of held-out rows");
  command
      ->add_option("--vocabulary", arguments->vocabulary,
                   "Ids of each category: 26 numbers, or one that caps the sizes of Criteo's Kaggle data [110000]")
      ->delimiter(',');
  command->add_option("--skew", options->row.skew, "Exponent of the power law of ids; 0: all alike")->capture_default_str();
  command->add_option("--noise", options->row.noise, "Share of labels that no feature explains")->capture_default_str();
  command->add_option("--teacher-seed", options->row.teacher_seed, "Of the hidden teacher; the same for files that belong together")
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Does not change what is written; 0: one a core")->capture_default_str();
  command->footer(
      "FILE.json beside each file holds the teacher's own log-loss and AUC on its rows: the best that any model can reach.\n"
      "Example: weir datagen --rows 5000000 --out train.tsv --test-rows 500000 --test-out test.tsv");
  command->callback([arguments, status] { *status = RunArguments(arguments.get()); });
}

}  // namespace weir::tools
