#include "server/coordinator/membership.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"

namespace weir::server {
namespace {

constexpr size_t kAddressBytesMax = 512;

const char* RoleName(Role role) { return role == ROLE_SERVER ? "server" : "worker"; }

bool AllLeft(const std::vector<Member>& members) {
  return std::all_of(members.begin(), members.end(), [](const Member& member) { return member.left; });
}

bool IsTold(const Member& member) { return member.left || member.told; }

}  // namespace

std::string Member::Describe() const { return absl::StrCat(RoleName(role), " ", index, " at ", address, " (pid ", pid, ")"); }

absl::StatusOr<uint32_t> Membership::Register(const RegisterRequest& request, absl::Time now) {
  if (request.role() != ROLE_SERVER && request.role() != ROLE_WORKER)
    return absl::InvalidArgumentError("a process registers as a server or as a worker");
  if (request.address().size() > kAddressBytesMax)
    return absl::InvalidArgumentError(absl::StrCat("an address has at most ", kAddressBytesMax, " bytes"));
  if (request.protocol_version() != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the ", RoleName(request.role()), " at ", request.address(),
                                                      " speaks protocol version ", request.protocol_version(), ", this coordinator ",
                                                      kProtocolVersion, ": run the same build everywhere"));
  }
  std::vector<Member>& members = request.role() == ROLE_SERVER ? servers_ : workers_;
  for (const Member& member : members) {
    if (member.incarnation == request.incarnation()) return member.index;
  }
  if (request.rejoin()) return Rejoin(request, now);
  const uint32_t places = request.role() == ROLE_SERVER ? places_.servers : places_.workers;
  // A place that a retired server has left is free.
  uint32_t index = 0;
  while (index < members.size() && !(members[index].retired && members[index].left && index < places)) ++index;
  if (index >= places) {
    return absl::FailedPreconditionError(absl::StrCat("all ", places, " places for ", RoleName(request.role()), "s are taken; the ",
                                                      RoleName(request.role()), " at ", request.address(), " is one too many (cluster.",
                                                      RoleName(request.role()), "s)"));
  }
  Member member;
  member.role = request.role();
  member.index = index;
  member.address = request.address();
  member.pid = request.pid();
  member.incarnation = request.incarnation();
  member.heard = now;
  if (index == members.size()) members.emplace_back();
  members[index] = member;
  return index;
}

void Membership::SetServerPlaces(uint32_t servers) {
  places_.servers = servers;
  for (Member& member : servers_) member.retired = member.retired || member.index >= servers;
}

const Member* Membership::Retiring() const {
  const auto found = std::find_if(servers_.begin(), servers_.end(), [](const Member& member) { return member.retired && !member.left; });
  return found == servers_.end() ? nullptr : &*found;
}

bool Membership::HasAllServers() const {
  return servers_.size() >= places_.servers &&
         std::none_of(servers_.begin(), servers_.begin() + places_.servers, [](const Member& member) { return member.retired; });
}

absl::StatusOr<uint32_t> Membership::Rejoin(const RegisterRequest& request, absl::Time now) {
  if (request.role() != ROLE_SERVER) return absl::InvalidArgumentError("only servers come back: a worker's state is in checkpoints alone");
  if (request.index() >= std::min<size_t>(servers_.size(), places_.servers)) {
    return absl::FailedPreconditionError(absl::StrCat("server ", request.index(), " cannot come back: it was never there"));
  }
  Member& member = servers_[request.index()];
  // The workers know it there.
  if (member.address != request.address()) {
    return absl::FailedPreconditionError(
        absl::StrCat(member.Describe(), " cannot come back at ", request.address(), ": it must listen where it did"));
  }
  member.pid = request.pid();
  member.incarnation = request.incarnation();
  member.heard = now;
  member.told = member.left = false;
  return member.index;
}

absl::StatusOr<Member*> Membership::Find(const Name& name) {
  std::vector<Member>& members = name.role == ROLE_SERVER ? servers_ : workers_;
  if ((name.role != ROLE_SERVER && name.role != ROLE_WORKER) || name.index >= members.size() ||
      members[name.index].incarnation != name.incarnation) {
    return absl::FailedPreconditionError(
        absl::StrCat("no ", RoleName(name.role), " ", name.index,
                     " with this incarnation has registered with this coordinator: it belongs to another run"));
  }
  return &members[name.index];
}

absl::Status Membership::CheckWorker(uint32_t rank) const {
  if (rank < workers_.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("no worker of rank ", rank, " has registered"));
}

const Member* Membership::Silent(absl::Time now, absl::Duration limit) const {
  const Member* silent = nullptr;
  for (const std::vector<Member>* members : {&servers_, &workers_}) {
    for (const Member& member : *members) {
      if (!member.left && now - member.heard >= limit && (silent == nullptr || member.heard < silent->heard)) silent = &member;
    }
  }
  return silent;
}

std::string Membership::Waiting() const {
  return absl::StrCat(servers_.size(), " of ", places_.servers, " servers and ", workers_.size(), " of ", places_.workers,
                      " workers have registered");
}

bool Membership::AllWorkersLeft() const { return workers_.size() == places_.workers && AllLeft(workers_); }

bool Membership::AllServersLeft() const { return HasAllServers() && AllLeft(servers_); }

bool Membership::AllTold() const {
  return std::all_of(servers_.begin(), servers_.end(), IsTold) && std::all_of(workers_.begin(), workers_.end(), IsTold);
}

}  // namespace weir::server
