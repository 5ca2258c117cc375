#!/usr/bin/env bash
# Trains in two processes on two hosts made of network namespaces, joined by a pair of virtual Ethernet devices over TCP:
#
#   scripts/two_hosts.sh PROGRAM [--rate RATE] -- zhuyi's arguments
#
# for example   scripts/two_hosts.sh build/release/zhuyi --rate 1gbit -- train --train corpus.tsv ...
# --rate limits the speed of the line in both directions (tc). Needs root, iproute2 and Open MPI. What the program prints
# and its exit code are passed on; bytes sent over the line are told at the end.
set -euo pipefail

say() { printf 'two_hosts.sh: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

[[ $# -ge 2 ]] || fail "usage: two_hosts.sh PROGRAM [--rate RATE] -- ARGUMENTS"
program=$(realpath "$1")
shift
rate=
if [[ $1 == --rate ]]; then
  rate=$2
  shift 2
fi
[[ ${1:-} == -- ]] || fail "expected -- before the program's arguments, found '${1:-}'"
shift

[[ $(id -u) -eq 0 ]] || fail "network namespaces need root"
for tool in ip mpirun unshare; do command -v "$tool" >/dev/null || fail "there is no $tool here"; done

first=zhuyi-a-$$
second=zhuyi-b-$$
folder=$(mktemp -d)
cleanup() {
  ip netns del "$first" 2>/dev/null || true
  ip netns del "$second" 2>/dev/null || true
  rm -rf "$folder"
}
trap cleanup EXIT

ip netns add "$first" || fail "network namespaces are not permitted here"
ip netns add "$second"
ip link add veth0 netns "$first" type veth peer name veth0 netns "$second"
host=1
for space in "$first" "$second"; do
  ip -n "$space" link set lo up
  ip -n "$space" addr add "10.77.0.$host/24" dev veth0
  ip -n "$space" link set veth0 up
  host=2
  if [[ -n $rate ]]; then
    ip netns exec "$space" tc qdisc add dev veth0 root tbf rate "$rate" burst 256kb latency 50ms ||
      fail "tc cannot limit the line to $rate"
  fi
done

# What mpirun calls in the place of ssh: HOST COMMAND. Only the second host is ever another one.
cat >"$folder/agent" <<AGENT
#!/bin/sh
shift
exec ip netns exec $second unshare --uts sh -c "hostname zhuyi-b; \$*"
AGENT
chmod +x "$folder/agent"

status=0
ip netns exec "$first" unshare --uts sh -c 'hostname zhuyi-a; exec "$@"' sh \
  mpirun --allow-run-as-root --host 10.77.0.1:1,10.77.0.2:1 -n 2 --bind-to none \
  --mca plm_rsh_agent "$folder/agent" --mca pml ob1 --mca btl tcp,self \
  --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \
  "$program" "$@" || status=$?
for space in "$first" "$second"; do
  sent=$(ip netns exec "$space" cat /sys/class/net/veth0/statistics/tx_bytes 2>/dev/null ||
    ip -n "$space" -s link show veth0 | awk '/TX:/ { getline; print $1 }')
  say "$space sent $sent bytes"
done
exit "$status"
