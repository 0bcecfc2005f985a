#!/bin/sh
# Installs what some tests need beside Python, where that can be done without asking anyone:
# as root on a system with apt. Elsewhere those tests are skipped and say so.
set -eu

missing=
for pair in promtool:prometheus prometheus:prometheus amtool:prometheus-alertmanager \
    prometheus-alertmanager:prometheus-alertmanager victoria-metrics:victoria-metrics \
    systemd-analyze:systemd chromium:chromium openssl:openssl curl:curl git:git; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair##*:}"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "Not installed, some tests will be skipped:$missing" >&2
    exit 0
fi

# The daemons that these packages bring are not started: the tests start their own.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
