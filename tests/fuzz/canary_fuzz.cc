// A fuzzer with a planted fault that takes a search to find: proof that the fuzzer mutates, is guided by coverage, and that a crash is
// noticed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size >= 4 && data[0] == 'W' && data[1] == 'E' && data[2] == 'I' && data[3] == 'R') abort();
  return 0;
}
