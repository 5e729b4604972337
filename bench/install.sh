#!/usr/bin/env bash
# Installs the peers that this machine lacks. What cannot be had is left out; the table says so.
set -uo pipefail
cd "$(dirname "$0")/.."

as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
packages=()
command -v wrk >/dev/null || packages+=(wrk)
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || packages+=(nginx)
ls /usr/lib/nginx/modules/ngx_http_lua_module.so >/dev/null 2>&1 || packages+=(libnginx-mod-http-lua)
ls /usr/lib/*/lua/5.1/cjson.so >/dev/null 2>&1 || packages+=(lua-cjson)
command -v webdis >/dev/null || packages+=(webdis)
ls -d /usr/lib/postgresql/*/bin >/dev/null 2>&1 || packages+=(postgresql)

if [ "${#packages[@]}" -gt 0 ] && command -v apt-get >/dev/null; then
  # Debian would start servers of its own; the bench starts its own. A file that is there stays.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod +x "$policy"
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
  fi
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${packages[@]}"
fi

if command -v npm >/dev/null; then
  mkdir -p .cache/bench
  cat > .cache/bench/package.json <<'JSON'
{"private": true, "dependencies": {"@waline/vercel": "1.39.3", "ioredis": "^5"}}
JSON
  [ -d .cache/bench/node_modules/ioredis ] ||
    (cd .cache/bench && npm install --no-audit --no-fund --loglevel=error)
fi
exit 0
