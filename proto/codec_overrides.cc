#include "proto/codec_overrides.h"

#include <algorithm>

namespace weir {
namespace {

template <typename Overrides>
auto Find(const Overrides& overrides, const std::string& name) {
  return std::find_if(overrides.begin(), overrides.end(), [&name](const auto& override_of) { return override_of.name() == name; });
}

// What a layer and a table can say alike.
template <typename Override, typename Edge>
void Apply(const Override& from, Edge* to) {
  if (from.has_method()) to->set_method(from.method());
  if (from.has_sparsity()) to->set_sparsity(from.sparsity());
  if (from.has_refresh_every()) to->set_refresh_every(from.refresh_every());
  if (from.has_values()) to->set_values(from.values());
}

}  // namespace

Compression::Dense DenseOfLayer(const Compression::Dense& edge, const std::string& layer) {
  Compression::Dense settings = edge;
  settings.clear_layers();
  const auto found = Find(edge.layers(), layer);
  if (found == edge.layers().end()) return settings;
  Apply(*found, &settings);
  settings.set_min_elements(1);
  return settings;
}

Compression::Push PushOfTable(const Compression::Push& edge, const std::string& table) {
  Compression::Push settings = edge;
  settings.clear_tables();
  const auto found = Find(edge.tables(), table);
  if (found != edge.tables().end()) Apply(*found, &settings);
  return settings;
}

}  // namespace weir
