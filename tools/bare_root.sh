# Sourced by tools/bare_debian and tools/try_release: a minimal system in a folder, and commands in it. Needs root and debootstrap.
# The package source and its settings are this machine's own.

# make_bare_root SUITE: makes it, and puts its path into $root.
make_bare_root() {
  local suite=$1 mirror
  [[ $(id -u) -eq 0 ]] || { echo "$0: needs root" >&2 && exit 1; }
  command -v debootstrap >/dev/null || { echo "$0: needs the package debootstrap" >&2 && exit 1; }
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Component: main' | head -n 1)
  [[ -n $mirror ]] || { echo "$0: this machine has no package source" >&2 && exit 1; }
  root=$(mktemp -d /var/tmp/bare-debian.XXXXXX)
  echo "a minimal $suite in $root"
  chmod 755 "$root" # it is the root of everybody in there
  debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$root.log" || {
    tail -n 20 "$root.log"
    exit 1
  }
  rm -f "$root.log"
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  # How this machine reaches its package source (proxies and the like), not what it prefers to install.
  apt-config dump | grep -E '^Acquire::(https?|Retries)' >"$root/etc/apt/apt.conf.d/50host" || true
}

# in_bare_root COMMAND: a line for sh, run as root in $root. Its mounts and processes end with it.
in_bare_root() {
  unshare --mount --pid --fork --kill-child bash -c '
    set -e
    mount --make-rprivate /
    mount -t proc proc "$1/proc"
    mount --rbind /sys "$1/sys"
    mount --rbind /dev "$1/dev"
    exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb CI="${CI:-}" \
      sh -c "$2"' bash "$root" "$1" </dev/null
}
