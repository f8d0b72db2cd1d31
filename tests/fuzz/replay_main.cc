// Feeds a fuzz target the files of a folder without libFuzzer: replay_main FOLDER. Each file is given as it is and, when it is small, also
// cut short at every length and with every single bit changed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kSmallBytes = 512;

// From a buffer of exactly that size, so that a sanitizer sees any step beyond it.
void Feed(const std::vector<uint8_t>& input) {
  const std::vector<uint8_t> exact(input);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void FeedVariants(std::vector<uint8_t> input) {
  for (size_t size = 0; size < input.size(); ++size) Feed({input.begin(), input.begin() + size});
  for (size_t bit = 0; bit < input.size() * 8; ++bit) {
    input[bit / 8] ^= 1u << bit % 8;
    Feed(input);
    input[bit / 8] ^= 1u << bit % 8;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: replay_main FOLDER\n";
    return 2;
  }
  std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(argv[1]), {});
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    std::cerr << file.filename().string() << "\n";  // the last one named is the one that failed
    std::ifstream stream(file, std::ios::binary);
    const std::vector<uint8_t> input(std::istreambuf_iterator<char>(stream), {});
    Feed(input);
    if (input.size() <= kSmallBytes) FeedVariants(input);
  }
  return files.empty() ? 1 : 0;
}
