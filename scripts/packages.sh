# shellcheck shell=bash
# Sourced by the other scripts: which Debian packages the project needs, and how to get them.

build_packages=(
  g++ cmake ninja-build ccache mold pkg-config
  libhwy-dev libcli11-dev libfmt-dev nlohmann-json3-dev
  libtomlplusplus-dev liblzma-dev zlib1g-dev libxxhash-dev libfast-float-dev
  ocl-icd-opencl-dev opencl-clhpp-headers
  libgrpc++-dev libprotobuf-dev protobuf-compiler libssl-dev
)
test_packages=(
  librapidcheck-dev libgtest-dev libgmock-dev libbenchmark-dev pocl-opencl-icd libclblast-dev
  clang-format clang-tidy clang-19 libclang-rt-19-dev python3-venv
  iproute2 iptables libopenmpi-dev openmpi-bin libmpich-dev mpich
)

# missing_packages NAME... : those that are not installed. Reads dpkg's own database, no network.
missing_packages() {
  local installed name
  installed=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' "$@" 2>/dev/null || true)"
  for name in "$@"; do
    [[ $installed == *" installed:$name "* ]] || printf '%s\n' "$name"
  done
}

# as_root COMMAND... : run it with the rights apt-get needs, or say what to run instead.
as_root() {
  if [[ $(id -u) -eq 0 ]]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  elif command -v sudo >/dev/null; then
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  else
    echo "not root, and there is no sudo. As root, run: $*" >&2
    return 1
  fi
}

require_debian() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "This script installs Debian packages, and this machine has no apt-get." >&2
    echo "Install the libraries of docs/dependencies.md by hand, then build with cmake." >&2
    return 1
  fi
}

apt_get() { as_root apt-get -y -o DPkg::Lock::Timeout=120 "$@"; }

# install_packages NAME... : installs what is missing. A second call needs neither rights nor
# network. The index is fetched only if the local one lacks a package or names deleted files.
install_packages() {
  local missing
  require_debian || return 1
  mapfile -t missing < <(missing_packages "$@")
  [[ ${#missing[@]} -eq 0 ]] && return 0
  echo "installing ${missing[*]}"
  apt_get install --no-install-recommends "${missing[@]}" && return 0
  apt_get update && apt_get install --no-install-recommends "${missing[@]}"
}

# fetch_package_index : `evener dataset debian-*` reads the index; fresh containers have none.
fetch_package_index() {
  require_debian || return 1
  compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || apt_get update
}
