#!/usr/bin/env bash
# Packs an executable with its licences, completions and man page into the archive of a release, and prints its path:
# bash build/archive.sh PLATFORM FOLDER OUT. FOLDER has what build/executable.ts has made there; the executable's bill of
# materials goes beside the archive. The same files give the same bytes. Needs GNU tar and zip, and what the build writes.
set -euo pipefail
platform=$1 built=$2 out=$3
cd "$(dirname "$0")/.."

case $platform in
  linux-x64 | linux-arm64 | macos-arm64) program=modelgate ;;
  windows-x64) program=modelgate.exe ;;
  *) echo "No release is made for $platform." >&2 && exit 1 ;;
esac
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)
# Everything lies in one folder, so that unpacking litters nothing.
name=modelgate-$version-$platform
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mkdir -p "$out" "$work/$name"
cp -r LICENSE completions man "$built/THIRD-PARTY-NOTICES" "$built/$program" "$work/$name"
cp "$built/modelgate.cdx.json" "$out/$name.cdx.json"
chmod -R u=rwX,go=rX "$work/$name"
# Artifacts of a workflow lose it.
chmod 755 "$work/$name/$program"

# The first moment that both formats can say.
first=1980-01-01T00:00:00Z
if [ "$platform" = windows-x64 ]; then
  path=$out/$name.zip
  find "$work/$name" -exec touch --date="$first" {} +
  (cd "$work" && find "$name" -type f | LC_ALL=C sort | TZ=UTC zip -X -9 -q -@ archive.zip)
  mv "$work/archive.zip" "$path"
else
  path=$out/$name.tar.gz
  tar --create --sort=name --mtime="$first" --owner=0 --group=0 --numeric-owner --format=ustar \
    --directory="$work" "$name" | gzip -9n >"$path"
fi
echo "$path"
