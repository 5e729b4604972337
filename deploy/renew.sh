#!/bin/sh
# Renew what the image is made of and what developers check and test with, on a machine with uv and
# docker. What is new shows in git diff.
#
#   deploy/renew.sh               both
#   deploy/renew.sh requirements  Python's packages: the *.lock files here and in ../requirements/,
#                                 with hashes for all platforms
#   deploy/renew.sh images        images of others: the digest of what their tag names today
set -eu
cd "$(dirname "$0")"

lock() {
    to=$1
    shift
    uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
        --no-annotate --custom-compile-command deploy/renew.sh --output-file "$to" "$@"
}

requirements() {
    lock requirements/footfall.lock ../pyproject.toml
    lock requirements/footfall-otel.lock --extra otel ../pyproject.toml
    # What is tested has the image's versions, and `make check` those of `make test`.
    lock ../requirements/test.lock --constraint requirements/footfall-otel.lock \
        --extra notify --extra otel --group ../pyproject.toml:test ../pyproject.toml
    lock ../requirements/check.lock --constraint ../requirements/test.lock --extra notify \
        --extra otel --group ../pyproject.toml:check --group ../pyproject.toml:coverage ../pyproject.toml
    # What builds our own wheel, by [build-system].
    sed -n 's/^requires = \["\(.*\)"\]$/\1/p' ../pyproject.toml | lock requirements/build.lock -
}

# A digest names the index of all platforms, so one serves amd64 and arm64.
images() {
    files="Dockerfile compose.yaml kubernetes/sidecar.yaml"
    # shellcheck disable=SC2086
    for image in $(grep -Eoh '[a-z0-9./-]+:[A-Za-z0-9._-]+@sha256:[0-9a-f]{64}' $files | sort -u); do
        tag=${image%@*}
        digest=$(docker buildx imagetools inspect "$tag" --format '{{.Manifest.Digest}}')
        sed -i "s|$image|$tag@$digest|" $files
        echo "$tag@$digest"
    done
}

case "${1:-both}" in
    requirements | images) "$1" ;;
    both) requirements && images ;;
    *) echo "usage: deploy/renew.sh [requirements|images]" >&2 && exit 2 ;;
esac
