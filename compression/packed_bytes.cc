#include "compression/packed_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compression/varint.h"

namespace weir::compression {
namespace {

constexpr int kSymbols = 256;
constexpr int kCodeBitsMax = 11;  // the decoder's table fits the first-level cache
constexpr size_t kTableSize = size_t{1} << kCodeBitsMax;
// Longer blocks are cut in four streams, so that four symbols are decoded at a time.
constexpr size_t kFourStreamsBytes = 1024;
constexpr int kStreamsMax = 4;

using Lengths = std::array<uint8_t, kSymbols>;  // of the codes, in bits; 0: the symbol does not occur

int StreamsOf(size_t size) { return size < kFourStreamsBytes ? 1 : kStreamsMax; }

struct Stream {
  size_t begin = 0;
  size_t end = 0;
};

Stream StreamOf(size_t size, int index) {
  const size_t each = (size + StreamsOf(size) - 1) / StreamsOf(size);
  return {std::min(size, each * index), std::min(size, each * (index + 1))};
}

std::array<uint32_t, kSymbols> CountsOf(absl::Span<const uint8_t> bytes) {
  // Equal neighbours would wait for each other's count.
  std::array<std::array<uint32_t, kSymbols>, 4> parts = {};
  size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    for (size_t k = 0; k < 4; ++k) ++parts[k][bytes[i + k]];
  }
  for (; i < bytes.size(); ++i) ++parts[0][bytes[i]];
  for (int symbol = 0; symbol < kSymbols; ++symbol) parts[0][symbol] += parts[1][symbol] + parts[2][symbol] + parts[3][symbol];
  return parts[0];
}

// Lengths of a prefix code: of least weight, but none above kCodeBitsMax.
Lengths CodeLengths(const std::array<uint32_t, kSymbols>& counts) {
  struct Node {
    uint64_t weight;
    int left, right;  // -1 and the symbol: a leaf
  };
  std::vector<Node> nodes;
  for (int symbol = 0; symbol < kSymbols; ++symbol) {
    if (counts[symbol] > 0) nodes.push_back({counts[symbol], -1, symbol});
  }
  Lengths lengths = {};
  if (nodes.size() == 1) {
    lengths[nodes[0].right] = 1;
    return lengths;
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const Node& a, const Node& b) { return a.weight != b.weight ? a.weight < b.weight : a.right < b.right; });
  // Two queues: leaves, and inner nodes, which are made in the order of their weights.
  const size_t leaves = nodes.size();
  size_t leaf = 0, inner = leaves;
  const auto take_lightest = [&] {
    const bool of_leaves = leaf < leaves && (inner >= nodes.size() || nodes[leaf].weight <= nodes[inner].weight);
    return static_cast<int>(of_leaves ? leaf++ : inner++);
  };
  for (size_t made = 1; made < leaves; ++made) {
    const int left = take_lightest(), right = take_lightest();
    nodes.push_back({nodes[left].weight + nodes[right].weight, left, right});
  }
  std::vector<int> depth(nodes.size(), 0);
  std::array<int, kSymbols + 1> at_depth = {};
  for (size_t i = nodes.size(); i-- > leaves;) depth[nodes[i].left] = depth[nodes[i].right] = depth[i] + 1;
  for (size_t i = 0; i < leaves; ++i) ++at_depth[std::min(depth[i], kCodeBitsMax)];
  // Codes that were cut to the limit take too much of the code space: one of the longest that are shorter goes a bit further down, and
  // makes room for one more beside itself.
  uint64_t taken = 0;
  for (int bits = 1; bits <= kCodeBitsMax; ++bits) taken += uint64_t(at_depth[bits]) << (kCodeBitsMax - bits);
  for (; taken > kTableSize; --taken) {
    int bits = kCodeBitsMax - 1;
    while (at_depth[bits] == 0) --bits;
    --at_depth[bits];
    at_depth[bits + 1] += 2;
    --at_depth[kCodeBitsMax];
  }
  size_t next = 0;  // the lightest get the longest
  for (int bits = kCodeBitsMax; bits >= 1; --bits) {
    for (int i = 0; i < at_depth[bits]; ++i) lengths[nodes[next++].right] = static_cast<uint8_t>(bits);
  }
  return lengths;
}

uint16_t Reversed(uint32_t code, int bits) {
  uint32_t reversed = 0;
  for (int i = 0; i < bits; ++i) reversed |= (code >> i & 1) << (bits - 1 - i);
  return static_cast<uint16_t>(reversed);
}

// Calls visit(symbol, code with its first bit lowest) for each symbol that occurs. Codes are canonical: in the order of their lengths, and
// of symbols where these are equal.
template <typename Visit>
void ForEachCode(const Lengths& lengths, Visit visit) {
  std::array<uint32_t, kCodeBitsMax + 2> next = {};  // by length
  for (const uint8_t bits : lengths) ++next[bits + 1];
  next[1] = 0;  // those that do not occur
  for (int bits = 1; bits <= kCodeBitsMax; ++bits) next[bits + 1] = (next[bits + 1] + next[bits]) << 1;
  for (int symbol = 0; symbol < kSymbols; ++symbol) {
    const int bits = lengths[symbol];
    if (bits > 0) visit(symbol, Reversed(next[bits]++, bits));
  }
}

// Four bits a length from the first symbol that occurs to the last; of a length 0 the next four bits say how many more follow.
std::vector<uint8_t> LengthNibbles(const Lengths& lengths, int first, int last) {
  std::vector<uint8_t> nibbles;
  for (int symbol = first; symbol <= last;) {
    nibbles.push_back(lengths[symbol++]);
    if (nibbles.back() != 0) continue;
    uint8_t more = 0;
    while (more < 15 && lengths[symbol] == 0) ++more, ++symbol;
    nibbles.push_back(more);
  }
  return nibbles;
}

void AppendLengths(const Lengths& lengths, std::string* out) {
  int first = 0, last = kSymbols - 1;
  while (lengths[first] == 0) ++first;
  while (lengths[last] == 0) --last;
  out->push_back(static_cast<char>(first));
  out->push_back(static_cast<char>(last));
  const std::vector<uint8_t> nibbles = LengthNibbles(lengths, first, last);
  for (size_t i = 0; i < nibbles.size(); i += 2) {
    out->push_back(static_cast<char>(nibbles[i] | (i + 1 < nibbles.size() ? nibbles[i + 1] << 4 : 0)));
  }
}

struct Code {
  uint16_t bits = 0;
  uint16_t length = 0;
};

// Appends the codes of `bytes`, the first bit in the lowest place.
void AppendStream(absl::Span<const uint8_t> bytes, const std::array<Code, kSymbols>& codes, std::string* out) {
  const size_t begin = out->size();
  out->resize(begin + (bytes.size() * kCodeBitsMax + 7) / 8 + 8);
  uint8_t* const start = reinterpret_cast<uint8_t*>(&(*out)[begin]);
  uint8_t* at = start;
  uint64_t word = 0;
  unsigned count = 0;
  const auto flush = [&] {
    std::memcpy(at, &word, sizeof(word));
    at += count / 8;
    word >>= count & ~7u;
    count &= 7;
  };
  size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    for (size_t k = 0; k < 4; ++k) {
      const Code code = codes[bytes[i + k]];
      word |= uint64_t{code.bits} << count;
      count += code.length;
    }
    flush();
  }
  for (; i < bytes.size(); ++i) {
    const Code code = codes[bytes[i]];
    word |= uint64_t{code.bits} << count;
    count += code.length;
    flush();
  }
  if (count > 0) *at++ = static_cast<uint8_t>(word);
  out->resize(begin + (at - start));
}

// Code lengths and streams, without the section's own sizes.
std::string Coded(absl::Span<const uint8_t> bytes, const Lengths& lengths) {
  std::array<Code, kSymbols> codes;
  ForEachCode(lengths, [&](int symbol, uint16_t code) { codes[symbol] = {code, lengths[symbol]}; });
  std::string coded, streams;
  AppendLengths(lengths, &coded);
  for (int i = 0; i < StreamsOf(bytes.size()); ++i) {
    const Stream stream = StreamOf(bytes.size(), i);
    const size_t begin = streams.size();
    AppendStream(bytes.subspan(stream.begin, stream.end - stream.begin), codes, &streams);
    if (i + 1 < StreamsOf(bytes.size())) AppendVarint(streams.size() - begin, &coded);
  }
  return coded + streams;
}

absl::Status Malformed(absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat("malformed section: ", what)); }

// Where a section's parts lie.
struct Section {
  bool coded = false;
  uint64_t size = 0;  // of what it holds
  const uint8_t* data = nullptr;
  const uint8_t* end = nullptr;
};

// False: `end` cuts it off.
bool ReadSizes(const uint8_t* at, const uint8_t* end, Section* section) {
  uint64_t size = 0, bytes = 0;
  at = ReadVarint(at, end, &size);
  if (at == nullptr) return false;
  section->coded = size % 2 != 0;
  section->size = bytes = size / 2;
  if (section->coded) at = ReadVarint(at, end, &bytes);
  if (at == nullptr || bytes > static_cast<size_t>(end - at)) return false;
  section->data = at;
  section->end = at + bytes;
  return true;
}

// Null: malformed.
const uint8_t* ReadLengths(const uint8_t* at, const uint8_t* end, Lengths* lengths) {
  if (end - at < 2 || at[0] > at[1]) return nullptr;
  int symbol = at[0];
  const int last = at[1];
  at += 2;
  bool high = false;
  const auto next = [&]() -> int {
    if (at == end) return -1;
    const int nibble = high ? *at >> 4 : *at & 15;
    at += high;
    high = !high;
    return nibble;
  };
  while (symbol <= last) {
    const int length = next();
    if (length < 0 || length > kCodeBitsMax) return nullptr;
    (*lengths)[symbol++] = static_cast<uint8_t>(length);
    if (length > 0) continue;
    const int more = next();
    if (more < 0 || symbol + more > last) return nullptr;  // the last symbol occurs
    symbol += more;
  }
  if (high && *at++ >> 4 != 0) return nullptr;
  return at;
}

struct Entry {
  uint8_t symbol = 0;
  uint8_t length = 0;
};
using Table = std::array<Entry, kTableSize>;

// By the next kCodeBitsMax bits. False: the lengths are of no complete code.
bool BuildTable(const Lengths& lengths, Table* table) {
  uint64_t taken = 0;
  int symbols = 0;
  for (const uint8_t bits : lengths) {
    if (bits == 0) continue;
    taken += kTableSize >> bits;
    ++symbols;
  }
  const bool alone = symbols == 1 && taken == kTableSize / 2;  // one symbol, a bit each time
  if (taken != kTableSize && !alone) return false;
  ForEachCode(lengths, [&](int symbol, uint16_t code) {
    const uint8_t bits = lengths[symbol];
    for (size_t i = code; i < kTableSize; i += size_t{1} << bits) (*table)[i] = {static_cast<uint8_t>(symbol), bits};
  });
  for (size_t i = 1; alone && i < kTableSize; i += 2) (*table)[i] = (*table)[0];
  return true;
}

class BitReader {
 public:
  BitReader(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}

  // At least 56 bits are there after it. REQUIRES: HasWord().
  void RefillWord() {
    uint64_t word;
    std::memcpy(&word, at_, sizeof(word));
    word_ |= word << count_;
    at_ += (63 - count_) / 8;
    count_ |= 56;
  }
  bool HasWord() const { return end_ - at_ >= 8; }
  void RefillBytes() {
    while (count_ <= 56 && at_ != end_) {
      word_ |= uint64_t{*at_++} << count_;
      count_ += 8;
    }
  }
  // REQUIRES: kCodeBitsMax bits are there.
  uint8_t Read(const Table& table) {
    const Entry entry = table[word_ & (kTableSize - 1)];
    Drop(entry.length);
    return entry.symbol;
  }
  // False: the stream has no more.
  bool ReadLast(const Table& table, uint8_t* symbol) {
    RefillBytes();
    const Entry entry = table[word_ & (kTableSize - 1)];
    if (entry.length > count_) return false;
    Drop(entry.length);
    *symbol = entry.symbol;
    return true;
  }
  // All bits were read but those that fill up the last byte, which are 0.
  bool AtEnd() const { return at_ == end_ && count_ < 8 && Left() == 0; }

 private:
  void Drop(unsigned bits) {
    word_ >>= bits & 63;
    count_ -= bits;
  }
  uint64_t Left() const { return count_ == 0 ? 0 : word_ & ((uint64_t{1} << count_) - 1); }

  const uint8_t* at_;
  const uint8_t* end_;
  uint64_t word_ = 0;
  unsigned count_ = 0;
};

constexpr size_t kSymbolsPerWord = 56 / kCodeBitsMax;

bool ReadStreamEnd(const Table& table, BitReader* reader, uint8_t* out, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (!reader->ReadLast(table, &out[i])) return false;
  }
  return reader->AtEnd();
}

bool ReadStreams(const Table& table, std::vector<BitReader> readers, uint8_t* out, size_t size) {
  size_t done = 0;  // of each stream
  if (readers.size() == kStreamsMax) {
    const Stream last = StreamOf(size, kStreamsMax - 1);
    uint8_t* const outs[kStreamsMax] = {out, out + StreamOf(size, 1).begin, out + StreamOf(size, 2).begin, out + last.begin};
    BitReader a = readers[0], b = readers[1], c = readers[2], d = readers[3];
    for (; done + kSymbolsPerWord <= last.end - last.begin; done += kSymbolsPerWord) {
      if (!a.HasWord() || !b.HasWord() || !c.HasWord() || !d.HasWord()) break;
      a.RefillWord(), b.RefillWord(), c.RefillWord(), d.RefillWord();
      for (size_t i = done; i < done + kSymbolsPerWord; ++i) {
        outs[0][i] = a.Read(table);
        outs[1][i] = b.Read(table);
        outs[2][i] = c.Read(table);
        outs[3][i] = d.Read(table);
      }
    }
    readers = {a, b, c, d};
  }
  for (size_t i = 0; i < readers.size(); ++i) {
    const Stream stream = StreamOf(size, static_cast<int>(i));
    if (!ReadStreamEnd(table, &readers[i], out, stream.begin + done, stream.end)) return false;
  }
  return true;
}

absl::Status ReadCoded(const Section& section, uint8_t* out) {
  Lengths lengths = {};
  const uint8_t* at = ReadLengths(section.data, section.end, &lengths);
  if (at == nullptr) return Malformed("its code lengths are cut off or wrong");
  Table table;
  if (!BuildTable(lengths, &table)) return Malformed("its code lengths are of no complete code");
  const int streams = StreamsOf(section.size);
  std::array<uint64_t, kStreamsMax> sizes = {};
  uint64_t sum = 0;
  for (int i = 0; i + 1 < streams; ++i) {
    at = ReadVarint(at, section.end, &sizes[i]);
    if (at == nullptr || sizes[i] > static_cast<size_t>(section.end - at)) return Malformed("the size of a stream is wrong");
    sum += sizes[i];
  }
  if (sum > static_cast<size_t>(section.end - at)) return Malformed("its streams are longer than it is");
  sizes[streams - 1] = section.end - at - sum;
  std::vector<BitReader> readers;
  for (int i = 0; i < streams; ++i) {
    readers.emplace_back(at, at + sizes[i]);
    at += sizes[i];
  }
  if (!ReadStreams(table, std::move(readers), out, section.size)) return Malformed("a stream does not end where its last code does");
  return absl::OkStatus();
}

}  // namespace

void AppendSection(absl::Span<const uint8_t> bytes, std::string* out) {
  std::string coded;
  if (!bytes.empty()) {
    const std::array<uint32_t, kSymbols> counts = CountsOf(bytes);
    const Lengths lengths = CodeLengths(counts);
    uint64_t bits = 0;
    for (int symbol = 0; symbol < kSymbols; ++symbol) bits += uint64_t{counts[symbol]} * lengths[symbol];
    if (bits / 8 < bytes.size()) coded = Coded(bytes, lengths);
  }
  if (!coded.empty() && VarintBytes(coded.size()) + coded.size() < bytes.size()) {
    AppendVarint(bytes.size() * 2 + 1, out);
    AppendVarint(coded.size(), out);
    out->append(coded);
    return;
  }
  AppendVarint(bytes.size() * 2, out);
  out->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

absl::StatusOr<const uint8_t*> ReadSection(const uint8_t* at, const uint8_t* end, size_t size_max, std::vector<uint8_t>* out) {
  Section section;
  if (!ReadSizes(at, end, &section)) return Malformed("it is cut off");
  if (section.size > size_max) return Malformed(absl::StrCat("it holds ", section.size, " bytes, at most ", size_max, " are expected"));
  if (!section.coded) {
    out->insert(out->end(), section.data, section.end);
    return section.end;
  }
  if (section.size == 0 || section.size > 8 * static_cast<uint64_t>(section.end - section.data)) {
    return Malformed(absl::StrCat(section.size, " bytes cannot come of ", section.end - section.data));
  }
  const size_t before = out->size();
  out->resize(before + section.size);
  const absl::Status status = ReadCoded(section, out->data() + before);
  if (!status.ok()) {
    out->resize(before);
    return status;
  }
  return section.end;
}

absl::StatusOr<std::string> ReadWholeSection(absl::string_view section, size_t size_max) {
  const auto* const begin = reinterpret_cast<const uint8_t*>(section.data());
  std::vector<uint8_t> bytes;
  WEIR_ASSIGN_OR_RETURN(const uint8_t* const end, ReadSection(begin, begin + section.size(), size_max, &bytes));
  if (end != begin + section.size()) return Malformed("bytes after it");
  return std::string(bytes.begin(), bytes.end());
}

const uint8_t* SkipSection(const uint8_t* at, const uint8_t* end) {
  Section section;
  return ReadSizes(at, end, &section) ? section.end : nullptr;
}

}  // namespace weir::compression
