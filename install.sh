#!/bin/sh
# Installs modelgate for one user, or removes it: the executable of a release with its completions and man page. Nothing
# is installed before it has been verified, and nothing is left behind by what was refused.
#
#   curl -fsSL https://github.com/modelgate/modelgate/releases/latest/download/install.sh | sh
#   … | sh -s -- --version 1.2.3 --prefix /usr/local
#
# MODELGATE_RELEASES is the address of a mirror, with the same files below download/vVERSION and latest/download.
# Each command does one thing, so that it can be read before it is run.

usage() {
  cat <<'END'
Usage: install.sh [--version VERSION] [--prefix FOLDER] [--no-attestation] [--uninstall]

  --version VERSION   that release instead of the newest
  --prefix FOLDER     bin and share are below it; ~/.local if left out
  --no-attestation    install even what has no attestation, or where it cannot be looked up
  --uninstall         remove what this script has installed; your configuration stays
END
}

say() {
  printf '%s\n' "$*"
}

fail() {
  printf 'modelgate was not installed: %s\n' "$*" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# Downloads $1 into the file $2. What an address with https leads to must have it, too.
download() {
  if has curl; then
    protocols='=https'
    case $1 in http://*) protocols='=http,https' ;; esac
    curl --fail --silent --show-error --location --proto "$protocols" --proto-redir "$protocols" --retry 2 \
      --connect-timeout 30 --speed-limit 1 --speed-time 60 --output "$2" "$1"
  elif has wget; then
    wget --quiet --tries=3 --timeout=60 --output-document="$2" "$1"
  else
    fail 'curl or wget is needed.'
  fi || fail "$1 could not be downloaded."
}

sha256() {
  if has sha256sum; then
    set -- "$(sha256sum <"$1")"
  elif has shasum; then
    set -- "$(shasum -a 256 <"$1")"
  else
    fail 'sha256sum or shasum is needed, to verify the download.'
  fi
  say "${1%% *}"
}

# Prints the platform as the names of the archives say it.
platform() {
  case $(uname -s) in
    Linux)
      system=linux
      # The executables need glibc; that of Alpine is another one.
      getconf GNU_LIBC_VERSION >/dev/null 2>&1 ||
        fail 'the executables are for Linux with glibc. Here, use the package: npm install --global modelgate'
      ;;
    Darwin) system=macos ;;
    *) fail "there is no executable for $(uname -s) that this script could install. See docs/installing.md." ;;
  esac
  case $(uname -m) in
    x86_64 | amd64)
      processor=x64
      # A terminal in translation says what it pretends to be.
      if [ "$system" = macos ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" = 1 ]; then processor=arm64; fi
      ;;
    aarch64 | arm64) processor=arm64 ;;
    *) fail "there is no executable for $(uname -m). Use the package: npm install --global modelgate" ;;
  esac
  if [ "$system-$processor" = macos-x64 ]; then
    fail 'there is no executable for Macs with Intel processors. Use the package: npm install --global modelgate'
  fi
  say "$system-$processor"
}

# What is installed: the file in the archive, its place and its mode.
placed_files() {
  cat <<END
modelgate|$bin/modelgate|755
completions/modelgate.bash|$share/bash-completion/completions/modelgate|644
completions/_modelgate|$share/zsh/site-functions/_modelgate|644
completions/modelgate.fish|$share/fish/vendor_completions.d/modelgate.fish|644
man/modelgate.1|$share/man/man1/modelgate.1|644
LICENSE|$share/doc/modelgate/LICENSE|644
THIRD-PARTY-NOTICES|$share/doc/modelgate/THIRD-PARTY-NOTICES|644
END
}

# The attestation says that the file was built by the release workflow of the repository, which a checksum from the
# same place cannot say.
verify_attestation() {
  if [ "$attestation" = no ]; then
    say 'The attestation was not verified: --no-attestation.'
  elif ! has gh; then
    say 'The attestation was not verified: gh, the GitHub CLI, is not installed.'
  elif ! gh auth status >/dev/null 2>&1 </dev/null; then
    say 'The attestation was not verified: gh is not logged in.'
  elif gh attestation verify "$1" --repo "$repository" \
    --signer-workflow "$repository/.github/workflows/release.yml" >"$work/attestation" 2>&1 </dev/null; then
    say "The attestation is right: $repository has built it."
  else
    cat "$work/attestation" >&2
    fail "$(basename "$1") has no attestation that holds. (--no-attestation installs it nevertheless.)"
  fi
}

clean_up() {
  rm -rf "$work"
  placed_files | while IFS='|' read -r _ place _; do rm -f "$place.new-$$"; done
}

install_release() {
  target=$(platform)
  work=$(mktemp -d "${TMPDIR:-/tmp}/modelgate-install.XXXXXX")
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM

  if [ -n "$version" ]; then
    download "$releases/download/v$version/SHA256SUMS" "$work/SHA256SUMS"
  else
    download "$releases/latest/download/SHA256SUMS" "$work/SHA256SUMS"
    version=$(sed -n "s/^[0-9a-f]*  modelgate-\([0-9][0-9A-Za-z.-]*\)-$target\.tar\.gz$/\1/p" "$work/SHA256SUMS" | sed 1q)
    [ -n "$version" ] || fail "the newest release has nothing for $target."
  fi
  name=modelgate-$version-$target
  wanted=$(awk -v file="$name.tar.gz" '$2 == file { print $1 }' "$work/SHA256SUMS")
  [ "${#wanted}" -eq 64 ] || fail "SHA256SUMS has no checksum of $name.tar.gz."

  say "Downloading $name.tar.gz"
  download "$releases/download/v$version/$name.tar.gz" "$work/$name.tar.gz"
  found=$(sha256 "$work/$name.tar.gz")
  [ "$found" = "$wanted" ] || fail "$name.tar.gz is not what SHA256SUMS says: $found instead of $wanted."
  say 'The checksum is right.'
  verify_attestation "$work/$name.tar.gz"

  tar -xzf "$work/$name.tar.gz" -C "$work" || fail "$name.tar.gz could not be unpacked."
  if ! says=$("$work/$name/modelgate" --version 2>&1 </dev/null); then
    fail "it does not run here: $says. The package may: npm install --global modelgate"
  fi
  [ "$says" = "$version" ] || fail "it says that it is $says, not $version."

  [ ! -d "$bin/modelgate" ] || fail "$bin/modelgate is a folder."
  # Where disks are full and folders may not be written shows here, before anything is replaced.
  placed_files | while IFS='|' read -r file place mode; do
    mkdir -p "$(dirname "$place")" && cp "$work/$name/$file" "$place.new-$$" && chmod "$mode" "$place.new-$$" || exit
  done || fail "its files could not be written below $bin and $share."
  placed_files | while IFS='|' read -r _ place _; do
    mv -f "$place.new-$$" "$place" || exit
  done || fail "its files could not be put in their places below $bin and $share."

  say "modelgate $version is in $bin."
  case $(PATH="$PATH:$bin" command -v modelgate) in
    "$bin/modelgate") has modelgate || say "Add $bin to your PATH." ;;
    *) say "Another modelgate comes first in your PATH: $(command -v modelgate)" ;;
  esac
}

uninstall() {
  placed_files | while IFS='|' read -r _ place _; do
    [ ! -e "$place" ] || { rm -f "$place" && say "Removed $place"; }
  done
  rmdir "$share/doc/modelgate" 2>/dev/null || true
  say 'Your configuration and records stay; docs/installing.md says where they are.'
}

main() {
  set -eu
  repository=modelgate/modelgate
  releases=${MODELGATE_RELEASES:-https://github.com/$repository/releases}
  releases=${releases%/}
  version=''
  prefix=''
  attestation=yes
  action=install_release
  while [ $# -gt 0 ]; do
    case $1 in
      --version | --prefix)
        [ -n "${2-}" ] || fail "$1 wants a value."
        if [ "$1" = --version ]; then version=${2#v}; else prefix=$2; fi
        shift
        ;;
      --no-attestation) attestation=no ;;
      --uninstall) action=uninstall ;;
      --help | -h) action=usage ;;
      *) fail "unknown option $1. --help lists them." ;;
    esac
    shift
  done
  case $version in *[!0-9A-Za-z.-]*) fail "$version is not a version." ;; esac
  if [ -z "$prefix" ]; then
    [ -n "${HOME-}" ] || fail 'HOME is not set; --prefix says where to install.'
    bin=$HOME/.local/bin
    share=${XDG_DATA_HOME:-$HOME/.local/share}
  else
    bin=$prefix/bin
    share=$prefix/share
  fi
  $action
}

# In braces, so that a script whose end is missing does nothing at all.
{ main "$@"; }
