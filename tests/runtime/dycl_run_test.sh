#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dycl-run as a deployed program: an empty environment, exit codes, files in and out.
# Usage: dycl_run_test.sh dycl-run make_c_api_package folder-of-plug-ins
set -u
run=$1 make=$2 plugins=$3
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failures=0

# expect CODE 'part of the output' command...
expect() {
  code=$1 part=$2
  shift 2
  out=$(env -i "$@" 2>&1)
  got=$?
  if [ "$got" != "$code" ]; then
    echo "exit code $got, not $code: $*"; echo "$out"; failures=$((failures + 1))
  fi
  case $out in
    *"$part"*) ;;
    *) echo "no '$part' in the output of: $*"; echo "$out"; failures=$((failures + 1)) ;;
  esac
}

"$make" "$dir/m.dycl" "$dir/endless.dycl" || exit 1
expect 0 "y = " "$run" "$dir/m.dycl" --random 0 --plugins "$plugins"
expect 0 '"outputs"' "$run" "$dir/m.dycl" --random 0 --plugins "$plugins" --json --verify --threads 1
expect 0 "" "$run" bench "$dir/m.dycl" --random 0 --plugins "$plugins"
printf '\223NUMPY\001\000\072\000{"descr": "<f4", "fortran_order": False, "shape": (3,), }\n' > "$dir/x.npy"
printf '\000\000\200\077\000\000\000\300\000\000\000\077' >> "$dir/x.npy"   # 1, -2, 0.5
expect 0 "y = f32[3] [2.0, 0.0, 1.0]" "$run" "$dir/m.dycl" "x=$dir/x.npy" --plugins "$plugins"
expect 3 "is missing" "$run" "$dir/m.dycl" --plugins "$plugins"
expect 3 "no argument 'z'" "$run" "$dir/m.dycl" "z=$dir/x.npy" --plugins "$plugins"
expect 5 "nowhere.npy" "$run" "$dir/m.dycl" "$dir/nowhere.npy" --plugins "$plugins"
expect 5 "nowhere.dycl" "$run" "$dir/nowhere.dycl" --random 0
expect 5 "libdycl_plugin_stub.so" "$run" "$dir/m.dycl" --random 0
expect 4 "not a DyCL package" "$run" "$run" --random 0
head -c 500 "$dir/m.dycl" > "$dir/short.dycl"
expect 4 "damaged package" "$run" "$dir/short.dycl" --random 0
mkfifo "$dir/fifo.dycl" "$dir/fifo.npy"
expect 4 "is a FIFO, not a file" "$run" "$dir/fifo.dycl" --random 0
expect 4 "is a device, not a file" "$run" /dev/zero --random 0
expect 3 "is a FIFO, not a file" "$run" "$dir/m.dycl" "$dir/fifo.npy" --plugins "$plugins"
for threads in 100000 -1 many; do
  expect 64 "1024" "$run" "$dir/m.dycl" --random 0 --plugins "$plugins" --threads="$threads"
  expect 64 "1024" "$run" bench "$dir/m.dycl" --random 0 --plugins "$plugins" --threads="$threads"
done
endless() {  # TYPE what option...
  type=$1 what=$2
  shift 2
  expect 9 "$type" timeout 20 "$run" "$dir/endless.dycl" --random 0 "what=$what" --plugins "$plugins" "$@"
}
for what in 1 2 3; do endless DeadlineExceeded $what --deadline 0.1; done
endless "test.dyir:" 1 --deadline 0.1   # the place in the source
endless StepLimitExceeded 1 --step-limit 100000
endless MemoryLimitExceeded 2 --memory-limit 1000000
endless '"kind": "stopped"' 2 --memory-limit 1M --json
expect 0 "" "$run" "$dir/endless.dycl" --random 0 what=0 --plugins "$plugins" --deadline 100 --step-limit 1000 --memory-limit 1M
expect 64 "" "$run" "$dir/endless.dycl" --random 0 what=0 --plugins "$plugins" --deadline=-1
mkdir "$dir/short" && head -c 10000 "$plugins/libdycl_plugin_stub.so" > "$dir/short/libdycl_plugin_stub.so"
expect 5 "libdycl_plugin_stub.so is truncated" "$run" "$dir/m.dycl" --random 0 --plugins "$dir/short"
expect 64 "" "$run" "$dir/m.dycl" --nonsense
expect 0 "dycl-run" "$run" --version

case $(ldd "$run") in
  *python*|*torch*|*protobuf*|*onnx*) echo "dycl-run links more than it should"; ldd "$run"; failures=$((failures + 1)) ;;
esac
[ "$failures" = 0 ]
