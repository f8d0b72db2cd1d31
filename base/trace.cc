#include "base/trace.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/mutex.h"
#include "spdlog/spdlog.h"

namespace weir {
namespace {

struct Span {
  const char* lane;
  const char* name;
  int64_t number;  // step, or peer of a call
  bool call;
  absl::Time begin;
  absl::Time end;
};

struct Trace {
  std::atomic<bool> on{false};
  Mutex mu;
  std::vector<Span> spans ABSL_GUARDED_BY(mu);
  uint64_t left_out ABSL_GUARDED_BY(mu) = 0;
};

// Never destroyed: threads of gRPC may outlive main.
Trace& TheTrace() {
  static Trace* const trace = new Trace;
  return *trace;
}

void Keep(const Span& span) {
  Trace& trace = TheTrace();
  if (!trace.on.load(std::memory_order_relaxed)) return;
  MutexLock lock(&trace.mu);
  if (trace.spans.size() < kTraceSpansMax) {
    trace.spans.push_back(span);
  } else {
    ++trace.left_out;
  }
}

double Microseconds(absl::Duration duration) { return absl::ToDoubleMicroseconds(duration); }

}  // namespace

void StartTrace() { TheTrace().on.store(true, std::memory_order_relaxed); }

void TraceSpan(const char* lane, const char* name, int64_t step, absl::Time begin, absl::Time end) {
  Keep({lane, name, step, false, begin, end});
}

void TraceCall(const char* lane, const char* name, uint32_t peer, absl::Time begin, absl::Time end) {
  Keep({lane, name, peer, true, begin, end});
}

absl::Status WriteTrace(const std::string& path, const std::string& process) {
  Trace& trace = TheTrace();
  trace.on.store(false, std::memory_order_relaxed);
  std::vector<Span> spans;
  uint64_t left_out = 0;
  {
    MutexLock lock(&trace.mu);
    spans.swap(trace.spans);
    left_out = std::exchange(trace.left_out, 0);
  }
  if (left_out > 0) spdlog::warn("the trace keeps its first {} spans, {} are left out", spans.size(), left_out);

  // Lanes are threads of the picture, in the order of their first span.
  std::vector<const char*> lanes;
  const auto number_of = [&lanes](const char* lane) {
    const auto is = [lane](const char* other) { return std::strcmp(lane, other) == 0; };
    const auto number = static_cast<size_t>(std::find_if(lanes.begin(), lanes.end(), is) - lanes.begin());
    if (number == lanes.size()) lanes.push_back(lane);
    return number + 1;
  };
  absl::Time start = absl::InfiniteFuture();
  for (const Span& span : spans) start = std::min(start, span.begin);

  std::ofstream file(path);
  file << "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  file << absl::StrFormat(R"({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "%s"}})", process);
  uint64_t calls = 0;
  for (const Span& span : spans) {
    const std::string what =
        absl::StrFormat(R"("pid": 1, "tid": %d, "cat": "%s", "name": "%s")", number_of(span.lane), span.lane, span.name);
    const double begin = Microseconds(span.begin - start), end = Microseconds(span.end - start);
    if (span.call) {
      const std::string id = absl::StrCat("\"id\": ", ++calls);
      file << absl::StrFormat(",\n{\"ph\": \"b\", %s, %s, \"ts\": %.3f, \"args\": {\"peer\": %d}}", what, id, begin, span.number);
      file << absl::StrFormat(",\n{\"ph\": \"e\", %s, %s, \"ts\": %.3f}", what, id, end);
    } else {
      const std::string args = span.number < 0 ? "{}" : absl::StrCat("{\"step\": ", span.number, "}");
      file << absl::StrFormat(",\n{\"ph\": \"X\", %s, \"ts\": %.3f, \"dur\": %.3f, \"args\": %s}", what, begin, end - begin, args);
    }
  }
  for (size_t i = 0; i < lanes.size(); ++i) {
    file << absl::StrFormat(",\n{\"ph\": \"M\", \"pid\": 1, \"tid\": %d, \"name\": \"thread_name\", \"args\": {\"name\": \"%s\"}}", i + 1,
                            lanes[i]);
  }
  file << "\n]}\n";
  if (!file.flush()) return absl::UnavailableError(absl::StrCat(path, ": the trace cannot be written: ", std::strerror(errno)));
  return absl::OkStatus();
}

}  // namespace weir
