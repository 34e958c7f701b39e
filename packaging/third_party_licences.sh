#!/bin/sh
# Prints the licences of everything that packages of the workspace are linked with: the crates' own files,
# including libzstd's. Reads what cargo has downloaded, without network.
#     sh packaging/third_party_licences.sh PACKAGE... >THIRD-PARTY-LICENSES
# TARGET: the platform, as a Rust target; by default this machine's.
set -eu
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

target=${TARGET:-$(rustc -vV | sed -n 's/^host: //p')}
for package; do
    workspace=.
    [ "$package" != ztensor-remote ] || workspace=remote
    "$cargo" metadata --manifest-path "$workspace/Cargo.toml" --format-version 1 --locked --offline --filter-platform "$target" \
        >>"$work/metadata"
    "$cargo" tree --manifest-path "$workspace/Cargo.toml" --locked --offline --package "$package" --edges normal,no-proc-macro \
        --target "$target" --prefix none --no-dedupe --format '{p}|{l}'
done | grep . | grep -v ' (/' | sed 's/ (\*)//' | sort -u >"$work/crates"
[ -s "$work/crates" ] || { echo "third_party_licences.sh: no crates" >&2; exit 1; }
echo "libztensor is MIT OR Apache-2.0. It is built from these works, under these licences."
while IFS='|' read -r crate licence; do
    name=${crate% v*} version=${crate##* v}
    # The folder where the crate was unpacked: the folder of its manifest.
    folder=$(tr ',' '\n' <"$work/metadata" | sed -n "s|.*\"manifest_path\":\"\(.*/$name-$version\)/Cargo.toml\".*|\1|p" | head -n 1)
    [ -d "$folder" ] || { echo "third_party_licences.sh: the source of $name $version is missing" >&2; exit 1; }
    printf '\n==== %s %s (%s) ====\n' "$name" "$version" "$licence"
    found=no
    for file in "$folder"/LICEN[SC]E* "$folder"/COPYING* "$folder"/UNLICENSE* "$folder"/zstd/LICENSE "$folder"/NOTICE*; do
        [ -f "$file" ] || continue
        found=yes
        case $file in *[Aa][Pp][Aa][Cc][Hh][Ee]*) printf '\n(Apache-2.0: as LICENSE-APACHE beside this file)\n' && continue ;; esac
        printf '\n'
        cat "$file"
    done
    [ $found = yes ] || printf '\n(the crate contains no licence text)\n'
done <"$work/crates"
printf '\n==== ggml (MIT): the tables in src/convert/blocks/grids.rs ====\n\n'
cat LICENSE-ggml-MIT
