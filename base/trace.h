// What a process did when, for chrome://tracing or ui.perfetto.dev (Trace Event Format, JSON): spans in lanes. Off unless it is started;
// then a span costs a lock and a few words of memory. One trace a process, as with its log. Thread-safe.
#ifndef WEIR_BASE_TRACE_H_
#define WEIR_BASE_TRACE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace weir {

// From here on spans are kept, up to kTraceSpansMax; those beyond are counted.
inline constexpr size_t kTraceSpansMax = 2'000'000;
void StartTrace();

// What a thread did from `begin` to `end`: one thing at a time in a lane. `step` below 0: of no step. Names are constants.
void TraceSpan(const char* lane, const char* name, int64_t step, absl::Time begin, absl::Time end);
// What was under way meanwhile, beside others in the same lane: calls. `peer`: whom it was for.
void TraceCall(const char* lane, const char* name, uint32_t peer, absl::Time begin, absl::Time end);

// Writes what was kept, under the process's name, and ends the trace. UNAVAILABLE: the file cannot be written.
absl::Status WriteTrace(const std::string& path, const std::string& process);

}  // namespace weir

#endif  // WEIR_BASE_TRACE_H_
