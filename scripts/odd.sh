# shellcheck shell=bash
# Sourced inside the namespaces of scripts/odd: functions that make a machine unusual.

# A network with loopback over IPv4 only, and no pseudo-terminals.
without_network_and_terminals() {
  sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
  ip link set lo up
  mount -t tmpfs none /dev/pts
  mount --bind /dev/null /dev/ptmx
}

with_an_intel_name() {
  local file
  file=$(mktemp)
  sed 's/^model name.*/model name\t: Intel(R) Xeon(R) Gold 6348 CPU @ 2.60GHz/' /proc/cpuinfo >"$file"
  mount --bind "$file" /proc/cpuinfo
}
