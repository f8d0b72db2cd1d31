#!/usr/bin/env bash
# tools/check in a tree of stand-ins: what it counts, its last line and its exit status.
set -euo pipefail

check=$PWD/tools/check
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/tools" "$tree/bin"
cp "$(readlink -f "$check")" "$tree/tools/check"
for name in setup format tidy.py fuzz; do
  # shellcheck disable=SC2016  # for the stand-in to expand
  printf '#!/bin/bash\n[[ $FAIL != *%s* ]]\n' "$name" > "$tree/tools/$name"
done
cat > "$tree/bin/bazel" <<'BAZEL'
#!/bin/bash
[[ $1 != build ]] || { [[ $FAIL != *build* ]]; exit; }
echo '//tests/base:key_test            (cached) PASSED in 0.1s'
echo '//tests/base:mutex_test                   PASSED in 0.2s' >&2
[[ $FAIL != *load* ]] || { echo 'ERROR: package does not load'; exit 1; }
[[ "$FAIL $*" != *flaky* ]] || echo '//tests/base:flaky_test     FLAKY, failed in 1 out of 2 in 0.1s'
[[ "$FAIL $*" != *tests*  && "$FAIL $*" != *asan*asan* ]] || {
  echo '//tests/base:log_test                     FAILED in 0.1s'
  echo '//tests/server:table_test                 NO STATUS'
  echo '//tests/server:store_test                 TIMEOUT in 60.0s'
  exit 3
}
BAZEL
chmod +x "$tree"/tools/* "$tree/bin/bazel"

# expect STATUS LAST_LINE FAILING_PARTS [OPTION]: from another folder, with an almost empty environment.
expect() {
  local status=0 output
  output=$(cd / && env -i PATH="$tree/bin:$PATH" FAIL="$3" "$tree/tools/check" ${4:+"$4"} 2>&1) || status=$?
  if [[ $status != "$1" || $(tail -n 1 <<< "$output") != "$2" ]]; then
    printf 'FAIL=%s %s: exit status %s, expected %s and the last line "%s":\n%s\n' "$3" "${4:-}" "$status" "$1" "$2" "$output" >&2
    exit 1
  fi
}

expect 0 '6 passed, 0 failed' ''
expect 0 '10 passed, 0 failed' '' --full
expect 1 '5 passed, 1 failed' 'format'
expect 1 '5 passed, 1 failed' 'tidy.py'
expect 1 '5 passed, 1 failed' 'build'
expect 1 '5 passed, 1 failed' 'fuzz'
expect 1 '4 passed, 2 failed' 'format fuzz'
expect 1 '0 passed, 1 failed' 'setup'
expect 1 '6 passed, 3 failed' 'tests'
expect 1 '6 passed, 1 failed' 'load'
expect 1 '6 passed, 1 failed' 'flaky'
expect 1 '10 passed, 3 failed' 'asan' --full

# An unknown option is refused, and nothing is run.
status=0
output=$(FAIL='' PATH="$tree/bin:$PATH" "$tree/tools/check" --fool 2>&1) || status=$?
[[ $status == 2 && $output == *'tools/check --full'* && $output != *passed,\ 0* ]] || { printf 'for --fool: %s, %s\n' "$status" "$output" >&2; exit 1; }
